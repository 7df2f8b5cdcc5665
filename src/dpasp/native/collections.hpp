// Hashes, sets and graphs for several steps.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace dpasp {

// Sorts the items and removes duplicates.
template <class T> void sort_unique(std::vector<T> &items) {
    std::sort(items.begin(), items.end());
    items.erase(std::unique(items.begin(), items.end()), items.end());
}

// Disjoint sets that can be joined; each is represented by one of its members.
struct Forest {
    std::vector<uint32_t> parent;
    explicit Forest(size_t n) : parent(n) { std::iota(parent.begin(), parent.end(), 0); }
    uint32_t find(uint32_t x) {
        while (parent[x] != x) x = parent[x] = parent[parent[x]];
        return x;
    }
    void join(uint32_t a, uint32_t b) { parent[find(a)] = find(b); }
};

// Edges of each node as slices of one array; an edge is 2 * target, plus 1 when negative.
struct Edges {
    std::vector<uint32_t> start, target;

    // `pairs` are (source, edge).
    Edges(uint32_t nodes, const std::vector<std::pair<uint32_t, uint32_t>> &pairs) {
        start.assign(nodes + 1, 0);
        for (auto &pair : pairs) ++start[pair.first + 1];
        for (uint32_t i = 0; i < nodes; ++i) start[i + 1] += start[i];
        target.resize(pairs.size());
        std::vector<uint32_t> place(start.begin(), start.end() - 1);
        for (auto &pair : pairs) target[place[pair.first]++] = pair.second;
    }
};

// The strongly connected components of the subgraph on `nodes`, where `follow(from, edge)` says
// which edges count. Each component comes after those that it has edges to.
template <class Follow>
std::vector<std::vector<uint32_t>> components(const std::vector<uint32_t> &nodes,
                                              const Edges &edges, std::vector<uint32_t> &order,
                                              std::vector<uint32_t> &low, Follow follow) {
    // `order` and `low` are scratch space, 0 at all `nodes` at first; UINT32_MAX means finished.
    std::vector<std::vector<uint32_t>> found;
    std::vector<uint32_t> waiting;
    std::vector<std::pair<uint32_t, uint32_t>> path;
    uint32_t clock = 0;
    for (uint32_t root : nodes) {
        if (order[root]) continue;
        order[root] = low[root] = ++clock;
        waiting.push_back(root);
        path.emplace_back(root, edges.start[root]);
        while (!path.empty()) {
            auto &[node, at] = path.back();
            bool down = false;
            while (at < edges.start[node + 1]) {
                uint32_t edge = edges.target[at++];
                if (!follow(node, edge)) continue;
                uint32_t child = edge >> 1;
                if (!order[child]) {
                    order[child] = low[child] = ++clock;
                    waiting.push_back(child);
                    path.emplace_back(child, edges.start[child]);
                    down = true;
                    break;
                }
                if (order[child] != UINT32_MAX) low[node] = std::min(low[node], order[child]);
            }
            if (down) continue;
            uint32_t done = path.back().first;
            path.pop_back();
            if (!path.empty()) low[path.back().first] = std::min(low[path.back().first], low[done]);
            if (low[done] == order[done]) {
                found.emplace_back();
                uint32_t member = 0;
                do {
                    member = waiting.back();
                    waiting.pop_back();
                    order[member] = UINT32_MAX;
                    found.back().push_back(member);
                } while (member != done);
            }
        }
    }
    return found;
}

// The components of the whole graph.
inline std::vector<std::vector<uint32_t>> components(const Edges &edges) {
    size_t n = edges.start.size() - 1;
    std::vector<uint32_t> all(n), order(n), low(n);
    std::iota(all.begin(), all.end(), 0);
    return components(all, edges, order, low, [](uint32_t, uint32_t) { return true; });
}

// Hashes of 64 and 128 bits.

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
    void mix_in(uint64_t word) {
        low = combine(low, word);
        high = combine(high ^ 0xc2b2ae3d27d4eb4fULL, word);
    }
};

struct KeyHash {
    size_t operator()(const Key &key) const { return size_t(key.low); }
};

// Numbers things by key, and compares those with equal keys; a new one gets the number `next`. If a
// different thing has the same key, the next key is tried.
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
