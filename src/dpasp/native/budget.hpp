// What one attempt may take, and how far it came.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "limits.hpp"

namespace dpasp {

// Work is counted, not timed, so that the same program always ends in the same circuit; a unit
// is about 0.1 microseconds.
struct Budget {
    size_t nodes = SIZE_MAX;
    uint64_t work = UINT64_MAX;
    uint64_t spent = 0;
    size_t size = 0;                       // nodes so far, whatever a node is to the way
    double progress = 0;                   // from 0 to 1
    std::atomic<double> *shown = nullptr;  // the best progress of any attempt, for people
    double before = 0, share = 1;          // where this attempt lies in what is shown
    uint32_t width = 0;                    // what the search found out about the part's width

    void advance(double part) {
        progress += part;
        double now = before + share * std::min(progress, 1.0);
        if (shown && now > *shown) *shown = now;
    }
    void charge(uint64_t units) {
        spent += units;
        if (spent > work) throw Stopped(Reason::Size, "more work than was allowed");
    }
};

}  // namespace dpasp
