// Linear orders of a program's atoms and choices that keep what belongs together close.
#pragma once

#include "limits.hpp"
#include "options.hpp"
#include "part.hpp"

namespace dpasp {

constexpr int SWEEPS = 4;  // the first of `Order` are orders of the inputs:
// narrow    greedily keep the frontier small
// breadth   level by level from one end
// depth     as a depth-first walk from the questions meets the inputs
// polished  the best of many narrow ones, improved by local search

// The position of every vertex of the problem's graph.
std::vector<uint32_t> arrange(const Problem &problem, Order order, Watch &watch);

// The inputs of a part in the order of the positions.
std::vector<Input> order_inputs(const Problem &problem, const Part &part,
                                const std::vector<uint32_t> &position);

// How many gates are half read at the widest place of an order.
uint32_t cut_width(const Problem &problem, const Part &part, const std::vector<Input> &order);

}  // namespace dpasp
