// The gates of a part as heads with rows, the form in which networks are written.
//
//     0.3::a(1); 0.7::a(2) :- b, c.          a(1) has a row with the body b, c and the first value
//     0.6::a(1); 0.4::a(2) :- b, not c.      of one choice, and one with that of another choice
//
// A choice that occurs only like this, under one body, is *private*: given that body it draws one
// of its heads, otherwise nothing hangs on it. Heads that share private choices are a cluster.
#pragma once

#include "part.hpp"

namespace dpasp {

constexpr uint32_t NONE = UINT32_MAX;

struct Row {
    std::vector<Lit> body;
    uint32_t choice = NONE, value = 0;  // a private choice and the value that is needed, if any
};

// A literal that holds when some row does.
struct Head {
    Lit lit;
    std::vector<Row> rows;
    uint32_t cluster;
};

struct Heads {
    std::vector<Head> heads;                 // what a head depends on comes before it
    std::vector<uint32_t> of_gate;           // by place of a gate: its head, or NONE
    std::vector<std::vector<Lit>> excluded;  // conjunctions that must not hold
    std::vector<Lit> asserted;               // literals that must hold
    uint32_t clusters = 0;
    bool grouped = false;  // rows of one cluster seem to exclude each other
};

// The heads of a part without guesses, of which one stands for each literal of the asks.
Heads read_heads(const Problem &problem, const Part &part, const std::vector<Ask> &asks);

}  // namespace dpasp
