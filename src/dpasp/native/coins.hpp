// Guesses that are fair coins.
//
// Where all that a guess must agree with is determined by the choices, the models of a total
// choice split into two halves, one for each value of the guess, or it has one value in all of
// them. Under maxent such a guess is a coin that is tossed when the choices are made: a choice
// like others, whose two weights are one half. If all guesses of a part are coins, a program with
// many models is compiled as one with a single model.
#pragma once

#include "circuit.hpp"
#include "problem.hpp"

namespace dpasp {

// Puts coins, the last choices, in the place of the guesses of all parts where every guess is one.
// What is asserted does not depend on them.
void toss(Problem &problem, Watch &watch);

// The same circuit with one half in place of the leaves from `first` on, those of the coins. For
// the consistent mass their first values count alone: it is the same for the others.
std::vector<uint32_t> weigh_coins(const Builder &from, const std::vector<uint32_t> &roots,
                                  uint32_t first, Builder &to, Watch &watch);

}  // namespace dpasp
