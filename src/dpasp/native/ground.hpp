// A ground program as it comes from Python, read and checked, and its rules with one head each.
#pragma once

#include "collections.hpp"
#include "limits.hpp"

namespace dpasp {

// Literals are atoms, negative where negated.
struct Body {
    std::vector<int32_t> literals;
    bool weighted = false;  // it holds when the weights of its true literals reach the bound
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
    bool nothing = false;             // one more value without an atom
    bool interval = false;            // its probabilities are known by their bounds only

    uint32_t values() const { return uint32_t(selectors.size()) + nothing; }
};

// Conjunctions of literals; the literal 0 never holds.
struct GroundQuestion {
    std::vector<int32_t> query, evidence;
};

// A weight for each combination of literals, one of each set, the last set fastest: it multiplies
// the weight of every model in which they hold. The literal 0 never holds.
struct GroundTable {
    std::vector<std::vector<int32_t>> sets;
    size_t first = 0;  // where its weights begin, among those after the weights of the choices

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
    std::vector<uint32_t> observed;                  // atoms whose literals get leaves of their own
    std::vector<GroundTable> tables;
    size_t entries = 0;  // of all tables together
};

// Numbers in a row, as Python keeps them.
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

// Throws std::invalid_argument where the arrays do not hold a ground program.
Ground read_ground(int64_t atoms, const GroundArrays &arrays);

// The rules of a ground program, each with one head: disjunctions are shifted, and a choice
// rule is one rule for each head that may hold; and which atoms are guessed.

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

// Sums as running totals: rules with weights in their bodies become a chain of states.

// Replaces rules with weights by plain ones where that makes them easier to compile: where literals
// of a sum are values of one choice, or where a sum is compared with many bounds. Models stay the
// same; atoms are added. Sums that depend on themselves stay as they are, and so do those whose
// totals are too many.
void add_totals(const Ground &ground, Rules &rules, Watch &watch);

}  // namespace dpasp
