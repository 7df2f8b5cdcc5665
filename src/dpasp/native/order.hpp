// Linear orders of a program's atoms and choices that keep what belongs together close.
#pragma once

#include "part.hpp"

namespace dpasp {

enum class Sweep {
    Narrow,   // greedily keep the frontier small
    Breadth,  // level by level from one end
    Depth,    // as a depth-first walk from the questions meets the inputs
    Polished  // the best of many narrow ones, improved by local search
};

constexpr int SWEEPS = 4;
const char *name(Sweep sweep);

// The position of every vertex of the problem.
std::vector<uint32_t> arrange(const Problem &problem, Sweep sweep, Watch &watch);

// The inputs of a part in the order of the positions.
std::vector<Input> order_inputs(const Problem &problem, const Part &part,
                                const std::vector<uint32_t> &position);

// How many gates are half read at the widest place of an order.
uint32_t cut_width(const Problem &problem, const Part &part, const std::vector<Input> &order);

}  // namespace dpasp
