#include "sketch.hpp"

#include <algorithm>

#include "hashing.hpp"
#include "limits.hpp"

namespace dpasp {

uint32_t Sketch::sum(std::vector<uint32_t> children) {
    children.erase(std::remove(children.begin(), children.end(), FALSE_NODE), children.end());
    if (children.empty()) return FALSE_NODE;
    if (children.size() == 1) return children[0];
    std::sort(children.begin(), children.end());
    auto hash = uint64_t(Op::Sum);
    for (uint32_t child : children) hash = combine(hash, child);
    auto [from, to] = table_.equal_range(hash);
    for (; from != to; ++from) {
        const Node &node = nodes_[from->second];
        if (node.op == Op::Sum &&
            std::equal(begin(node), end(node), children.begin(), children.end()))
            return from->second;
    }
    refuse_more();
    auto id = uint32_t(nodes_.size()), start = uint32_t(children_.size());
    children_.insert(children_.end(), children.begin(), children.end());
    nodes_.push_back({Op::Sum, start, uint32_t(children_.size())});
    table_.emplace(hash, id);
    return id;
}

uint32_t Sketch::product(uint32_t a, uint32_t b) {
    if (a == FALSE_NODE || b == FALSE_NODE) return FALSE_NODE;
    if (a == TRUE_NODE) return b;
    if (b == TRUE_NODE) return a;
    return find(Op::Product, std::min(a, b), std::max(a, b));
}

uint32_t Sketch::times(Factor factor, uint32_t node) {
    return node == FALSE_NODE ? FALSE_NODE : find(factor.op, factor.which, node);
}

uint32_t Sketch::find(Op op, uint32_t first, uint32_t second) {
    uint64_t hash = combine(uint64_t(op), (uint64_t(first) << 32) | second);
    auto [from, to] = table_.equal_range(hash);
    for (; from != to; ++from) {
        const Node &node = nodes_[from->second];
        if (node.op == op && node.first == first && node.second == second) return from->second;
    }
    refuse_more();
    auto id = uint32_t(nodes_.size());
    nodes_.push_back({op, first, second});
    table_.emplace(hash, id);
    return id;
}

void Sketch::refuse_more() const {
    if (nodes_.size() >= most_ || children_.size() > UINT32_MAX / 2)
        throw Stopped(Reason::Size, "a search of more nodes than were allowed");
}

}  // namespace dpasp
