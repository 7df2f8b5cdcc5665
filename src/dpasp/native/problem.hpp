// From ground rules to gates: what must hold, and what is asked.
//
// The models of a total choice are the assignments of the guesses under which every literal of
// `asserted` holds; each model is counted once.
#pragma once

#include "gates.hpp"

namespace dpasp {

// A ground program as it comes from Python, flattened into numbers.
struct Ground {
    uint32_t atoms = 0;             // 1 .. atoms - 1
    std::vector<int64_t> rules;     // flags (1 choice, 2 weights), heads, body[, bound, weights]
    std::vector<int64_t> choices;   // selectors, nothing, then the selectors
    std::vector<int64_t> questions; // |q|, q.., |e|, e..; the literal 0 never holds
    std::vector<int64_t> own;       // atom, twin: pairs that may be undefined (lstable only)
    std::vector<int64_t> observed;  // atoms whose literals get leaves of their own
};

struct Question {
    std::vector<Lit> query, evidence;  // conjunctions
};

// A set of things that belong together in the program; good orders keep them close.
struct Scope {
    std::vector<uint32_t> members;  // vertices
    uint32_t head = UINT32_MAX;     // the member that the others define, if any
};

struct Problem {
    explicit Problem(std::vector<ChoiceShape> shapes) : gates(std::move(shapes)) {}

    Gates gates;
    std::vector<Lit> asserted;
    std::vector<Question> questions;
    std::vector<uint8_t> named;  // by gate: 1 it stands for an atom, 2 for the opposite of one
    std::vector<Lit> undefined;  // lstable: true when an own atom is undefined

    // The rules as a hypergraph over vertices; a choice is vertex `choice_vertex[c]`.
    uint32_t vertices = 0;
    std::vector<Scope> scopes;
    std::vector<uint32_t> choice_vertex;
    std::vector<uint32_t> guess_vertex;  // by guess number

    uint32_t determined = 0, inner = 0, guessed = 0;  // statistics: atoms by class
};

Problem read_problem(const Ground &ground, Watch &watch);

}  // namespace dpasp
