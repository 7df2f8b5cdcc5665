// Hashes of 64 and of 128 bits, and numbers for things that are found by them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <unordered_map>
#include <utility>

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
    void mix_in(uint64_t word) {
        low = combine(low, word);
        high = combine(high ^ 0xc2b2ae3d27d4eb4fULL, word);
    }
};

struct KeyHash {
    size_t operator()(const Key &key) const { return size_t(key.low); }
};

// Numbers for things that are compared: the next one for what is new. Different things with one
// key get the next key that is free or right.
class Catalogue {
  public:
    template <class Same> std::pair<uint32_t, bool> find(Key key, uint32_t next, Same same) {
        auto [place, fresh] = known_.try_emplace(key, next);
        while (!fresh && !same(place->second)) {
            ++key.high;
            std::tie(place, fresh) = known_.try_emplace(key, next);
        }
        return {place->second, fresh};
    }

  private:
    std::unordered_map<Key, uint32_t, KeyHash> known_;
};

}  // namespace dpasp
