// The rules as a hypergraph that orders are read from: what stands in one rule belongs together.
#pragma once

#include "guesses.hpp"

namespace dpasp {

// A set of things that belong together in the program; good orders keep them close.
struct Scope {
    std::vector<uint32_t> members;  // vertices
    uint32_t head = UINT32_MAX;     // the member that the others define, if any
};

struct OrderGraph {
    uint32_t vertices = 0;
    std::vector<Scope> scopes;
    std::vector<uint32_t> choice_vertex;  // by choice; those of observed atoms last
    std::vector<uint32_t> guess_vertex;   // by number of the guess
};

// `needed` says by atom which ones matter.
OrderGraph order_graph(const Ground &ground, const Rules &rules, const Guesses &guesses,
                       const std::vector<uint8_t> &needed);

}  // namespace dpasp
