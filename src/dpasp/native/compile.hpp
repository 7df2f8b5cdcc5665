// Ground program in, circuit out: the parts, the race between the ways, the statistics.
#pragma once

#include <string>

#include "order.hpp"

namespace dpasp {

struct Options {
    std::string way = "auto";    // auto, search, tables, diagram
    std::string order = "auto";  // narrow, breadth, depth, polished for tables and
                                 // diagrams; width, frequency for search
    Mode mode = Mode::Counts;
    bool plan = false;           // only report what would be tried
    size_t nodes = 20000000;   // the most nodes a part may take
    size_t work = 6000000000;  // the most work a single attempt may take (about 10 minutes)
};

struct PartReport {
    uint32_t choices, guesses, gates, width;
    std::string way, order;
    size_t nodes;
    double seconds;
};

struct Compiled {
    Circuit circuit;
    std::vector<PartReport> parts;
    uint32_t atoms_determined = 0, atoms_inner = 0, guesses = 0, gates = 0;
};

// `done` goes from 0 to 1 meanwhile, by the parts that are compiled.
Compiled compile(const Ground &ground, const Options &options, Watch &watch,
                 std::atomic<double> &done);

}  // namespace dpasp
