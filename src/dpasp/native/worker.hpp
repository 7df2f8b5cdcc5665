// Runs a function in a thread with a deep stack: decision diagrams recurse once a choice.
#pragma once

#include <functional>

namespace dpasp {

// Returns when `work` has ended; `tick` is called about every 20 ms meanwhile, in this thread.
// What `work` throws is thrown here.
void run_deep(const std::function<void()> &work, const std::function<void()> &tick);

}  // namespace dpasp
