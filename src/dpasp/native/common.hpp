// What all parts share: hashing, numbers that neither overflow nor underflow, and limits.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace dpasp {

// Why the work stopped before its end. `Size` is a budget of one way (another way may still
// succeed); the others end everything.
enum class Reason { Size, Time, Memory, Interrupt, HeadCycle, Observed };

struct Stopped : std::runtime_error {
    Reason reason;
    Stopped(Reason reason, const std::string &text) : std::runtime_error(text), reason(reason) {}
};

inline uint64_t mix(uint64_t x) {
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9ULL;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

inline uint64_t combine(uint64_t seed, uint64_t value) {
    return mix(seed * 0x9e3779b97f4a7c15ULL + value + 0x632be59bd9b4e019ULL);
}

// A 128-bit key; two different things share one with negligible probability.
struct Key {
    uint64_t low = 0, high = 0;
    bool operator==(const Key &other) const { return low == other.low && high == other.high; }
    void toggle(const Key &other) { low ^= other.low, high ^= other.high; }
};

struct KeyHash {
    size_t operator()(const Key &key) const { return key.low; }
};

// A nonnegative number m * 2^e with m in [1, 2) or 0: counts and masses of any size.
struct Scaled {
    double m = 0;
    int64_t e = 0;

    Scaled() = default;
    Scaled(double value) : m(value), e(0) { normalise(); }  // NOLINT: meant to be implicit

    void normalise() {
        if (m == 0) {
            e = 0;
            return;
        }
        int shift;
        m = std::frexp(m, &shift) * 2;
        e += shift - 1;
    }
    bool zero() const { return m == 0; }
    double log() const { return m == 0 ? -INFINITY : std::log(m) + double(e) * 0.6931471805599453; }
    double value() const {
        return m == 0 ? 0 : std::ldexp(m, int(std::clamp<int64_t>(e, -1200, 1200)));
    }
    Scaled &operator*=(const Scaled &o) {
        m *= o.m;
        e += o.e;
        normalise();
        return *this;
    }
    Scaled &operator+=(const Scaled &o) {
        if (o.m == 0) return *this;
        if (m == 0) return *this = o;
        int64_t shift = o.e - e;
        if (shift > 200) return *this = o;
        if (shift >= -200) m += std::ldexp(o.m, int(shift));
        normalise();
        return *this;
    }
    friend Scaled operator*(Scaled a, const Scaled &b) { return a *= b; }
    friend Scaled operator+(Scaled a, const Scaled &b) { return a += b; }
    // a / b for b > 0, as a plain number.
    friend double ratio(const Scaled &a, const Scaled &b) {
        if (a.m == 0) return 0;
        return std::ldexp(a.m / b.m, int(std::clamp<int64_t>(a.e - b.e, -1070, 1070)));
    }
};

using Clock = std::chrono::steady_clock;

double megabytes_in_use();

// Limits of a run. `check` is cheap and may be called in inner loops.
struct Watch {
    std::atomic<bool> *stop = nullptr;  // set from outside to interrupt
    double deadline = -1;        // seconds from `start`; negative is none
    double megabytes = -1;
    Clock::time_point start = Clock::now();
    Clock::time_point next = start;
    uint32_t ticks = 0;

    double elapsed() const {
        return std::chrono::duration<double>(Clock::now() - start).count();
    }
    void check() {
        if ((++ticks & 255u) == 0) look();
    }
    void look();
};

}  // namespace dpasp
