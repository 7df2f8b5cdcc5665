// In which order to eliminate the variables of a network.
#pragma once

#include <cstdint>
#include <vector>

#include "limits.hpp"

namespace dpasp {

struct EliminationOrder {
    std::vector<uint32_t> variables;
    double cost = 0;     // the sizes of all tables together
    double largest = 0;  // of one table
};

// The best of several greedy orders: few new neighbours, or small tables. `scopes` are sets of
// variables that occur in one table, `states` how many values each variable has. Large tables are
// worth more attempts, unless none comes near `most`: then the order is cut short, and its cost
// is infinite.
EliminationOrder order_elimination(const std::vector<uint32_t> &states,
                                   const std::vector<std::vector<uint32_t>> &scopes, double most,
                                   Watch &watch);

}  // namespace dpasp
