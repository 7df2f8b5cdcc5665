// A rehearsal of an elimination: with one number an entry in place of a node.
//
// How many nodes an order makes depends on zeros and on equal entries as much as on the sizes
// of the tables. Here every weight is a random number, sums and products are those of 64-bit
// words, and how many different numbers come out is counted on a sample of them.
#pragma once

#include <cstdint>
#include <vector>

#include "limits.hpp"

namespace dpasp {

// A table with numbers: 0 for zeros, 1 for ones, and otherwise equal where entries are equal.
struct NumberTable {
    std::vector<uint32_t> scope;    // variables, each once
    std::vector<uint64_t> entries;  // by combination of states, those of the last side by side
    bool made = false;              // by the elimination: its entries are nodes, not weights
};

// A network whose variables are to be eliminated.
struct Outline {
    std::vector<uint32_t> states;  // by variable: how many it has
    std::vector<NumberTable> tables;
};

// About how many nodes an order makes; infinite if more than `most`.
double rehearse(const Outline &outline, const std::vector<uint32_t> &order, double most,
                Watch &watch);

}  // namespace dpasp
