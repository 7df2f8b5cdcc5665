// From ground rules to gates: what must hold, and what is asked.
//
// The models of a total choice are the assignments of the guesses under which every literal of
// `asserted` holds; each model is counted once.
#pragma once

#include "gates.hpp"
#include "order_graph.hpp"

namespace dpasp {

struct Question {
    std::vector<Lit> query, evidence;  // conjunctions
};

struct Problem {
    explicit Problem(std::vector<ChoiceShape> shapes) : gates(std::move(shapes)) {}

    Gates gates;
    std::vector<Lit> asserted;
    std::vector<Question> questions;
    std::vector<uint8_t> named;  // by gate: 1 it stands for an atom, 2 for the opposite of one
    std::vector<Lit> undefined;  // lstable: true when an own atom is undefined
    OrderGraph graph;

    uint32_t coins = 0;  // how many of the choices, the last ones, are coins (see coins.hpp)
    uint32_t determined = 0, inner = 0, guessed = 0;  // statistics: atoms by class
};

Problem read_problem(const Ground &ground, Watch &watch);

// How many weights its choices have.
uint32_t leaves(const Problem &problem);
// Throws std::invalid_argument unless there is one for each of them.
void check_weights(const Problem &problem, const std::vector<double> &weights);

}  // namespace dpasp
