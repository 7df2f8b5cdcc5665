#include "limits.hpp"

#include <cstdio>
#if defined(__unix__) || defined(__APPLE__)
#include <sys/resource.h>
#include <unistd.h>
#endif

namespace dpasp {

double megabytes_in_use() {
#if defined(__linux__)
    if (FILE *file = std::fopen("/proc/self/statm", "r")) {
        long all = 0, resident = 0;
        int read = std::fscanf(file, "%ld %ld", &all, &resident);
        std::fclose(file);
        if (read == 2) return double(resident) * double(sysconf(_SC_PAGESIZE)) / 1048576.0;
    }
#endif
#if defined(__unix__) || defined(__APPLE__)
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
#if defined(__APPLE__)
    return double(usage.ru_maxrss) / 1048576.0;
#else
    return double(usage.ru_maxrss) / 1024.0;
#endif
#else
    return 0;
#endif
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
