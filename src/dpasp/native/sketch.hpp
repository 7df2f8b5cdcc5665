// What a search leaves behind: a circuit for all questions at once. What depends on the
// question is only named in it, and filled in when the circuit of one question is made.
#pragma once

#include <unordered_map>
#include <vector>

#include "circuit.hpp"

namespace dpasp {

class Sketch {
  public:
    // Weight: a leaf weight. Track: a literal that may break questions. Count: numbers of models.
    enum class Op : uint8_t { False, True, Sum, Product, Weight, Track, Count };

    struct Node {
        Op op;
        uint32_t first, second;  // Sum: its children lie there; Product: its two children
                                 // else: which weight, literal or count, and the child
    };

    struct Factor {
        Op op;
        uint32_t which;
        bool operator<(const Factor &o) const { return op != o.op ? op < o.op : which < o.which; }
    };

    static constexpr uint32_t FALSE_NODE = 0, TRUE_NODE = 1;

    explicit Sketch(size_t most) : most_(most) {}

    uint32_t sum(std::vector<uint32_t> children);
    uint32_t product(uint32_t a, uint32_t b);
    uint32_t times(Factor factor, uint32_t node);

    size_t size() const { return nodes_.size(); }
    const Node &operator[](uint32_t id) const { return nodes_[id]; }
    const uint32_t *begin(const Node &sum) const { return children_.data() + sum.first; }
    const uint32_t *end(const Node &sum) const { return children_.data() + sum.second; }

  private:
    uint32_t find(Op op, uint32_t first, uint32_t second);
    void refuse_more() const;  // throws Stopped(Size) where there is no room

    size_t most_;
    std::vector<Node> nodes_{{Op::False, 0, 0}, {Op::True, 0, 0}};
    std::vector<uint32_t> children_;
    std::unordered_multimap<uint64_t, uint32_t> table_;
};

}  // namespace dpasp
