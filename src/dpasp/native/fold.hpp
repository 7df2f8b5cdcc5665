// Enumerated total choices folded into the circuit type.
#pragma once

#include "circuit.hpp"
#include "gates.hpp"

namespace dpasp {

// Total choices in lexicographic order; those that are missing have no models.
struct Enumerated {
    std::vector<ChoiceShape> shapes;
    size_t rows = 0, questions = 0;
    const int64_t *values = nullptr;  // [rows, choices]
    const double *counts = nullptr;   // [rows, questions, 3]: q and e, e only, not e
};

// Throws std::invalid_argument where the table is not one.
Circuit fold(const Enumerated &table, Watch &watch);

}  // namespace dpasp
