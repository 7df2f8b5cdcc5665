// Ground program in, circuit out: the parts, the race between the ways, the statistics. Or numbers
// out, for many questions about a network.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "elimination.hpp"
#include "ways.hpp"

namespace dpasp {

// A way of compiling a part, and the order that it works in.
struct Attempted {
    Way way = Way::Diagram;
    Order order = Order::Narrow;
    bool reverse = false;

    std::string order_name() const {
        return (reverse ? "reverse " : "") + std::string(name(order));
    }
};

struct PartReport {
    uint32_t choices, guesses, gates, width;
    Attempted attempted;
    size_t nodes;
    double seconds;
    double entries = 0;  // of a plan: how many entries the tables of elimination have
};

struct Compiled {
    Circuit circuit;
    std::vector<PartReport> parts;
    bool of_weights = false;  // numbers of the weights that were given are in it
    uint32_t atoms_determined = 0, atoms_inner = 0, guesses = 0, gates = 0;
};

// `done` goes from 0 to 1 meanwhile, by the parts that are compiled.
Compiled compile(const Ground &ground, const Options &options, Watch &watch,
                 std::atomic<double> &done);

// What would be tried: one report for each part and attempt, without a circuit.
Compiled plan(const Ground &ground, const Options &options, Watch &watch);

struct Shares {
    std::vector<Share> questions;
    double entries = 0;  // of all tables
    uint32_t width = 0;  // bits of the largest
};

// Many questions about single atoms of a network, under one evidence and weights that are known:
// one elimination in numbers and its way back answer all of them, without a circuit. Only for
// programs whose atoms are all determined and whose total choices all have a model, and only where
// the tables have at least so many entries; otherwise nothing. Throws std::invalid_argument where
// the questions are others, and Stopped(Size) where there would be more entries than steps are
// allowed.
std::optional<Shares> shares(const Ground &ground, const Options &options, double least,
                             Watch &watch);

}  // namespace dpasp
