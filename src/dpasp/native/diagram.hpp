// Decision diagrams, the gates of a part as diagrams, and diagrams as circuits.
#pragma once

#include <unordered_set>

#include "ways.hpp"

namespace dpasp {

// An edge is 2 * node, plus 1 when complemented; node 0 is true.
using Dd = uint32_t;
constexpr Dd DD_TRUE = 0, DD_FALSE = 1;
constexpr size_t MOST_CHILDREN = UINT32_MAX;  // of all nodes: their numbers have 32 bits

// Reduced ordered decision diagrams of variables with any number of values. The first child of a
// node is never complemented, so that equal functions are equal edges.
class Diagram {
  public:
    Diagram(std::vector<uint32_t> arity, Budget &budget, Watch &watch,
            size_t most_children = MOST_CHILDREN)
        : arity_(std::move(arity)), budget_(budget), watch_(watch), most_children_(most_children),
          slots_(1 << 12, 0), cache_(1 << 14) {
        level_.push_back(uint32_t(arity_.size()));
        child_.push_back(0);
    }

    uint32_t level(Dd edge) const { return level_[edge >> 1]; }
    Dd child(Dd edge, uint32_t v) const { return pool_[child_[edge >> 1] + v] ^ (edge & 1u); }

    Dd make(uint32_t level, const Dd *children) {
        uint32_t n = arity_[level];
        bool same = true;
        for (uint32_t v = 1; v < n; ++v) same = same && children[v] == children[0];
        if (same) return children[0];
        uint32_t flip = children[0] & 1u;
        uint64_t hash = level;
        for (uint32_t v = 0; v < n; ++v) hash = combine(hash, children[v] ^ flip);
        size_t mask = slots_.size() - 1, at = hash & mask;
        for (; slots_[at]; at = (at + 1) & mask) {
            uint32_t node = slots_[at];
            if (level_[node] != level) continue;
            bool equal = true;
            for (uint32_t v = 0; equal && v < n; ++v)
                equal = pool_[child_[node] + v] == (children[v] ^ flip);
            if (equal) return 2 * node + flip;
        }
        if (level_.size() >= budget_.nodes || pool_.size() + n > most_children_)
            throw Stopped(Reason::Size, "a diagram of more nodes than were allowed");
        uint32_t node = uint32_t(level_.size());
        budget_.size = node;
        level_.push_back(level);
        child_.push_back(uint32_t(pool_.size()));
        for (uint32_t v = 0; v < n; ++v) pool_.push_back(children[v] ^ flip);
        slots_[at] = node;
        if (2 * level_.size() > slots_.size()) grow();
        return 2 * node + flip;
    }

    Dd both(Dd a, Dd b) {
        if (a == b) return a;
        if (a == (b ^ 1u)) return DD_FALSE;
        if (a == DD_FALSE || b == DD_FALSE) return DD_FALSE;
        if (a == DD_TRUE) return b;
        if (b == DD_TRUE) return a;
        if (a > b) std::swap(a, b);
        uint64_t key = (uint64_t(a) << 32) | b;
        size_t at = mix(key) & (cache_.size() - 1);
        if (cache_[at].key == key) return cache_[at].result;
        watch_.descend();
        budget_.charge(5);
        uint32_t la = level(a), lb = level(b), top = std::min(la, lb), n = arity_[top];
        Dd result = 0;
        if (n == 2) {
            Dd children[2];
            for (uint32_t v = 0; v < 2; ++v)
                children[v] = both(la == top ? child(a, v) : a, lb == top ? child(b, v) : b);
            result = make(top, children);
        } else {
            std::vector<Dd> children(n);
            for (uint32_t v = 0; v < n; ++v)
                children[v] = both(la == top ? child(a, v) : a, lb == top ? child(b, v) : b);
            result = make(top, children.data());
        }
        cache_[mix(key) & (cache_.size() - 1)] = {key, result};  // it may have grown meanwhile
        return result;
    }

    Dd all(std::vector<Dd> edges) {
        // Functions of late choices come first, as they share the most.
        std::sort(edges.begin(), edges.end(),
                  [&](Dd a, Dd b) { return level(a) != level(b) ? level(a) > level(b) : a < b; });
        Dd result = DD_TRUE;
        for (Dd edge : edges) {
            result = both(result, edge);
            if (result == DD_FALSE) break;
        }
        return result;
    }

    // Whether some value of the variable at that level makes the function true.
    Dd some(Dd edge, uint32_t at) {
        std::unordered_map<Dd, Dd> done;
        return some(edge, at, done);
    }

    // The levels that a function depends on.
    std::vector<uint8_t> support(Dd edge) const {
        std::vector<uint8_t> found(arity_.size(), 0);
        std::vector<uint32_t> todo{edge >> 1};
        std::unordered_set<uint32_t> seen;
        while (!todo.empty()) {
            uint32_t node = todo.back();
            todo.pop_back();
            if (!node || !seen.insert(node).second) continue;
            watch_.check();
            found[level_[node]] = 1;
            for (uint32_t v = 0; v < arity_[level_[node]]; ++v)
                todo.push_back(pool_[child_[node] + v] >> 1);
        }
        return found;
    }

  private:
    Dd some(Dd edge, uint32_t at, std::unordered_map<Dd, Dd> &done) {
        uint32_t top = level(edge);
        if (top > at) return edge;
        auto found = done.find(edge);
        if (found != done.end()) return found->second;
        watch_.descend();
        uint32_t n = arity_[top];
        Dd result = 0;
        if (top == at) {
            result = DD_FALSE;
            for (uint32_t v = 0; v < n; ++v) result = both(result ^ 1u, child(edge, v) ^ 1u) ^ 1u;
        } else {
            std::vector<Dd> children(n);
            for (uint32_t v = 0; v < n; ++v) children[v] = some(child(edge, v), at, done);
            result = make(top, children.data());
        }
        done.emplace(edge, result);
        return result;
    }

    struct Entry {
        uint64_t key = 0;
        Dd result = 0;
    };

    void grow() {
        slots_.assign(slots_.size() * 2, 0);
        size_t mask = slots_.size() - 1;
        for (uint32_t node = 1; node < level_.size(); ++node) {
            uint64_t hash = level_[node];
            for (uint32_t v = 0; v < arity_[level_[node]]; ++v)
                hash = combine(hash, pool_[child_[node] + v]);
            size_t at = hash & mask;
            while (slots_[at]) at = (at + 1) & mask;
            slots_[at] = node;
        }
        if (cache_.size() < slots_.size() && cache_.size() < (size_t(1) << 24)) {
            std::vector<Entry> old(cache_.size() * 2);
            old.swap(cache_);
            for (const Entry &entry : old)
                if (entry.key) cache_[mix(entry.key) & (cache_.size() - 1)] = entry;
        }
    }

    std::vector<uint32_t> arity_;  // by level
    Budget &budget_;
    Watch &watch_;
    size_t most_children_;
    std::vector<uint32_t> level_, child_;  // by node
    std::vector<Dd> pool_;
    std::vector<uint32_t> slots_;
    std::vector<Entry> cache_;
};

// The gates of a part as functions of its inputs.
class Functions {
  public:
    // The levels of the diagram are the inputs in this order.
    Functions(const Gates &gates, const Part &part, const std::vector<Input> &order, Budget &budget,
              Watch &watch);

    Dd of(Lit lit) const {
        return (gate_of(lit) ? known_[part_.place(lit)] : DD_TRUE) ^ (lit & 1u);
    }
    Dd all(const std::vector<Lit> &lits);  // their conjunction

    // Changes the factors so that their conjunction says: for some values of the guesses at these
    // levels, all factors hold.
    void quantify(std::vector<Dd> &factors, std::vector<uint32_t> levels);

    Diagram &diagram() { return diagram_; }
    const std::vector<ChoiceShape> &shapes() const { return shapes_; }  // by level
    const std::vector<uint32_t> &guesses() const { return guesses_; }   // levels

  private:
    Dd variable(uint32_t level, uint32_t value);
    uint32_t cheapest(const std::vector<uint32_t> &levels,
                      const std::vector<std::vector<uint8_t>> &used) const;

    const Part &part_;
    std::vector<ChoiceShape> shapes_;
    Diagram diagram_;
    std::vector<uint32_t> guesses_;
    std::vector<Dd> known_;  // by place in the part
};

// Whether the literals of each pair are equal functions; Stopped(Size) if that is too hard.
bool same_functions(const Gates &gates, const std::vector<std::pair<Lit, Lit>> &pairs,
                    Watch &watch);

// Copies functions from a decision diagram into the circuit. Three functions (yes, no, other) say
// which kinds of models there are, and how many of each.
class Copier {
  public:
    // From the level `boundary` on, there are only guesses, which are counted.
    Copier(const Diagram &diagram, const std::vector<ChoiceShape> &shapes, uint32_t boundary,
           Builder &builder, Watch &watch)
        : diagram_(diagram), shapes_(shapes), boundary_(boundary), builder_(builder),
          watch_(watch) {}

    uint32_t copy(Dd yes, Dd no, Dd other) {
        uint32_t top = std::min({diagram_.level(yes), diagram_.level(no), diagram_.level(other)});
        if (top >= boundary_) return leaf(count(yes), count(no), count(other));
        Key key{(uint64_t(yes) << 32) | no, other};
        auto found = done_.find(key);
        if (found != done_.end()) return found->second;
        watch_.descend();
        const ChoiceShape &shape = shapes_[top];
        std::vector<uint32_t> children(shape.values);
        auto below = [&](Dd edge, uint32_t v) {
            return diagram_.level(edge) == top ? diagram_.child(edge, v) : edge;
        };
        for (uint32_t v = 0; v < shape.values; ++v)
            children[v] = copy(below(yes, v), below(no, v), below(other, v));
        uint32_t node = builder_.decision(shape.leaf, children);
        done_.emplace(key, node);
        return node;
    }

  private:
    struct Hash {
        size_t operator()(const Key &key) const { return combine(key.low, key.high); }
    };

    // How many assignments of the guesses make it true.
    Scaled count(Dd edge) {
        Scaled share = fraction(edge);
        share.e += share.zero() ? 0 : int64_t(shapes_.size()) - boundary_;
        return share;
    }

    // The same as a share of all assignments, so that skipped levels do not matter.
    Scaled fraction(Dd edge) {
        if (edge == DD_TRUE) return Scaled(1);
        if (edge == DD_FALSE) return Scaled(0);
        auto found = counted_.find(edge);
        if (found != counted_.end()) return found->second;
        watch_.descend();
        Scaled total = fraction(diagram_.child(edge, 0)) + fraction(diagram_.child(edge, 1));
        if (!total.zero()) --total.e;
        counted_.emplace(edge, total);
        return total;
    }

    uint32_t leaf(const Scaled &yes, const Scaled &no, const Scaled &other) {
        uint8_t kinds = 0;
        if (!yes.zero()) kinds |= Value::QE;
        if (!no.zero()) kinds |= Value::E;
        if (!other.zero()) kinds |= Value::OTHER;
        if (!kinds) return Builder::FALSE_NODE;
        Scaled all = yes + no + other;
        return builder_.leaf(kinds, yes / all, (yes + no) / all);
    }

    const Diagram &diagram_;
    const std::vector<ChoiceShape> &shapes_;  // by level
    uint32_t boundary_;
    Builder &builder_;
    Watch &watch_;
    std::unordered_map<Key, uint32_t, Hash> done_;
    std::unordered_map<Dd, Scaled> counted_;
};

}  // namespace dpasp
