#include "limits.hpp"

#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#if !defined(NOMINMAX)
#define NOMINMAX
#endif
// clang-format off: psapi.h needs what windows.h declares
#include <windows.h>
#include <psapi.h>
// clang-format on
#elif defined(__APPLE__)
#include <mach/mach.h>
#elif defined(__linux__)
#include <unistd.h>

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

}  // namespace dpasp
