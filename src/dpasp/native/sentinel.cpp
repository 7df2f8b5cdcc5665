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
