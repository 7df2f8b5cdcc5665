// Runs functions in threads with deep stacks: decision diagrams recurse once a choice.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "limits.hpp"

namespace dpasp {

// Returns when `work` has ended; `tick` is called about every 20 ms meanwhile, in this thread.
// `work` is given the lowest address that its stack may reach (see Watch::descend). What it
// throws is thrown here; Stopped(Memory) if no thread can be started.
void run_deep(const std::function<void(uintptr_t)> &work, const std::function<void()> &tick);

// How many more threads may be started.
class Spare {
  public:
    explicit Spare(int threads) : left_(threads > 1 ? threads - 1 : 0) {}
    size_t take(size_t most);  // how many may
    void give_back(size_t threads) { left_ += int(threads); }

  private:
    std::atomic<int> left_;
};

// work(0), work(1), … as if one after the other, until one says that it is the last, or throws;
// several at the same time where threads are to spare. What comes of it is the same whatever their
// number: the smallest number counts, and those behind it are stopped by their watch. Returns the
// number of the last one, or `count`.
size_t run_in_turn(size_t count, Spare &spare, const Watch &watch,
                   const std::function<bool(size_t, Watch &)> &work);

}  // namespace dpasp
