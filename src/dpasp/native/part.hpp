// A problem falls into independent parts; each is compiled on its own.
#pragma once

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

struct Budget {
    size_t nodes = SIZE_MAX;    // of the part's circuit or diagram
    size_t entries = SIZE_MAX;  // of tables
};

// Each way gives one root a question, or throws Stopped(Size) when it outgrows its budget.

// Functions of the choices as decision diagrams; with guesses, for Mode::Bits only.
std::vector<uint32_t> compile_diagram(const Problem &problem, const Part &part,
                                      const std::vector<Input> &order,
                                      const std::vector<Ask> &asks, const Budget &budget,
                                      Builder &builder, Watch &watch);

// Determinisation: read the inputs in order, remember a table of what is still open.
uint32_t compile_tables(const Problem &problem, const Part &part, const std::vector<Input> &order,
                        const Ask &ask, Mode mode, const Budget &budget, Builder &builder,
                        Watch &watch);

// How many gates are half read at the widest place of an order.
uint32_t cut_width(const Problem &problem, const Part &part, const std::vector<Input> &order);

// Top-down search over clauses with component caching; `frequency` picks the second order.
std::vector<uint32_t> compile_search(const Problem &problem, const Part &part, bool frequency,
                                     const std::vector<Ask> &asks, const Budget &budget,
                                     Builder &builder, Watch &watch);

}  // namespace dpasp
