// Which atoms are guessed: enough of them to break every loop through negation.
#pragma once

#include "limits.hpp"
#include "rules.hpp"

namespace dpasp {

struct Guesses {
    std::vector<uint8_t> guessed;  // by atom
    std::vector<uint8_t> loose;    // by atom: models of one total choice may disagree on it
};

Guesses choose_guesses(const Rules &rules, Watch &watch);

}  // namespace dpasp
