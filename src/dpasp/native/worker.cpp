#include "worker.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <vector>
#if defined(_WIN32)
#define NOMINMAX
#include <windows.h>
// after windows.h
#include <process.h>
#else
#include <pthread.h>
#endif

namespace dpasp {
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
            // What is left below is for functions that do not recurse.
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

// A sanitizer keeps a shadow of all addresses, and has room for a part of them only.
#if defined(DPASP_SANITIZE)
constexpr uint64_t DEEPEST = 512;  // megabytes
#else
constexpr uint64_t DEEPEST = 4096;
#endif

// The stack is reserved, not used; where so much address space is not allowed, take less.
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
        // Most work is done within the first tick; do not make it wait for a second one.
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

// Takes tasks in turn and does them, in as many threads as call serve().
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
    // All memory is taken before the first thread starts: nothing is thrown while one runs.
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
