// The circuit: sums over values of choices, products of independent parts, and value leaves.
#pragma once

#include "gates.hpp"
#include "scaled.hpp"

namespace dpasp {

// Which kinds of models a total choice has, and their shares.
struct Value {
    enum : uint8_t { QE = 1, E = 2, OTHER = 4, UNCOUNTED = 8 };  // q and e hold; e only; not e
    uint8_t kinds = 0;                                           // 0: no model
    double qe = 0, e = 0;                                        // N_qe / N and N_e / N
    bool counted = true;  // in the consistent mass, unless another leaf counts for it

    uint8_t packed() const { return uint8_t(kinds | (counted ? 0 : UNCOUNTED)); }
    bool operator==(const Value &o) const {
        return kinds == o.kinds && qe == o.qe && e == o.e && counted == o.counted;
    }
};

constexpr int32_t ONE = -1;  // the weight of an edge without one

struct Edge {
    int32_t weight;  // index of a leaf weight, or ONE
    uint32_t child;
    bool operator==(const Edge &o) const { return weight == o.weight && child == o.child; }
};

enum class Op : uint8_t { Leaf, Sum, Product };

struct Node {
    Op op;
    uint32_t begin, end;  // Leaf: begin is the number of its value; otherwise, its edges
};

constexpr size_t MOST = UINT32_MAX;  // nodes, and edges: their numbers have 32 bits

// Makes nodes, never two that are equal. Children come before parents.
class Builder {
  public:
    explicit Builder(size_t most = MOST);
    static constexpr uint32_t FALSE_NODE = 0, TRUE_NODE = 1;

    std::vector<Node> nodes;
    std::vector<Edge> edges;
    std::vector<Value> values;

    uint32_t leaf(const Value &value);
    // A leaf whose shares may be too small for doubles; then it becomes a product of several.
    uint32_t leaf(uint8_t kinds, Scaled qe, Scaled e);
    uint32_t sum(std::vector<Edge> edges);
    uint32_t sum(const Edge *edges, size_t count);  // no edge to the false node
    uint32_t product(uint32_t a, uint32_t b);
    // One child for each value of a choice whose first weight is `first`.
    uint32_t decision(uint32_t first, const std::vector<uint32_t> &children);

    // Copies all nodes below the roots of another builder, or of a circuit, in their order.
    // `change` may change the weight and the child of an edge, once its child has been copied.
    // Returns the roots here.
    template <class Nodes, class Change>
    std::vector<uint32_t> copy(const Nodes &from, std::vector<uint32_t> roots, const Change &change,
                               Watch &watch);
    // The same without changes, from a builder that is not needed any more.
    std::vector<uint32_t> take(Builder &&other, std::vector<uint32_t> roots, Watch &watch);

  private:
    // A node and the upper half of its hash, which usually tells that it is a different one.
    struct Slot {
        uint32_t hash, node;  // node 0 is free
    };

    uint32_t find(Op op, const Edge *edges, size_t count);
    static uint32_t hash(Op op, const Edge *edges, size_t count);
    void grow();
    void make_room(size_t new_edges) const;  // for one more node; throws Stopped(Size)

    size_t most_;              // nodes, and edges
    std::vector<Slot> slots_;  // in the order of hashes, open addressing
    int shift_ = 22;           // a hash, shifted right by this, is its place
    std::vector<Edge> scratch_;
    std::unordered_multimap<uint64_t, uint32_t> leaves_;
};

template <class Nodes, class Change>
std::vector<uint32_t> Builder::copy(const Nodes &from, std::vector<uint32_t> roots,
                                    const Change &change, Watch &watch) {
    std::vector<uint32_t> place(from.nodes.size(), 0);
    for (uint32_t root : roots) place[root] = 1;  // needed
    for (size_t i = from.nodes.size(); i-- > 0;) {
        watch.check();
        const Node &node = from.nodes[i];
        if (place[i] && node.op != Op::Leaf)
            for (uint32_t e = node.begin; e < node.end; ++e) place[from.edges[e].child] = 1;
    }
    std::vector<Edge> list;
    for (size_t i = 0; i < place.size(); ++i) {
        watch.check();
        if (!place[i]) continue;
        const Node &node = from.nodes[i];
        if (node.op == Op::Leaf) {
            place[i] = leaf(from.values[node.begin]);
            continue;
        }
        list.assign(from.edges.begin() + node.begin, from.edges.begin() + node.end);
        for (Edge &edge : list) edge.child = place[edge.child], change(edge);
        place[i] = node.op == Op::Sum ? sum(list.data(), list.size())
                                      : product(list[0].child, list[1].child);
    }
    for (uint32_t &root : roots) root = place[root];
    return roots;
}

// The nodes below the roots, in layers.
struct Circuit {
    uint32_t weights = 0;  // the number of leaf weights
    std::vector<Node> nodes;
    std::vector<Edge> edges;
    std::vector<Value> values;
    std::vector<uint32_t> layers;  // where each layer of nodes starts, and the end
    std::vector<uint32_t> roots;   // one for each question
    bool total = false;            // whether every total choice certainly has a model
    bool definite = true;          // whether the models of a total choice are always of one kind

    static Circuit gather(const Builder &builder, const std::vector<uint32_t> &roots,
                          uint32_t weights, Watch &watch);
    std::vector<char> to_bytes() const;
    static Circuit from_bytes(const char *data, size_t size);  // throws std::runtime_error
    bool valid() const;

  private:
    void take(const Builder &builder, const Node &node, const std::vector<uint32_t> &place);
};

// Total choices in lexicographic order; missing ones have no models.
struct Enumerated {
    std::vector<ChoiceShape> shapes;
    size_t rows = 0, questions = 0;
    const int64_t *values = nullptr;  // [rows, choices]
    const double *counts = nullptr;   // [rows, questions, 3]: q and e, e only, not e
};

// Throws std::invalid_argument for an invalid table.
Circuit fold(const Enumerated &table, Watch &watch);

// The circuit of a case of a program; `leaves` maps its leaf weights to those of the whole.
struct CaseCircuit {
    const Circuit *circuit;
    const int64_t *leaves;
};

// A decision by the value of a choice, whose leaf weights begin at `first`. For each value, the
// child is the number of a case or of an earlier decision (numbered after the cases), or NO_CASE.
struct Decision {
    uint32_t first;
    std::vector<int64_t> children;
};

constexpr int64_t NO_CASE = -1;  // a value that the choice never has

// The last decision is the root; without decisions, it is the only case. All cases have the same
// number of questions. Throws std::invalid_argument for invalid arguments.
Circuit join(const std::vector<CaseCircuit> &cases, const std::vector<Decision> &decisions,
             uint32_t weights, Watch &watch);

// The same circuit, with the weight 1/2 for the leaves from `first` on, those of coins (see toss).
// Only the first value of a coin counts for the consistent mass, as it is the same for the other.
std::vector<uint32_t> weigh_coins(const Builder &from, const std::vector<uint32_t> &roots,
                                  uint32_t first, Builder &to, Watch &watch);

// Evaluation: all masses of all questions in one pass, and their gradients.

constexpr int FIELDS = 7;  // consistent, a, b, c, d, qe, e

struct Request {
    uint32_t fields = (1u << FIELDS) - 1;  // a bit for each field to compute
    bool log = false;                      // logarithms of masses, and their gradients
    int threads = 1;
    bool of_logs = false;  // with log: the weights are logarithms, as for the gradient
};

// The weights of all leaves, [leaves, batch]: each column is one evaluation.
struct Columns {
    const double *weights;
    size_t batch;
};

// `slopes`, [leaves, batch], receives the gradient of sum(seeds * out). With `directions`,
// [leaves, batch], the masses and the gradient are derivatives along them: the gradient becomes the
// Hessian times the directions.
struct Slopes {
    const double *seeds;
    double *slopes;
    const double *directions = nullptr;
};

// `out` is [questions, FIELDS, batch] (NaN if not requested). Every column is computed separately,
// so that neither threads nor other columns change a single bit of a result.
void evaluate(const Circuit &circuit, const Columns &columns, const Request &request,
              const Slopes *slopes, double *out, const Watch &watch);

// The approximate number of multiplications of an evaluation.
double evaluation_work(const Circuit &circuit, size_t batch);

}  // namespace dpasp
