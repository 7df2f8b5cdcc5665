// The ways to compile a part, what each is given, and how much it may take.
#pragma once

#include <optional>

#include "circuit.hpp"
#include "problem.hpp"

namespace dpasp {

// What is known of the models of a total choice: which kinds there are (enough for credal),
// how many of each kind (maxent), or how many with the least undefined sets (lstable).
enum class Mode { Bits, Counts, Least };

// To add a way: name it here and in `compile.cpp`, declare its function below, write that in a
// file of its own, and say in `race.cpp` when it is tried.
enum class Way { Diagram, Tables, Elimination, Search };

const char *name(Way way);
const char *name(Order order);

// What has that name; std::invalid_argument, with the names that there are, if nothing has.
Mode mode_named(const std::string &name);
Way way_named(const std::string &name);
Order order_named(const std::string &name);

constexpr size_t MOST_NODES = size_t(1) << 30;  // an edge of a diagram is 2 * node in 32 bits

// What is left out has its default in Python (circuits/compiler.py), not a second one here.
struct Options {
    std::optional<Way> way;      // all of them unless one is given
    std::optional<Order> order;  // all of them unless one is given
    Mode mode;
    size_t nodes;   // the most nodes a part may take
    uint64_t work;  // the most work of one attempt
    // Of the leaves, if they are known: a large elimination then ends in numbers, and the circuit
    // is of these weights alone.
    std::vector<double> weights;
    int threads = 1;  // at most; the circuit does not depend on it
};

// What one attempt may take, and how far it came. Work is counted, not timed, so that the same
// program always ends in the same circuit; a unit is about 0.1 microseconds.
struct Budget {
    size_t nodes = SIZE_MAX;
    uint64_t work = UINT64_MAX;
    uint64_t spent = 0;
    size_t size = 0;                       // nodes so far, whatever a node is to the way
    double progress = 0;                   // from 0 to 1
    std::atomic<double> *shown = nullptr;  // the best progress of any attempt, for people
    double before = 0, share = 1;          // where this attempt lies in what is shown

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

// What every way is given: a part, what is asked of it, what may be spent on it, and where the
// nodes go.
struct Job {
    const Problem &problem;
    const Part &part;
    const std::vector<Ask> &asks;
    Mode mode;
    Budget &budget;
    Builder &builder;
    Watch &watch;
    const std::vector<double> *weights = nullptr;  // if they are known
    double many = 0;  // entries of tables, from which on numbers are worth it
};

// Each way gives one root for each ask, or throws Stopped(Size) when it outgrows its budget; then
// another way may still succeed. Elimination, which has several steps, is in elimination.hpp.

// Functions of the choices (and guesses) as decision diagrams; not for Mode::Least.
std::vector<uint32_t> compile_diagram(const Job &job, std::vector<Input> order);

// Determinisation: read the inputs in order, remember a table of what is still open.
std::vector<uint32_t> compile_tables(const Job &job, const std::vector<Input> &order);

// The same in numbers, for Mode::Counts under weights that are known: fewer tables, no nodes but
// those that say which total choices have models. None at all where the evidence is so improbable,
// or counts are so far apart, that digits could be lost.
std::vector<uint32_t> sum_tables(const Job &job, const std::vector<Input> &order);

// Decide, propagate, split into components and remember them; not for Mode::Least.
std::vector<uint32_t> compile_search(const Job &job);

}  // namespace dpasp
