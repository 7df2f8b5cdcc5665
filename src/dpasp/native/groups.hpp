// Groups: a part of the program as a network of many-valued variables.
//
// Atoms of which at most one holds (the values of a variable, a sum, a state) are the states of
// one group; an atom on its own is a group of two states. Groups are found by induction along the
// dependencies: heads that share a choice under one body are a candidate, and so are functions
// of the same groups; which of their combinations can occur, over all states of the groups that
// they depend on, are the states. Each group has a table: for the states of its parents and its
// own, a sum of weights of the choices that only this group uses. Of the rows of a table only
// those whose body holds have a say; the others' weights sum to 1.
#pragma once

#include <unordered_map>

#include "edges.hpp"
#include "heads.hpp"
#include "ways.hpp"

namespace dpasp {

// What a literal says: the states of a group in which it holds.
struct Reading {
    uint32_t group = 0;
    std::vector<uint8_t> holds;  // by state
};

// An edge of the circuit for every combination of states, those of the last group side by side.
struct Factor {
    std::vector<uint32_t> scope;  // groups, each once
    std::vector<Edge> entries;
};

struct Network {
    std::vector<uint32_t> states;     // by group: how many it has
    std::vector<Factor> tables;       // by group: over its parents, and itself as the last
    std::vector<Factor> constraints;  // what else must hold, over several groups
    std::vector<Reading> asserted;    // or over one
    std::unordered_map<Lit, Reading> readings;  // of the literals that are asked for
};

// The network of a part without guesses, in which the literals of the asks can be read.
Network find_groups(const Job &job, const Heads &heads, Arithmetic &arithmetic);

}  // namespace dpasp
