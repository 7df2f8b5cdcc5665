// Sums as running totals: rules with weights in their bodies become a chain of states.
#pragma once

#include "rules.hpp"

namespace dpasp {

// Replaces rules with weights by plain ones where that makes them easier to compile: where literals
// of a sum are values of one choice, or where a sum is compared with many bounds. Models stay the
// same; atoms are added. Sums that depend on themselves stay as they are, and so do those whose
// totals are too many.
void add_totals(const Ground &ground, Rules &rules, Watch &watch);

}  // namespace dpasp
