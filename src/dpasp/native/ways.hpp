// The ways to compile a part, their input, and their budget.
#pragma once

#include <optional>

#include "circuit.hpp"
#include "problem.hpp"

namespace dpasp {

// What must be known about the models of a total choice: which kinds there are (credal), how many
// of each kind (maxent), or how many with minimal undefined sets (lstable).
enum class Mode { Bits, Counts, Least };

// To add a way: name it here and in `compile.cpp`, declare its function below, define it in a new
// file, and say in `race.cpp` when to try it.
enum class Way { Diagram, Tables, Elimination, Search };

const char *name(Way way);
const char *name(Order order);

// Throw std::invalid_argument, with all known names, for an unknown name.
Mode mode_named(const std::string &name);
Way way_named(const std::string &name);
Order order_named(const std::string &name);

constexpr size_t MOST_NODES = size_t(1) << 30;  // an edge of a diagram is 2 * node in 32 bits

// Other options have their default in Python (circuits/compiler.py).
struct Options {
    std::optional<Way> way;      // all of them unless one is given
    std::optional<Order> order;  // all of them unless one is given
    Mode mode;
    size_t nodes;   // the most nodes of a part
    uint64_t work;  // the most work of an attempt
    // Those of the leaves, if known: a large elimination may then use numbers, so that the circuit
    // is correct only for these weights.
    std::vector<double> weights;
    int threads = 1;  // at most; the circuit does not depend on it
};

// The limits of an attempt, and its progress. Work is counted, not timed, so that the same program
// always gives the same circuit; a unit is about 0.1 microseconds.
struct Budget {
    size_t nodes = SIZE_MAX;
    uint64_t work = UINT64_MAX;
    uint64_t spent = 0;
    size_t size = 0;                       // nodes so far, in the sense of the way
    double progress = 0;                   // from 0 to 1
    std::atomic<double> *shown = nullptr;  // the best progress of any attempt, to be shown
    double before = 0, share = 1;          // the place of this attempt in that

    void advance(double part) {
        progress += part;
        double now = before + share * std::min(progress, 1.0);
        if (shown && now > *shown) *shown = now;
    }
    void charge(uint64_t units) {
        spent += units;
        if (spent > work) throw Stopped(Reason::Size, "more work than was allowed");
    }
};

// The input of a way: a part with its asks, a budget, and the builder of nodes.
struct Job {
    const Problem &problem;
    const Part &part;
    const std::vector<Ask> &asks;
    Mode mode;
    Budget &budget;
    Builder &builder;
    Watch &watch;
    const std::vector<double> *weights = nullptr;  // if they are known
    double many = 0;  // the number of entries of tables from which on numbers are used
};

// Each way returns one root for each ask, or throws Stopped(Size) if it exceeds its budget; another
// way may still succeed. Elimination, which has several steps, is in elimination.hpp.

// Decision diagrams over the choices (and guesses); not for Mode::Least.
std::vector<uint32_t> compile_diagram(const Job &job, std::vector<Input> order);

// Determinisation: reads the inputs in order, with a table of everything that is still open.
std::vector<uint32_t> compile_tables(const Job &job, const std::vector<Input> &order);

// The same with numbers, for Mode::Counts and known weights: there are fewer tables, and nodes only
// for which total choices have models. No roots if digits could be lost, because the evidence is
// too improbable or counts differ too much.
std::vector<uint32_t> sum_tables(const Job &job, const std::vector<Input> &order);

// Decisions, propagation, and components that are remembered; not for Mode::Least.
std::vector<uint32_t> compile_search(const Job &job);

}  // namespace dpasp
