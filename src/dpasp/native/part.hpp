// A problem falls into independent parts; each is compiled on its own.
#pragma once

#include <memory>
#include <vector>

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

}  // namespace dpasp
