#include "automaton.hpp"

#include <algorithm>
#include <tuple>
#include <unordered_map>

namespace dpasp {
namespace {

constexpr uint32_t NOWHERE = UINT32_MAX;  // in place of a class: no model comes of it

// The different entries of one step, in the order in which they are met.
class EntrySet {
  public:
    EntrySet(uint32_t width) : width_(width) {}

    uint32_t add(const Word *bits) {
        Key key{width_, 0x5bd1e995u};
        for (uint32_t w = 0; w < width_; ++w) {
            key.low = combine(key.low, bits[w]);
            key.high = combine(key.high ^ 0xc2b2ae3d27d4eb4fULL, bits[w]);
        }
        auto [place, fresh] = known_.try_emplace(key, count_);
        while (!fresh && !std::equal(bits, bits + width_, at(place->second))) {
            ++key.high;  // different entries with one key: the next key that is free or right
            std::tie(place, fresh) = known_.try_emplace(key, count_);
        }
        if (fresh) {
            words_.insert(words_.end(), bits, bits + width_);
            ++count_;
        }
        return place->second;
    }
    const Word *at(uint32_t entry) const { return words_.data() + size_t(entry) * width_; }
    uint32_t size() const { return count_; }

  private:
    uint32_t width_, count_ = 0;
    std::vector<Word> words_;
    std::unordered_map<Key, uint32_t, KeyHash> known_;
};

Key hash(const std::vector<Automaton::Move> &moves, const std::vector<uint32_t> &ends) {
    Key key{moves.size(), ends.size()};
    auto mix_in = [&](uint64_t word) {
        key.low = combine(key.low, word);
        key.high = combine(key.high ^ 0xc2b2ae3d27d4eb4fULL, word);
    };
    for (const Automaton::Move &move : moves) {
        Word count = 0;
        put_count(&count, move.count);
        mix_in(move.to), mix_in(count);
    }
    for (uint32_t end : ends) mix_in(end);
    return key;
}

}  // namespace

Automaton::Automaton(Sweep sweep, const StepWeights &weights, Budget &budget)
    : layers_(weights.size()) {
    read(sweep, weights, budget);
}

// One layer of entries after the other; then the classes, from the end to the beginning.
void Automaton::read(Sweep &sweep, const StepWeights &weights, Budget &budget) {
    uint32_t width = sweep.entries.words;
    Table one = sweep.entries.first();
    EntrySet entries(width);
    entries.add(one.words.data());
    for (size_t s = 0; s < layers_.size(); ++s) {
        Layer &layer = layers_[s];
        layer.classes = entries.size();
        layer.values = uint32_t(weights[s].size());
        EntrySet next(width);
        for (uint32_t e = 0; e < entries.size(); ++e) {
            std::copy_n(entries.at(e), width, one.words.begin());
            for (uint32_t v = 0; v < layer.values; ++v) {
                if (weights[s][v] > 0) {
                    Table reached = sweep.next(uint32_t(s), one, v);
                    budget.charge(sweep.work(reached));
                    for (uint32_t i = 0; i < reached.count; ++i)
                        layer.moves.push_back(
                            {next.add(reached.words.data() + size_t(i) * (width + 1)), 1.0});
                }
                layer.begin.push_back(uint32_t(layer.moves.size()));
            }
        }
        if (layer.moves.size() > budget.nodes)
            throw Stopped(Reason::Size, "tables of more entries than were allowed");
        entries = std::move(next);
    }
    std::vector<uint32_t> ends(entries.size());
    for (uint32_t e = 0; e < entries.size(); ++e) {
        Word bits = entries.at(e)[0];
        ends[e] = bits >> Entries::EVIDENCE & 1 ? NOWHERE
                  : bits >> Entries::QUERY & 1  ? QUERY_FAILS
                                                : QUERY_HOLDS;
    }
    for (size_t s = layers_.size(); s-- > 0;) merge(s, ends, budget);
}

// The classes of a step's entries, given those of the next; they become those of this one.
void Automaton::merge(size_t step, std::vector<uint32_t> &next, Budget &budget) {
    Layer &old = layers_[step], layer;
    layer.values = old.values;
    std::vector<uint32_t> classes(old.classes, NOWHERE), ends;
    std::unordered_map<Key, uint32_t, KeyHash> known;
    std::vector<Move> moves;
    budget.charge(1 + old.moves.size() / 2);
    auto same = [&](uint32_t other) {
        const uint32_t *begin = &layer.begin[size_t(other) * layer.values];
        for (uint32_t v = 0; v < layer.values; ++v)
            if (begin[v + 1] - begin[0] != ends[v]) return false;
        return std::equal(moves.begin(), moves.end(), layer.moves.begin() + begin[0]);
    };
    for (uint32_t e = 0; e < old.classes; ++e) {
        moves.clear(), ends.clear();
        for (uint32_t v = 0; v < layer.values; ++v) {
            auto first = ptrdiff_t(moves.size());
            for (const Move &move : this->moves(step, e, v))
                if (next[move.to] != NOWHERE) moves.push_back({next[move.to], move.count});
            std::sort(moves.begin() + first, moves.end(),
                      [](const Move &a, const Move &b) { return a.to < b.to; });
            auto last = moves.begin() + first;  // equal ones, which are neighbours, become one
            for (auto it = last; it != moves.end(); ++it) {
                if (last != moves.begin() + first && last[-1].to == it->to)
                    last[-1].count += it->count;
                else
                    *last++ = *it;
            }
            moves.erase(last, moves.end());
            ends.push_back(uint32_t(moves.size()));
        }
        if (moves.empty()) continue;
        Key key = hash(moves, ends);
        auto [place, fresh] = known.try_emplace(key, layer.classes);
        while (!fresh && !same(place->second)) {
            ++key.high;
            std::tie(place, fresh) = known.try_emplace(key, layer.classes);
        }
        classes[e] = place->second;
        if (!fresh) continue;
        ++layer.classes;
        auto before = uint32_t(layer.moves.size());
        layer.moves.insert(layer.moves.end(), moves.begin(), moves.end());
        for (uint32_t end : ends) layer.begin.push_back(before + end);
    }
    old = std::move(layer);
    next = std::move(classes);
}

}  // namespace dpasp
