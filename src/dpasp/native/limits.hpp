// What may stop the work: limits of time and memory, a person, and the reasons to give.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace dpasp {

// Why the work stopped before its end. `Size` is a budget of one way (another way may still
// succeed); the others end everything.
enum class Reason { Size, Time, Memory, Interrupt, HeadCycle, Observed };

struct Stopped : std::runtime_error {
    Reason reason;
    Stopped(Reason why, const std::string &text) : std::runtime_error(text), reason(why) {}
};

using Clock = std::chrono::steady_clock;

double megabytes_in_use();

struct Limits {
    double seconds = -1;  // negative is none
    double megabytes = -1;

    Limits() = default;
    Limits(double most_seconds, double most_megabytes)
        : seconds(most_seconds), megabytes(most_megabytes) {}
};

// Looks at the limits of a run. `check` is cheap and may be called in inner loops.
class Watch {
  public:
    explicit Watch(const Limits &limits = {}, const std::atomic<bool> *stop = nullptr)
        : limits_(limits), stop_(stop), start_(Clock::now()), next_(start_) {}

    void check() {
        if ((++ticks_ & 255u) == 0) look();
    }
    void look();  // throws Stopped

  private:
    Limits limits_;
    const std::atomic<bool> *stop_;  // set from outside to interrupt
    Clock::time_point start_, next_;
    uint32_t ticks_ = 0;
};

}  // namespace dpasp
