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
    ~Sentinel();
    Sentinel(const Sentinel &) = delete;
    Sentinel &operator=(const Sentinel &) = delete;

    // From here on the process goes on, whatever it takes; if it is being ended already, this does
    // not return: nobody else writes while the last words are written.
    void send_away();

  private:
    enum class State { Watching, Away, Ending };
    std::shared_ptr<std::atomic<State>> state_;  // also held by the thread, which may live longer
};

}  // namespace dpasp
