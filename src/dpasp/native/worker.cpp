#include "worker.hpp"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

namespace dpasp {
namespace {

struct Task {
    const std::function<void()> &work;
    std::mutex mutex;
    std::condition_variable ended;
    bool done = false;
    std::exception_ptr problem;

    void run() {
        std::exception_ptr caught;
        try {
            work();
        } catch (...) {
            caught = std::current_exception();
        }
        std::lock_guard<std::mutex> lock(mutex);
        problem = caught;
        done = true;
        ended.notify_all();
    }
};

}  // namespace

#if defined(__unix__) || defined(__APPLE__)

void run_deep(const std::function<void()> &work, const std::function<void()> &tick) {
    Task task{work, {}, {}, false, nullptr};
    pthread_t thread;
    bool started = false;
    // The stack is reserved, not used; where so much address space is not allowed, take less.
    for (size_t megabytes = 4096; megabytes >= 16 && !started; megabytes /= 4) {
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, megabytes << 20);
        started = pthread_create(
                      &thread, &attributes,
                      [](void *data) -> void * {
                          static_cast<Task *>(data)->run();
                          return nullptr;
                      },
                      &task) == 0;
        pthread_attr_destroy(&attributes);
    }
    if (!started) {
        work();
        return;
    }
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
    pthread_join(thread, nullptr);
    if (task.problem) std::rethrow_exception(task.problem);
}

#else

void run_deep(const std::function<void()> &work, const std::function<void()> &tick) {
    (void)tick;
    work();
}

#endif

}  // namespace dpasp
