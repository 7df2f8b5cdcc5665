#include "sentinel.hpp"

#include <cstdlib>
#include <thread>
#if defined(_WIN32)
#include <io.h>
#else
#include <poll.h>
#include <unistd.h>
#endif

namespace dpasp {

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
    : away_(std::make_shared<std::atomic<bool>>(false)) {
    auto work = [away = away_, limits, late = std::move(late), large = std::move(large),
                 start = Clock::now()] {
        while (!away->load()) {
            std::this_thread::sleep_for(TICK);
            std::chrono::duration<double> elapsed = Clock::now() - start;
            bool is_late = limits.seconds >= 0 && elapsed.count() > limits.seconds;
            bool is_large = limits.megabytes >= 0 && megabytes_in_use() > limits.megabytes;
            if ((!is_late && !is_large) || away->exchange(true)) continue;
            const LastWords &words = is_late ? late : large;
            for (const auto &[descriptor, text] : words.texts) write_down(descriptor, text);
            std::_Exit(words.code);
        }
    };
    std::thread(std::move(work)).detach();
}

}  // namespace dpasp
