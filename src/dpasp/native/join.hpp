// Circuits of the cases of a program joined into one, by decisions among the cases.
#pragma once

#include "circuit.hpp"

namespace dpasp {

// A case has its own leaf weights: `leaves` says which of the joined circuit each of them is.
struct CaseCircuit {
    const Circuit *circuit;
    const int64_t *leaves;
};

// By how a choice fell. Its leaf weights lie from `first` on. A child, one for each value, is the
// number of a case, that of an earlier decision (they are counted after the cases), or NO_CASE.
struct Decision {
    uint32_t first;
    std::vector<int64_t> children;
};

constexpr int64_t NO_CASE = -1;  // a value that the choice never has

// The last decision is the whole; where there is none, it is the only case. All cases have as many
// questions. Throws std::invalid_argument where something does not fit.
Circuit join(const std::vector<CaseCircuit> &cases, const std::vector<Decision> &decisions,
             uint32_t weights, Watch &watch);

}  // namespace dpasp
