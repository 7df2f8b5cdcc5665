// A ground program as it comes from Python, read and checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

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

}  // namespace dpasp
