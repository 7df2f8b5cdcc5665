#include "limits.hpp"

#include <cstdlib>
#include <thread>
#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#if !defined(NOMINMAX)
#define NOMINMAX
#endif
// clang-format off: psapi.h needs what windows.h declares
#include <windows.h>
#include <psapi.h>
// clang-format on
#include <io.h>
#else
#include <poll.h>
#include <unistd.h>
#endif
#if defined(__APPLE__)
#include <mach/mach.h>
#elif defined(__linux__)
#include <cstdio>
#endif

namespace dpasp {

// What is held now, never the most that was ever held: memory that was given back counts no more.
double megabytes_in_use() {
    double bytes = -1048576.0;  // the system does not tell; dpasp.limits takes no limit there
#if defined(_WIN32)
    PROCESS_MEMORY_COUNTERS counters{};
    if (K32GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof counters))
        bytes = double(counters.WorkingSetSize);
#elif defined(__APPLE__)
    mach_task_basic_info info{};
    mach_msg_type_number_t count = MACH_TASK_BASIC_INFO_COUNT;
    auto told = reinterpret_cast<task_info_t>(&info);
    if (task_info(mach_task_self(), MACH_TASK_BASIC_INFO, told, &count) == KERN_SUCCESS)
        bytes = double(info.resident_size);
#elif defined(__linux__)
    if (FILE *file = std::fopen("/proc/self/statm", "r")) {
        long all = 0, resident = 0;
        if (std::fscanf(file, "%ld %ld", &all, &resident) == 2)
            bytes = double(resident) * double(sysconf(_SC_PAGESIZE));
        std::fclose(file);
    }
#endif
    return bytes / 1048576.0;
}

void Watch::look() {
    if (stop_ && stop_->load(std::memory_order_relaxed))
        throw Stopped(Reason::Interrupt, "interrupted");
    for (const Lane *lane = lane_; lane; lane = lane->outer)
        if (lane->ended.load(std::memory_order_relaxed) < lane->number)
            throw Stopped(Reason::Interrupt, "not needed any more");
    if (limits_.clock) in_time((*limits_.clock)() - begun_);
    auto now = Clock::now();
    if (now < next_) return;
    next_ = now + std::chrono::milliseconds(5);
    if (!limits_.clock) in_time(std::chrono::duration<double>(now - start_).count());
    if (limits_.megabytes >= 0 && megabytes_in_use() > limits_.megabytes)
        throw Stopped(Reason::Memory, "memory limit");
}

void Watch::in_time(double elapsed) const {
    if (limits_.seconds >= 0 && !(elapsed <= limits_.seconds))  // also where it is not a number
        throw Stopped(Reason::Time, "time limit");
}

void Watch::reserve(double megabytes) const {
    if (limits_.megabytes >= 0 && megabytes_in_use() + megabytes > limits_.megabytes)
        throw Stopped(Reason::Memory, "memory limit");
}

void Watch::too_deep() {
    throw Stopped(Reason::Size, "a recursion that is deeper than the stack of this system");
}

namespace {

constexpr auto TICK = std::chrono::milliseconds(2);  // between two looks
constexpr int PATIENCE = 100;                        // milliseconds to wait for who reads

void write_down(int descriptor, const std::string &text) {
#if defined(_WIN32)
    _write(descriptor, text.data(), static_cast<unsigned>(text.size()));
#else
    size_t done = 0;
    pollfd room{descriptor, POLLOUT, 0};
    while (done < text.size() && poll(&room, 1, PATIENCE) > 0) {
        ssize_t part = write(descriptor, text.data() + done, text.size() - done);
        if (part <= 0) return;
        done += size_t(part);
    }
#endif
}

}  // namespace

Sentinel::Sentinel(const Limits &limits, LastWords late, LastWords large)
    : state_(std::make_shared<std::atomic<State>>(State::Watching)) {
    auto work = [state = state_, limits, late = std::move(late), large = std::move(large),
                 start = Clock::now()] {
        while (state->load() == State::Watching) {
            std::this_thread::sleep_for(TICK);
            std::chrono::duration<double> elapsed = Clock::now() - start;
            bool is_late = limits.seconds >= 0 && elapsed.count() > limits.seconds;
            bool is_large = limits.megabytes >= 0 && megabytes_in_use() > limits.megabytes;
            State watching = State::Watching;
            if (!is_late && !is_large) continue;
            if (!state->compare_exchange_strong(watching, State::Ending)) return;
            const LastWords &words = is_late ? late : large;
            for (const auto &[descriptor, text] : words.texts) write_down(descriptor, text);
            std::_Exit(words.code);
        }
    };
    std::thread(std::move(work)).detach();
}

Sentinel::~Sentinel() {
    State watching = State::Watching;
    state_->compare_exchange_strong(watching, State::Away);
}

void Sentinel::send_away() {
    State state = State::Watching;
    if (state_->compare_exchange_strong(state, State::Away)) return;
    while (state == State::Ending) std::this_thread::sleep_for(TICK);
}

}  // namespace dpasp
