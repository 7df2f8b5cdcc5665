// Hashes of 64 and of 128 bits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dpasp {

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

// Fetch what lies there from memory while other work goes on.
inline void prefetch(const void *address) {
#if defined(__GNUC__)
    __builtin_prefetch(address);
#else
    (void)address;
#endif
}

// A 128-bit key; two different things share one with negligible probability.
struct Key {
    uint64_t low = 0, high = 0;
    bool operator==(const Key &other) const { return low == other.low && high == other.high; }
    void toggle(const Key &other) { low ^= other.low, high ^= other.high; }
};

struct KeyHash {
    size_t operator()(const Key &key) const { return size_t(key.low); }
};

}  // namespace dpasp
