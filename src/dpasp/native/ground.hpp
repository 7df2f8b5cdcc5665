// A ground program from Python, read and checked, and its rules with one head each.
#pragma once

#include "collections.hpp"
#include "limits.hpp"

namespace dpasp {

// Literals are atoms, with a minus sign if negated.
struct Body {
    std::vector<int32_t> literals;
    bool weighted = false;  // whether it holds if the weights of true literals reach the bound
    int64_t bound = 0;
    std::vector<int64_t> weights;
};

struct GroundRule {
    bool choice = false;          // any of the heads may hold, or none
    std::vector<uint32_t> heads;  // several: a disjunction
    Body body;
};

struct GroundChoice {
    std::vector<uint32_t> selectors;  // the atom of each value
    bool nothing = false;             // whether there is one more value, without an atom
    bool interval = false;            // whether its probabilities are intervals

    uint32_t values() const { return uint32_t(selectors.size()) + nothing; }
};

// Conjunctions of literals; the literal 0 never holds.
struct GroundQuestion {
    std::vector<int32_t> query, evidence;
};

// A weight for each combination of literals, one of each set (the last set varies fastest): it
// multiplies the weight of every model in which they hold. The literal 0 never holds.
struct GroundTable {
    std::vector<std::vector<int32_t>> sets;
    size_t first = 0;  // where its weights begin, after those of the choices

    size_t size() const {
        size_t product = 1;
        for (const auto &set : sets) product *= set.size();
        return product;
    }
};

struct Ground {
    uint32_t atoms = 1;  // 1 .. atoms - 1
    std::vector<GroundRule> rules;
    std::vector<GroundChoice> choices;
    std::vector<GroundQuestion> questions;
    std::vector<std::pair<uint32_t, uint32_t>> own;  // atoms and twins (lstable only)
    std::vector<uint32_t> observed;                  // atoms whose literals have their own leaves
    std::vector<GroundTable> tables;
    size_t entries = 0;  // of all tables together
};

// An array of numbers from Python.
struct Numbers {
    const int64_t *data;
    size_t size;
};

struct GroundArrays {
    Numbers rules;      // flags (1 choice, 2 weights), heads, body[, bound, weights]
    Numbers choices;    // how many selectors, flags (1 nothing is possible, 2 intervals), selectors
    Numbers questions;  // |query|, query, |evidence|, evidence
    Numbers own;        // atom, twin
    Numbers observed;
    Numbers tables;  // how many sets, and of each: how many literals, literals
};

// Throws std::invalid_argument if the arrays are not a ground program.
Ground read_ground(int64_t atoms, const GroundArrays &arrays);

struct Rule {
    uint32_t head = 0;    // 0 is a constraint
    uint32_t itself = 0;  // an atom that must be true without support from here: not not a
    Body body;
};

// The rules of a ground program, each with one head: disjunctions are shifted, and a choice rule
// becomes one rule for each head.
struct Rules {
    uint32_t atoms = 1;  // those of the program, then additional ones
    std::vector<Rule> all;
    std::vector<std::vector<uint32_t>> of;  // by head: its rules
    std::vector<uint32_t> constraints;

    // Fills `of` and `constraints` from `all`.
    void index();
    // From each head to the atoms in its bodies.
    Edges dependencies() const;
};

// Throws Stopped(HeadCycle) if a disjunction is in a positive loop: shifting would lose models.
Rules read_rules(const Ground &ground);

// The atoms that are guessed, enough of them to break every loop through negation.
struct Guesses {
    std::vector<uint8_t> guessed;  // by atom
    std::vector<uint8_t> loose;    // by atom: whether models of a total choice may disagree on it
};

Guesses choose_guesses(const Rules &rules, Watch &watch);

// Replaces rules with weights by plain ones, chains of running totals, if that helps compilation:
// if literals of a sum are values of one choice, or a sum is compared with many bounds. Models stay
// the same; atoms are added. Sums that depend on themselves or have too many totals stay.
void add_totals(const Ground &ground, Rules &rules, Watch &watch);

}  // namespace dpasp
