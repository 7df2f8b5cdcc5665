// The end of a process that goes on after its limits, whatever else runs in it.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "limits.hpp"

namespace dpasp {

// What to write to which descriptors, and how to end.
struct LastWords {
    std::vector<std::pair<int, std::string>> texts;
    int code;
};

// Looks at the clock and the memory of this process from a thread of its own, which no lock of
// Python's can hold up. After the limits it writes the last words and ends the process.
class Sentinel {
  public:
    Sentinel(const Limits &limits, LastWords late, LastWords large);
    ~Sentinel() { send_away(); }
    Sentinel(const Sentinel &) = delete;
    Sentinel &operator=(const Sentinel &) = delete;

    // From here on the process goes on, whatever it takes.
    void send_away() { away_->store(true); }

  private:
    std::shared_ptr<std::atomic<bool>> away_;  // also held by the thread, which may live longer
};

}  // namespace dpasp
