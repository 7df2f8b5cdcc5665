// In which order to eliminate the variables of a network.
#pragma once

#include <cstdint>
#include <vector>

#include "rehearsal.hpp"

namespace dpasp {

struct EliminationOrder {
    std::vector<uint32_t> variables;
    double cost = 0;     // the sizes of all tables together
    double largest = 0;  // of one table
};

// What the entries of the tables will be: numbers take far less time than nodes, so that fewer
// orders are worth trying, and all entries take the same.
enum class EntryKind { Nodes, Numbers };

// The best of several greedy orders: few new neighbours, or small tables. Large tables are worth
// more attempts, unless none comes near `most`: then the order is cut short, and its cost is
// infinite. Orders with large tables of nodes are rehearsed, the smallest first: that which makes
// the fewest nodes is taken.
EliminationOrder order_elimination(const Outline &outline, EntryKind kind, double most,
                                   Watch &watch);

}  // namespace dpasp
