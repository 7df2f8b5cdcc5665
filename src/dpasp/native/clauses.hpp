// A part as clauses, for the search; and orders of its variables.
#pragma once

#include "circuit.hpp"
#include "limits.hpp"
#include "part.hpp"

namespace dpasp {

// What a variable is. Outer ones decide the probability, determined ones follow from them,
// inner ones are only counted.
enum class Class : uint8_t { Outer, Determined, Inner };

struct Clauses {
    uint32_t variables = 0;
    std::vector<Class> kind;
    std::vector<int32_t> weight;                       // by literal: leaf weight, or ONE
    std::vector<std::pair<uint32_t, uint32_t>> group;  // by variable: its group's variables
    std::vector<std::vector<Lit>> clauses;             // literals are 2 * variable + negated
    std::vector<uint32_t> variable_of;                 // by position of the gate in the part
    std::vector<Lit> literal;                          // by position of the gate in the part

    Clauses(const Problem &problem, const Part &part);
};

// How far each variable is from the middle of a tree decomposition, and the width of that.
std::vector<uint32_t> tree_depth(const Clauses &clauses, uint32_t &width, Watch &watch);

}  // namespace dpasp
