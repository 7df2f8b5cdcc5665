// Many questions about single atoms of a network, under one evidence and weights that are known:
// one elimination in numbers and its way back answer all of them, without a circuit.
#pragma once

#include "elimination.hpp"
#include "ground.hpp"

namespace dpasp {

struct Shares {
    std::vector<Share> questions;
    double entries = 0;  // of all tables
    uint32_t width = 0;  // bits of the largest
};

// Only for programs whose atoms are all determined and whose total choices all have a model, and
// only where the tables have at least so many entries; otherwise nothing. Throws
// std::invalid_argument where the questions are others, and Stopped(Size) where there would be more
// entries than steps are allowed.
std::optional<Shares> shares(const Ground &ground, const Options &options, double least,
                             Watch &watch);

}  // namespace dpasp
