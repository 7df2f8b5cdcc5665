// The circuit: sums over values of choices, products of independent parts, and value leaves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "limits.hpp"
#include "scaled.hpp"

namespace dpasp {

// Which kinds of models there are once everything is decided, and their shares.
struct Value {
    enum : uint8_t { QE = 1, E = 2, OTHER = 4, UNCOUNTED = 8 };  // q and e hold; e only; not e
    uint8_t kinds = 0;                                           // 0: no model
    double qe = 0, e = 0;                                        // N_qe / N and N_e / N
    bool counted =
        true;  // whether it counts for the consistent mass, or something else does for it

    uint8_t packed() const { return uint8_t(kinds | (counted ? 0 : UNCOUNTED)); }
    bool operator==(const Value &o) const {
        return kinds == o.kinds && qe == o.qe && e == o.e && counted == o.counted;
    }
};

constexpr int32_t ONE = -1;  // the weight of an edge that has none

struct Edge {
    int32_t weight;  // index of a leaf weight, or ONE
    uint32_t child;
    bool operator==(const Edge &o) const { return weight == o.weight && child == o.child; }
};

enum class Op : uint8_t { Leaf, Sum, Product };

struct Node {
    Op op;
    uint32_t begin, end;  // Leaf: begin is the number of its value; else its edges
};

constexpr size_t MOST = UINT32_MAX;  // nodes, and edges: they are numbered

// Makes nodes, each only once. Children come before parents.
class Builder {
  public:
    explicit Builder(size_t most = MOST);
    static constexpr uint32_t FALSE_NODE = 0, TRUE_NODE = 1;

    std::vector<Node> nodes;
    std::vector<Edge> edges;
    std::vector<Value> values;

    uint32_t leaf(const Value &value);
    // A leaf with shares that may be too small for doubles: then it is a product of several.
    uint32_t leaf(uint8_t kinds, Scaled qe, Scaled e);
    uint32_t sum(std::vector<Edge> edges);
    uint32_t sum(const Edge *edges, size_t count);  // none of them to the false node
    uint32_t product(uint32_t a, uint32_t b);
    // This product will be asked for soon: fetch its place from memory meanwhile.
    void expect_product(uint32_t a, uint32_t b) const;
    // One child for each value of a choice whose first weight is `first`.
    uint32_t decision(uint32_t first, const std::vector<uint32_t> &children);

    // What is below the roots of another builder, in the order in which it was made there; gives
    // back the roots here.
    std::vector<uint32_t> take(Builder &&other, std::vector<uint32_t> roots, Watch &watch);

  private:
    // A node and the upper half of its hash, which says most often that it is not the right one.
    struct Slot {
        uint32_t hash, node;  // node 0 is free
    };

    uint32_t find(Op op, const Edge *edges, size_t count);
    static uint32_t hash(Op op, const Edge *edges, size_t count);
    void grow();
    void make_room(size_t new_edges) const;  // for one more node; throws Stopped(Size)

    size_t most_;              // nodes, and edges
    std::vector<Slot> slots_;  // in the order of hashes, open addressing
    int shift_ = 22;           // the place of a hash is what is left of it then
    std::vector<Edge> scratch_;
    std::unordered_multimap<uint64_t, uint32_t> leaves_;
};

// What is left when only the nodes below the roots are kept, in layers.
struct Circuit {
    uint32_t weights = 0;  // how many leaf weights
    std::vector<Node> nodes;
    std::vector<Edge> edges;
    std::vector<Value> values;
    std::vector<uint32_t> layers;  // where each layer of nodes starts, and the end
    std::vector<uint32_t> roots;   // one for each question
    bool total = false;            // every total choice has a model, surely
    bool definite = true;          // every value is of one kind: one model matters per choice

    static Circuit gather(const Builder &builder, const std::vector<uint32_t> &roots,
                          uint32_t weights, Watch &watch);
    std::vector<char> to_bytes() const;
    static Circuit from_bytes(const char *data, size_t size);  // throws std::runtime_error
    bool valid() const;

  private:
    void take(const Builder &builder, const Node &node, const std::vector<uint32_t> &place);
};

}  // namespace dpasp
