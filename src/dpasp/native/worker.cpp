#include "worker.hpp"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#if defined(_WIN32)
#define NOMINMAX
#include <windows.h>
// after windows.h
#include <process.h>
#else
#include <pthread.h>
#endif

#include "limits.hpp"

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

}  // namespace

void run_deep(const std::function<void(uintptr_t)> &work, const std::function<void()> &tick) {
    Task task(work);
    Thread thread{};
    bool started = false;
    // The stack is reserved, not used; where so much address space is not allowed, take less.
    for (uint64_t megabytes = 4096; megabytes >= 4 && !started; megabytes /= 4) {
        if ((megabytes << 20) > SIZE_MAX / 2) continue;
        task.stack = size_t(megabytes << 20);
        started = start(thread, task);
    }
    if (!started) throw Stopped(Reason::Memory, "no thread could be started");
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

}  // namespace dpasp
