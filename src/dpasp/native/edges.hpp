// Sums and products of weighted edges: the entries of tables from which circuits are built.
#pragma once

#include <algorithm>
#include <map>
#include <vector>

#include "circuit.hpp"
#include "gates.hpp"

namespace dpasp {

constexpr Edge ZERO{ONE, Builder::FALSE_NODE}, UNIT{ONE, Builder::TRUE_NODE};
inline bool zero(const Edge &edge) { return edge.child == Builder::FALSE_NODE; }

// An entry is a node times at most one leaf weight: a weight that stays on an edge needs no node.
class Arithmetic {
  public:
    Arithmetic(Builder &builder, const Gates &gates, const std::vector<uint32_t> &choices)
        : builder_(builder), gates_(gates), before_(builder.nodes.size()) {
        for (uint32_t choice : choices) intervals_ = intervals_ || gates.choices[choice].interval;
    }

    // How many nodes were made since.
    size_t nodes() const { return builder_.nodes.size() - before_; }

    uint32_t node(const Edge &edge) {
        return edge.weight == ONE ? edge.child : builder_.sum(&edge, 1);
    }

    Edge product(const Edge &a, const Edge &b) {
        if (a.weight == ONE) return {b.weight, builder_.product(a.child, b.child)};
        if (b.weight == ONE) return {a.weight, builder_.product(a.child, b.child)};
        // A weight on its own is shared by many.
        const Edge &one = b.child == Builder::TRUE_NODE ? a : b;
        const Edge &other = b.child == Builder::TRUE_NODE ? b : a;
        return {one.weight, builder_.product(one.child, node(other))};
    }

    // This product comes soon.
    void expect(const Edge &a, const Edge &b) const {
        if (a.weight == ONE || b.weight == ONE) builder_.expect_product(a.child, b.child);
    }

    // The edges are used up.
    Edge sum(std::vector<Edge> &edges) {
        if (edges.empty()) return ZERO;
        if (edges.size() == 1) return edges[0];
        if (complete(edges)) return {ONE, edges[0].child};
        if (intervals_) separate(edges);
        return {ONE, builder_.sum(edges.data(), edges.size())};
    }

  private:
    Builder &builder_;
    const Gates &gates_;
    size_t before_;
    bool intervals_ = false;  // some of the choices have intervals

    const ChoiceShape &shape(int32_t weight) const {
        return gates_.choices[gates_.choice_of[size_t(weight)]];
    }

    const ChoiceShape *interval(const Edge &edge) const {
        if (edge.weight == ONE) return nullptr;
        const ChoiceShape &own = shape(edge.weight);
        return own.interval ? &own : nullptr;
    }

    // Extremes are looked for one choice at a time: a sum has edges of at most one interval
    // choice, so others get sums of their own.
    void separate(std::vector<Edge> &edges) {
        std::map<uint32_t, std::vector<Edge>> by_choice;
        for (const Edge &edge : edges)
            if (const ChoiceShape *own = interval(edge)) by_choice[own->leaf].push_back(edge);
        if (by_choice.size() < 2) return;
        edges.erase(std::remove_if(edges.begin(), edges.end(),
                                   [&](const Edge &edge) { return interval(edge); }),
                    edges.end());
        for (auto &[_, own] : by_choice) edges.push_back({ONE, builder_.sum(own)});
    }

    // All values of one choice lead to the same: their weights sum to 1.
    bool complete(const std::vector<Edge> &edges) const {
        if (edges[0].weight == ONE) return false;
        const ChoiceShape &first = shape(edges[0].weight);
        if (first.values != edges.size()) return false;
        for (size_t i = 0; i < edges.size(); ++i) {
            uint32_t value = uint32_t(edges[i].weight) - first.leaf;  // large if below
            if (edges[i].child != edges[0].child || value >= first.values) return false;
            for (size_t j = 0; j < i; ++j)
                if (edges[j].weight == edges[i].weight) return false;
        }
        return true;
    }
};

}  // namespace dpasp
