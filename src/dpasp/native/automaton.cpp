#include "sweep.hpp"

#include <algorithm>
#include <tuple>

namespace dpasp {
namespace {

constexpr uint32_t NOWHERE = UINT32_MAX;  // in place of a class: no model comes of it

// The different entries of one step, in the order in which they are met.
class EntrySet {
  public:
    explicit EntrySet(uint32_t width) : width_(width) {}

    uint32_t add(const Word *bits) {
        Key key{width_, 0x5bd1e995u};
        for (uint32_t w = 0; w < width_; ++w) key.mix_in(bits[w]);
        auto [number, fresh] = known_.find(key, count_, [&](uint32_t other) {
            return std::equal(bits, bits + width_, at(other));
        });
        if (fresh) {
            words_.insert(words_.end(), bits, bits + width_);
            ++count_;
        }
        return number;
    }
    const Word *at(uint32_t entry) const { return words_.data() + size_t(entry) * width_; }
    uint32_t size() const { return count_; }
    uint32_t width() const { return width_; }

  private:
    uint32_t width_, count_ = 0;
    std::vector<Word> words_;
    Catalogue known_;
};

// All entries as one table, which has their numbers in place of counts: so what becomes of an
// entry can be told from what becomes of the others.
Table numbered(const EntrySet &entries) {
    Table table;
    table.count = entries.size();
    table.words.reserve(size_t(entries.size()) * (entries.width() + 1));
    for (uint32_t e = 0; e < entries.size(); ++e) {
        table.words.insert(table.words.end(), entries.at(e), entries.at(e) + entries.width());
        table.words.push_back(0);
        put_count(&table.words.back(), e);
    }
    return table;
}

// Moves from `first` on, sorted, with those to one class counted together.
void gather(std::vector<Automaton::Move> &moves, size_t first) {
    auto begin = moves.begin() + ptrdiff_t(first), last = begin;
    std::sort(begin, moves.end(), [](const auto &a, const auto &b) { return a.to < b.to; });
    for (auto it = begin; it != moves.end(); ++it) {
        if (last != begin && last[-1].to == it->to)
            last[-1].count += it->count;
        else
            *last++ = *it;
    }
    moves.erase(last, moves.end());
}

}  // namespace

Automaton::Automaton(Sweep sweep, const StepWeights &weights, Budget &budget)
    : layers_(weights.size()) {
    std::vector<uint32_t> classes = read(sweep, weights, budget);
    for (size_t s = layers_.size(); s-- > 0;) {
        budget.charge(1 + layers_[s].moves.size() / 2);
        layers_[s] = merge(layers_[s], classes);
    }
}

// Layer after layer, with every entry a class of its own; gives back the classes of the last.
std::vector<uint32_t> Automaton::read(Sweep &sweep, const StepWeights &weights, Budget &budget) {
    uint32_t width = sweep.entries.words;
    EntrySet entries(width);
    entries.add(sweep.entries.first().words.data());
    for (size_t s = 0; s < layers_.size(); ++s) {
        EntrySet next(width);
        std::vector<std::vector<Found>> found;
        Table table = numbered(entries);
        for (uint32_t v = 0; v < weights[s].size(); ++v) {
            found.emplace_back();
            if (weights[s][v] == 0) continue;
            Table reached = sweep.next(uint32_t(s), table, v);
            budget.charge(sweep.work(reached) + 2 * reached.count);
            for (uint32_t i = 0; i < reached.count; ++i) {
                const Word *entry = reached.words.data() + size_t(i) * (width + 1);
                if (entry[0] >> Entries::EVIDENCE & 1) continue;
                found[v].push_back({uint32_t(get_count(entry + width)), next.add(entry)});
            }
        }
        if (next.size() > budget.nodes)
            throw Stopped(Reason::Size, "tables of more entries than were allowed");
        layers_[s] = arrange(entries.size(), found);
        entries = std::move(next);
    }
    std::vector<uint32_t> ends;
    for (uint32_t e = 0; e < entries.size(); ++e) {
        bool query = !(entries.at(e)[0] >> Entries::QUERY & 1);
        ends.push_back(query ? QUERY_HOLDS : QUERY_FAILS);
    }
    return ends;
}

// By entry and value, what was found by value and entry.
Automaton::Layer Automaton::arrange(uint32_t entries,
                                    const std::vector<std::vector<Found>> &found) {
    Layer layer;
    layer.classes = entries;
    layer.values = uint32_t(found.size());
    std::vector<size_t> next(found.size(), 0);
    for (uint32_t e = 0; e < entries; ++e)
        for (size_t v = 0; v < found.size(); ++v, layer.close())
            for (; next[v] < found[v].size() && found[v][next[v]].from == e; ++next[v])
                layer.moves.push_back({found[v][next[v]].to, 1.0});
    return layer;
}

// Puts what an entry does behind the moves of a layer, as if it were a class of its own.
Key Automaton::describe(const Layer &old, uint32_t entry, const std::vector<uint32_t> &next,
                        Layer &layer) {
    Key key{0, 0x5bd1e995u};
    for (uint32_t v = 0; v < layer.values; ++v, layer.close()) {
        size_t begin = layer.moves.size();
        for (const Move &move : old.span(entry, v))
            if (next[move.to] != NOWHERE) layer.moves.push_back({next[move.to], move.count});
        gather(layer.moves, begin);
        key.mix_in(layer.moves.size() - begin);
        for (size_t m = begin; m < layer.moves.size(); ++m) {
            Word count = 0;
            put_count(&count, layer.moves[m].count);
            key.mix_in(layer.moves[m].to), key.mix_in(count);
        }
    }
    return key;
}

// A step between classes, given the class of each entry after it; then `next` tells the class
// of each entry before it.
Automaton::Layer Automaton::merge(const Layer &old, std::vector<uint32_t> &next) {
    Layer layer;
    layer.values = old.values;
    std::vector<uint32_t> classes(old.classes, NOWHERE);
    Catalogue known;
    auto same = [&](uint32_t other) {  // as the last one
        for (uint32_t v = 0; v < layer.values; ++v) {
            Span a = layer.span(layer.classes, v), b = layer.span(other, v);
            if (!std::equal(a.begin(), a.end(), b.begin(), b.end())) return false;
        }
        return true;
    };
    for (uint32_t entry = 0; entry < old.classes; ++entry) {
        size_t moves = layer.moves.size(), opened = layer.begin.size();
        Key key = describe(old, entry, next, layer);
        bool fresh = false;
        if (layer.moves.size() > moves)
            std::tie(classes[entry], fresh) = known.find(key, layer.classes, same);
        if (fresh) {
            ++layer.classes;
        } else {
            layer.moves.resize(moves);
            layer.begin.resize(opened);
        }
    }
    next = std::move(classes);
    return layer;
}

}  // namespace dpasp
