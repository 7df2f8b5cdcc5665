// A problem falls into independent parts; each is compiled on its own.
#pragma once

#include <memory>

#include "circuit.hpp"
#include "problem.hpp"

namespace dpasp {

// An input: a choice, or a guess (its gate).
struct Input {
    bool choice;
    uint32_t id;
};

struct Part {
    std::vector<uint32_t> choices;
    std::vector<uint32_t> guesses;  // gates
    std::vector<uint32_t> gates;    // all of the part's gates, inputs before outputs
    std::vector<Lit> asserted;
    std::vector<Lit> undefined;
    std::shared_ptr<const std::vector<uint32_t>> places;  // by gate, shared by all parts

    // Where the gate of a literal stands among `gates`.
    uint32_t place(Lit lit) const { return (*places)[gate_of(lit)]; }
};

// The literals of a question that lie in one part.
struct Ask {
    std::vector<Lit> query, evidence;
    bool operator<(const Ask &o) const {
        return query != o.query ? query < o.query : evidence < o.evidence;
    }
};

std::vector<Part> split(const Problem &problem);

enum class Mode { Bits, Counts, Least };  // what inner tables hold: credal, maxent, lstable

// What one attempt may take, and how far it came. Work is counted, not timed, so that the same
// program always ends in the same circuit; a unit is about 0.1 microseconds.
struct Budget {
    size_t nodes = SIZE_MAX;
    size_t work = SIZE_MAX;
    size_t spent = 0;
    size_t size = 0;      // nodes so far, whatever a node is to the way
    double progress = 0;  // from 0 to 1
    std::atomic<double> *shown = nullptr;  // the best progress of any attempt, for people
    double before = 0, share = 1;          // where this attempt lies in what is shown
    uint32_t width = 0;   // what the search found out about the part's width

    void advance(double part) {
        progress += part;
        double now = before + share * std::min(progress, 1.0);
        if (shown && now > *shown) *shown = now;
    }
    void charge(size_t units) {
        spent += units;
        if (spent > work) throw Stopped(Reason::Size, "more work than was allowed");
    }
};

// Each way gives one root a question, or throws Stopped(Size) when it outgrows its budget.

// Functions of the choices (and guesses) as decision diagrams; not for Mode::Least.
std::vector<uint32_t> compile_diagram(const Problem &problem, const Part &part,
                                      std::vector<Input> order, const std::vector<Ask> &asks,
                                      Mode mode, Budget &budget, Builder &builder,
                                      Watch &watch);

// Whether the literals of each pair are the same function; Stopped(Size) if that is too hard.
bool same_functions(const Problem &problem, const std::vector<std::pair<Lit, Lit>> &pairs,
                    Watch &watch);

constexpr uint32_t WIDEST_TABLE = 8192;  // open gates, above which tables give up

// Determinisation: read the inputs in order, remember a table of what is still open. This is
// `share` of the attempt that the budget is for.
uint32_t compile_tables(const Problem &problem, const Part &part, const std::vector<Input> &order,
                        const Ask &ask, Mode mode, double share, Budget &budget,
                        Builder &builder, Watch &watch);

// Top-down search over clauses with component caching; `frequency` picks the second order.
std::vector<uint32_t> compile_search(const Problem &problem, const Part &part, bool frequency,
                                     const std::vector<Ask> &asks, Budget &budget,
                                     Builder &builder, Watch &watch);

}  // namespace dpasp
