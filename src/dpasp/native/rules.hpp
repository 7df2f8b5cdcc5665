// The rules of a ground program, each with one head: disjunctions are shifted, and a choice
// rule is one rule for each head that may hold; and which atoms are guessed.
#pragma once

#include "graphs.hpp"
#include "ground.hpp"
#include "limits.hpp"

namespace dpasp {

struct Rule {
    uint32_t head = 0;    // 0 is a constraint
    uint32_t itself = 0;  // an atom that must be true without support from here: not not a
    Body body;
};

struct Rules {
    uint32_t atoms = 1;  // those of the program, then those that reading it adds
    std::vector<Rule> all;
    std::vector<std::vector<uint32_t>> of;  // by head: its rules
    std::vector<uint32_t> constraints;

    // Fills `of` and `constraints` from `all`.
    void index();
    // From each head to what its bodies hold.
    Edges dependencies() const;
};

// Throws Stopped(HeadCycle) where a disjunction goes through a positive loop: shifting it would
// lose models.
Rules read_rules(const Ground &ground);

// Which atoms are guessed: enough of them to break every loop through negation.
struct Guesses {
    std::vector<uint8_t> guessed;  // by atom
    std::vector<uint8_t> loose;    // by atom: models of one total choice may disagree on it
};

Guesses choose_guesses(const Rules &rules, Watch &watch);

}  // namespace dpasp
