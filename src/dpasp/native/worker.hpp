// Runs a function in a thread with a deep stack: decision diagrams recurse once a choice.
#pragma once

#include <cstdint>
#include <functional>

namespace dpasp {

// Returns when `work` has ended; `tick` is called about every 20 ms meanwhile, in this thread.
// `work` is given the lowest address that its stack may reach (see Watch::descend). What it
// throws is thrown here; Stopped(Memory) if no thread can be started.
void run_deep(const std::function<void(uintptr_t)> &work, const std::function<void()> &tick);

}  // namespace dpasp
