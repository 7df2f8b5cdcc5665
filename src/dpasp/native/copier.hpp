// Copies functions from a decision diagram into the circuit.
#pragma once

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "circuit.hpp"
#include "decisions.hpp"
#include "gates.hpp"
#include "hashing.hpp"
#include "scaled.hpp"

namespace dpasp {

// Three functions (yes, no, other) say which kinds of models there are, and how many.
class Copier {
  public:
    // From the level `boundary` on there are only guesses, to be counted.
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

    // How many assignments of the guesses make it true (out of all of them).
    Scaled count(Dd edge) {
        Scaled share = fraction(edge);
        share.e += share.zero() ? 0 : int64_t(shapes_.size()) - boundary_;
        return share;
    }

    // The same as a part of all assignments, so that skipped levels do not matter.
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
