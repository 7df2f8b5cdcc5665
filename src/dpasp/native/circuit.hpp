// The circuit: sums over values of choices, products of independent parts, and value leaves.
#pragma once

#include "gates.hpp"
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
    // One child for each value of a choice whose first weight is `first`.
    uint32_t decision(uint32_t first, const std::vector<uint32_t> &children);

    // What is below the roots of another builder, or of a circuit, in the order in which it was
    // made there; `change` may give an edge, whose child is here by then, another weight and child.
    // Gives back the roots here.
    template <class Nodes, class Change>
    std::vector<uint32_t> copy(const Nodes &from, std::vector<uint32_t> roots, const Change &change,
                               Watch &watch);
    // The same without changes, of a builder that is used up.
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

template <class Nodes, class Change>
std::vector<uint32_t> Builder::copy(const Nodes &from, std::vector<uint32_t> roots,
                                    const Change &change, Watch &watch) {
    std::vector<uint32_t> place(from.nodes.size(), 0);
    for (uint32_t root : roots) place[root] = 1;  // it is needed
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

// Total choices in lexicographic order; those that are missing have no models.
struct Enumerated {
    std::vector<ChoiceShape> shapes;
    size_t rows = 0, questions = 0;
    const int64_t *values = nullptr;  // [rows, choices]
    const double *counts = nullptr;   // [rows, questions, 3]: q and e, e only, not e
};

// Throws std::invalid_argument where the table is not one.
Circuit fold(const Enumerated &table, Watch &watch);

// A case of a program has its own leaf weights: `leaves` says which of the joined circuit each of
// them is.
struct CaseCircuit {
    const Circuit *circuit;
    const int64_t *leaves;
};

// By how a choice fell. Its leaf weights lie from `first` on. A child, one for each value, is the
// number of a case, that of an earlier decision (they are counted after the cases), or NO_CASE.
struct Decision {
    uint32_t first;
    std::vector<int64_t> children;
};

constexpr int64_t NO_CASE = -1;  // a value that the choice never has

// The last decision is the whole; where there is none, it is the only case. All cases have as many
// questions. Throws std::invalid_argument where something does not fit.
Circuit join(const std::vector<CaseCircuit> &cases, const std::vector<Decision> &decisions,
             uint32_t weights, Watch &watch);

// The same circuit with one half in place of the leaves from `first` on, those of coins (see
// toss). For the consistent mass their first values count alone: it is the same for the others.
std::vector<uint32_t> weigh_coins(const Builder &from, const std::vector<uint32_t> &roots,
                                  uint32_t first, Builder &to, Watch &watch);

// Evaluating a circuit: all masses of all questions in one pass, and their gradients.

constexpr int FIELDS = 7;  // consistent, a, b, c, d, qe, e

struct Request {
    uint32_t fields = (1u << FIELDS) - 1;  // which of them are wanted
    bool log = false;                      // logarithms of masses, and gradients of those
    int threads = 1;
    bool of_logs = false;  // with log: the weights are logarithms, and the gradient is by those
};

// The weights of every leaf, [leaves, batch]: one column is one evaluation.
struct Columns {
    const double *weights;
    size_t batch;
};

// What is wanted besides: `slopes`, [leaves, batch], is the gradient of sum(seeds * out). With
// `directions`, [leaves, batch], the masses and the gradient are derivatives along them: the
// gradient is then the Hessian times the directions.
struct Slopes {
    const double *seeds;
    double *slopes;
    const double *directions = nullptr;
};

// `out` is [questions, FIELDS, batch] (NaN where not wanted). Every column is computed for
// itself, so that the number of threads and the columns beside it change no bit of a result.
void evaluate(const Circuit &circuit, const Columns &columns, const Request &request,
              const Slopes *slopes, double *out, const Watch &watch);

// About how many multiplications an evaluation takes.
double evaluation_work(const Circuit &circuit, size_t batch);

}  // namespace dpasp
