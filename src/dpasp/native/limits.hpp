// What may stop the work (limits on time and memory, an interrupt), and threads.
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

// Why the work was stopped. `Size` is the budget of one way (another may still succeed); the others
// end everything.
enum class Reason { Size, Time, Memory, Interrupt, HeadCycle, Observed };

struct Stopped : std::runtime_error {
    Reason reason;
    Stopped(Reason why, const std::string &text) : std::runtime_error(text), reason(why) {}
};

using Clock = std::chrono::steady_clock;

// Megabytes that this process uses now; negative if the system does not tell.
double megabytes_in_use();

struct Limits {
    double seconds = -1;  // negative is none
    double megabytes = -1;
    // Tells the seconds; if there is none, the clock of the machine does.
    std::shared_ptr<const std::function<double()>> clock;

    Limits() = default;
    Limits(double most_seconds, double most_megabytes)
        : seconds(most_seconds), megabytes(most_megabytes) {}
};

// An address near the top of the caller's stack.
inline uintptr_t stack_address() {
#if defined(__GNUC__)
    return reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
#else
    volatile char here = 0;
    return reinterpret_cast<uintptr_t>(&here);
#endif
}

// One of several concurrent tasks, numbered by priority: `ended` is the smallest number of a task
// that makes later ones unnecessary.
struct Lane {
    const std::atomic<size_t> &ended;
    size_t number;
    const Lane *outer;  // that of the task which all of them belong to
};

// Checks the limits of a run and throws Stopped. A watch belongs to one thread.
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
    // For every level of a recursion: also checks that the stack is deep enough.
    void descend() {
        check();
        if (stack_address() < floor_) too_deep();
    }
    // Before much memory is allocated at once.
    void reserve(double megabytes) const;

    // The lowest address that this thread's stack may reach.
    void set_floor(uintptr_t floor) { floor_ = floor; }
    uintptr_t floor() const { return floor_; }
    // A watch with the same limits for another thread.
    Watch copy() const {
        Watch other(*this);
        other.floor_ = 0;
        return other;
    }
    // The same for one of several tasks, which also stops when it is not needed any more.
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
    double begun_;  // by the given clock
    uint32_t ticks_ = 0;
    uintptr_t floor_ = 0;
    const Lane *lane_ = nullptr;
};

// Texts to write to file descriptors, and the exit code.
struct LastWords {
    std::vector<std::pair<int, std::string>> texts;
    int code;
};

// Checks the clock and the memory of this process in a separate thread, which no lock of Python's
// can delay. When a limit is exceeded, it writes the last words and ends the process.
class Sentinel {
  public:
    Sentinel(const Limits &limits, LastWords late, LastWords large);
    ~Sentinel();
    Sentinel(const Sentinel &) = delete;
    Sentinel &operator=(const Sentinel &) = delete;

    // Stops checking. If the process is being ended already, this does not return: nothing else is
    // to be written at the same time as the last words.
    void send_away();

  private:
    enum class State { Watching, Away, Ending };
    std::shared_ptr<std::atomic<State>> state_;  // also held by the thread, which may live longer
};

// Runs `work` in a thread with a deep stack, since decision diagrams recurse once for each choice.
// Meanwhile, `tick` is called about every 20 ms in this thread. `work` gets the lowest address that
// its stack may reach (see Watch::descend). Its exceptions are rethrown here; Stopped(Memory) if no
// thread can be started.
void run_deep(const std::function<void(uintptr_t)> &work, const std::function<void()> &tick);

// How many more threads may be started.
class Spare {
  public:
    explicit Spare(int threads) : left_(threads > 1 ? threads - 1 : 0) {}
    size_t take(size_t most);  // returns how many of these may be started
    void give_back(size_t threads) { left_ += int(threads); }

  private:
    std::atomic<int> left_;
};

// Runs work(0), work(1), … as if one after another, until one returns true or throws; several run
// at the same time if there are spare threads. The result does not depend on their number: the
// smallest number that ends the work counts, and the watch stops later ones. Returns that number,
// or `count`.
size_t run_in_turn(size_t count, Spare &spare, const Watch &watch,
                   const std::function<bool(size_t, Watch &)> &work);

}  // namespace dpasp
