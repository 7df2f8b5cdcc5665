// What may stop the work (limits of time and memory, a person), and the threads that do it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace dpasp {

// Why the work stopped before its end. `Size` is a budget of one way (another way may still
// succeed); the others end everything.
enum class Reason { Size, Time, Memory, Interrupt, HeadCycle, Observed };

struct Stopped : std::runtime_error {
    Reason reason;
    Stopped(Reason why, const std::string &text) : std::runtime_error(text), reason(why) {}
};

using Clock = std::chrono::steady_clock;

// Megabytes that this process holds now; negative where the system does not tell.
double megabytes_in_use();

struct Limits {
    double seconds = -1;  // negative is none
    double megabytes = -1;
    // What tells the seconds; where there is none, the clock of the machine does.
    std::shared_ptr<const std::function<double()>> clock;

    Limits() = default;
    Limits(double most_seconds, double most_megabytes)
        : seconds(most_seconds), megabytes(most_megabytes) {}
};

// An address near the top of the stack that the caller runs on.
inline uintptr_t stack_address() {
#if defined(__GNUC__)
    return reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
#else
    volatile char here = 0;
    return reinterpret_cast<uintptr_t>(&here);
#endif
}

// One of several tasks that run at the same time, numbered in the order in which they count:
// `ended` is the smallest number of those that have ended them all.
struct Lane {
    const std::atomic<size_t> &ended;
    size_t number;
    const Lane *outer;  // that of the task which all of them belong to
};

// Looks at the limits of a run; all of it throws Stopped. One watch belongs to one thread.
class Watch {
  public:
    explicit Watch(const Limits &limits = {}, const std::atomic<bool> *stop = nullptr)
        : limits_(limits), stop_(stop), start_(Clock::now()), next_(start_),
          begun_(limits.clock ? (*limits.clock)() : 0) {}

    // Cheap: for inner loops.
    void check() {
        if ((++ticks_ & 255u) == 0) look();
    }
    void look();
    // For every level of a recursion: the stack must not end before the recursion does.
    void descend() {
        check();
        if (stack_address() < floor_) too_deep();
    }
    // Before much memory is taken at once.
    void reserve(double megabytes) const;

    // The lowest address that the stack of this thread may reach.
    void set_floor(uintptr_t floor) { floor_ = floor; }
    uintptr_t floor() const { return floor_; }
    // A watch over the same limits for another thread.
    Watch copy() const {
        Watch other(*this);
        other.floor_ = 0;
        return other;
    }
    // One for a task among others, which also stops when it is not needed any more.
    Watch copy(const Lane &lane, uintptr_t floor) const {
        Watch other(*this);
        other.lane_ = &lane;
        other.floor_ = floor;
        return other;
    }
    const Lane *lane() const { return lane_; }

  private:
    [[noreturn]] static void too_deep();
    void in_time(double elapsed) const;

    Limits limits_;
    const std::atomic<bool> *stop_;  // set from outside to interrupt
    Clock::time_point start_, next_;
    double begun_;  // by the clock that was given
    uint32_t ticks_ = 0;
    uintptr_t floor_ = 0;
    const Lane *lane_ = nullptr;
};

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

// Runs functions in threads with deep stacks: decision diagrams recurse once a choice.

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
