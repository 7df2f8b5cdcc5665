#include "limits.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#if !defined(NOMINMAX)
#define NOMINMAX
#endif
// clang-format off: the others need what windows.h declares
#include <windows.h>
#include <psapi.h>
#include <process.h>
// clang-format on
#include <io.h>
#else
#include <poll.h>
#include <pthread.h>
#include <unistd.h>
#endif
#if defined(__APPLE__)
#include <mach/mach.h>
#elif defined(__linux__)
#include <cstdio>
#endif

namespace dpasp {

// The present use, not the peak: memory that was freed does not count.
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

namespace {

struct Task {
    const std::function<void(uintptr_t)> &work;
    size_t stack = 0;  // bytes
    std::mutex mutex;
    std::condition_variable ended;
    bool done = false;
    std::exception_ptr problem;

    explicit Task(const std::function<void(uintptr_t)> &function) : work(function) {}

    void run() {
        std::exception_ptr caught;
        try {
            // The rest of the stack is for functions that do not recurse.
            uintptr_t top = stack_address(), usable = stack - (size_t(256) << 10);
            work(top > usable ? top - usable : 0);
        } catch (...) {
            caught = std::current_exception();
        }
        std::lock_guard<std::mutex> lock(mutex);
        problem = caught;
        done = true;
        ended.notify_all();
    }
};

#if defined(_WIN32)

using Thread = HANDLE;

bool start(Thread &thread, Task &task) {
    auto run = [](void *data) -> unsigned {
        static_cast<Task *>(data)->run();
        return 0;
    };
    if (task.stack > UINT_MAX) return false;
    thread = reinterpret_cast<HANDLE>(_beginthreadex(nullptr, unsigned(task.stack), run, &task,
                                                     STACK_SIZE_PARAM_IS_A_RESERVATION, nullptr));
    return thread != nullptr;
}

void join(Thread thread) {
    WaitForSingleObject(thread, INFINITE);
    CloseHandle(thread);
}

#else

using Thread = pthread_t;

bool start(Thread &thread, Task &task) {
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0) return false;
    auto run = [](void *data) -> void * {
        static_cast<Task *>(data)->run();
        return nullptr;
    };
    bool started = pthread_attr_setstacksize(&attributes, task.stack) == 0 &&
                   pthread_create(&thread, &attributes, run, &task) == 0;
    pthread_attr_destroy(&attributes);
    return started;
}

void join(Thread thread) { pthread_join(thread, nullptr); }

#endif

// A sanitizer has shadow memory only for a part of all addresses.
#if defined(DPASP_SANITIZE)
constexpr uint64_t DEEPEST = 512;  // megabytes
#else
constexpr uint64_t DEEPEST = 4096;
#endif

// The stack is reserved, not used; if so much address space is not allowed, it gets smaller.
bool start_deep(Thread &thread, Task &task) {
    for (uint64_t megabytes = DEEPEST; megabytes >= 4; megabytes /= 4) {
        if ((megabytes << 20) > SIZE_MAX / 2) continue;
        task.stack = size_t(megabytes << 20);
        if (start(thread, task)) return true;
    }
    return false;
}

}  // namespace

void run_deep(const std::function<void(uintptr_t)> &work, const std::function<void()> &tick) {
    Task task(work);
    Thread thread{};
    if (!start_deep(thread, task)) throw Stopped(Reason::Memory, "no thread could be started");
    {
        std::unique_lock<std::mutex> lock(task.mutex);
        // Most work ends within the first tick, and should not wait for the second one.
        while (
            !task.ended.wait_for(lock, std::chrono::milliseconds(20), [&] { return task.done; })) {
            lock.unlock();
            tick();
            lock.lock();
        }
    }
    join(thread);
    if (task.problem) std::rethrow_exception(task.problem);
}

size_t Spare::take(size_t most) {
    int left = left_.load();
    while (true) {
        int taken = int(std::min<size_t>(most, size_t(std::max(left, 0))));
        if (left_.compare_exchange_weak(left, left - taken)) return size_t(taken);
    }
}

namespace {

// Does tasks in order, in all threads that call serve().
class Turns {
  public:
    Turns(size_t count, const Watch &watch, const std::function<bool(size_t, Watch &)> &work)
        : count_(count), watch_(watch), work_(work), ended_(count), problems_(count) {}

    void serve(uintptr_t floor) {
        for (size_t i; (i = next_.fetch_add(1)) < count_ && i < ended_;) {
            Lane lane{ended_, i, watch_.lane()};
            Watch own = watch_.copy(lane, floor);
            bool last = true;
            try {
                last = work_(i, own);
            } catch (...) {
                problems_[i] = std::current_exception();
            }
            size_t known = ended_;
            while (last && i < known && !ended_.compare_exchange_weak(known, i)) {
            }
        }
    }

    size_t result() const {
        if (ended_ < count_ && problems_[ended_]) std::rethrow_exception(problems_[ended_]);
        return ended_;
    }

  private:
    size_t count_;
    const Watch &watch_;
    const std::function<bool(size_t, Watch &)> &work_;
    std::atomic<size_t> next_{0}, ended_;
    std::vector<std::exception_ptr> problems_;  // by task
};

}  // namespace

size_t run_in_turn(size_t count, Spare &spare, const Watch &watch,
                   const std::function<bool(size_t, Watch &)> &work) {
    size_t more = count > 1 ? spare.take(count - 1) : 0;
    Turns turns(count, watch, work);
    const std::function<void(uintptr_t)> serve = [&](uintptr_t floor) { turns.serve(floor); };
    std::deque<Task> tasks;  // they stay where they are
    std::vector<Thread> threads;
    // All memory is allocated before the first thread starts, so that nothing is thrown later.
    threads.reserve(more);
    while (tasks.size() < more) tasks.emplace_back(serve);
    for (Task &task : tasks) {
        Thread thread{};
        if (!start_deep(thread, task)) break;  // fewer will do
        threads.push_back(thread);
    }
    turns.serve(watch.floor());
    for (Thread thread : threads) join(thread);
    spare.give_back(more);
    return turns.result();
}

}  // namespace dpasp
