// Variable elimination: tables over groups are multiplied and summed out, one group after another.
// Entries are edges of the circuit, or numbers if the weights are known.
#pragma once

#include <iterator>

#include "network.hpp"

namespace dpasp {

// The order in which groups are eliminated.
struct Sequence {
    std::vector<uint32_t> order;     // groups
    std::vector<uint32_t> position;  // by group, in the order
    std::vector<uint32_t> states;    // by group: how many remain
};

// Goes through all combinations of states, with their places in several tables.
class Odometer {
  public:
    explicit Odometer(std::vector<uint32_t> sizes) : sizes_(std::move(sizes)), at_(sizes_.size()) {}

    // Adds a table, given the distance between consecutive states of each variable.
    void follow(std::vector<size_t> steps) {
        places.push_back(0);
        steps_.push_back(std::move(steps));
    }

    std::vector<size_t> places;  // by table
    const std::vector<uint32_t> &states() const { return at_; }

    bool next() {
        for (size_t i = sizes_.size(); i-- > 0;) {
            if (++at_[i] < sizes_[i]) {
                for (size_t t = 0; t < places.size(); ++t) places[t] += steps_[t][i];
                return true;
            }
            for (size_t t = 0; t < places.size(); ++t) places[t] -= steps_[t][i] * (sizes_[i] - 1);
            at_[i] = 0;
        }
        return false;
    }

  private:
    std::vector<uint32_t> sizes_, at_;
    std::vector<std::vector<size_t>> steps_;
};

// For each variable, the distance between consecutive states in a table over a scope.
inline std::vector<size_t> strides(const std::vector<uint32_t> &variables,
                                   const std::vector<uint32_t> &scope,
                                   const std::vector<uint32_t> &states) {
    std::vector<size_t> result(variables.size(), 0);
    size_t step = 1;
    for (size_t i = scope.size(); i-- > 0; step *= states[scope[i]])
        for (size_t j = 0; j < variables.size(); ++j)
            if (variables[j] == scope[i]) result[j] = step;
    return result;
}

inline std::vector<uint32_t> sizes_of(const std::vector<uint32_t> &scope,
                                      const std::vector<uint32_t> &states) {
    std::vector<uint32_t> result;
    for (uint32_t g : scope) result.push_back(states[g]);
    return result;
}

// The number of entries of a table over a scope.
inline double entries_over(const std::vector<uint32_t> &scope,
                           const std::vector<uint32_t> &states) {
    double product = 1;
    for (uint32_t g : scope) product *= states[g];
    return product;
}

// The union of two scopes; the group that is eliminated first comes last.
inline std::vector<uint32_t> join_scopes(const std::vector<uint32_t> &a,
                                         const std::vector<uint32_t> &b,
                                         const std::vector<uint32_t> &position) {
    std::vector<uint32_t> both;
    std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both),
                   [&](uint32_t x, uint32_t y) { return position[x] > position[y]; });
    return both;
}

// The sum over all tables, and the contribution of each state of each group.
template <class Number> struct Marginals {
    Number total = 1;
    int64_t exponent = 0;                     // all numbers are scaled by this power of 2
    std::vector<std::vector<Number>> groups;  // by group and state; empty if it has one state
    bool lossy = false;                       // the total may have lost digits as doubles ended
};

// Says whether a sum of weights is positive.
struct Possible {
    bool is;
    Possible(double number = 0) : is(number != 0) {}            // NOLINT: meant to be implicit
    operator Scaled() const { return Scaled(is ? 1.0 : 0.0); }  // NOLINT: likewise
    Possible &operator*=(const Possible &o) { return is = is && o.is, *this; }
    Possible &operator+=(const Possible &o) { return is = is || o.is, *this; }
    friend Possible operator*(Possible a, const Possible &b) { return a *= b; }
    friend Possible operator+(Possible a, const Possible &b) { return a += b; }
    bool operator==(const Possible &o) const { return is == o.is; }
};

// Takes the maximum instead of the sum; numbers are kept as logarithms.
struct Largest {
    double log;
    Largest(double number = 0) : log(std::log(number)) {}  // NOLINT: meant to be implicit
    Largest &operator*=(const Largest &o) { return log += o.log, *this; }
    Largest &operator+=(const Largest &o) { return log = std::max(log, o.log), *this; }
    friend Largest operator*(Largest a, const Largest &b) { return a *= b; }
    friend Largest operator+(Largest a, const Largest &b) { return a += b; }
    bool operator==(const Largest &o) const { return log == o.log; }
};

// The logarithm of the largest product of entries, one of each table, and the states that attain
// it. If it is only an upper bound, `found` is the logarithm for the states.
struct Maximum {
    double log = -INFINITY, found = -INFINITY;
    std::vector<std::vector<uint32_t>> ties;  // each by group: its state
};

// How to maximise.
struct Goal {
    size_t ties = 0;                 // the most ties to find; 0: there are only sums
    bool sums = false;               // sum over the groups that the asks do not distinguish
    bool bounded = false;            // bound what is too large to be exact
    std::vector<uint8_t> late = {};  // by group: whether to maximise over it, if there are sums
    double room = INFINITY;          // the most entries of a table; larger buckets are divided
};

// Elimination with numbers instead of edges: if tables are large, most of the work of elimination
// is making nodes that are used only once. `Number` is double, Scaled if doubles end, Possible, or
// Largest.
template <class Number> class Summing {
  public:
    // `channel` says which of its two numbers is the value of a leaf.
    Summing(const Builder &builder, const std::vector<double> &weights, double Value::*channel);

    // The product of all tables with all groups summed out. With `all`, the backward pass gives the
    // marginals: the derivatives by all entries. `more` are tables over one group, if any.
    Marginals<Number> marginals(const std::vector<Factor> &factors, const Sequence &sequence,
                                bool all, Watch &watch,
                                const std::vector<std::vector<double>> &more = {}) const;
    TableOver<Number> table(const Factor &factor) const;

  private:
    const std::vector<double> &weights_;
    std::vector<Number> worth_;  // by node

    Number worth(const Edge &edge) const {
        return edge.weight == ONE ? worth_[edge.child]
                                  : Number(weights_[size_t(edge.weight)]) * worth_[edge.child];
    }
};

// The largest product, and some of the combinations that attain it: elimination with maxima instead
// of sums, then back along the states that attain them. If not all sums come first in the order, or
// with divided buckets, it is an upper bound (Dechter & Rish, Mini-buckets, 2003).
Maximum maximum(const std::vector<TableOver<Largest>> &tables, const Sequence &sequence,
                const Goal &goal, Watch &watch);

// A network whose variables are to be eliminated.
struct Outline {
    std::vector<uint32_t> states;               // by variable: how many it has
    std::vector<std::vector<uint32_t>> scopes;  // of its tables
    std::vector<uint8_t> late;  // by variable: whether it comes after all that are not late
};

struct EliminationOrder {
    std::vector<uint32_t> variables;
    double cost = 0;     // the total size of all tables
    double largest = 0;  // the size of the largest table
};

// The kind of entries of the tables: numbers take much less time than nodes, and all the same, so
// that fewer orders are worth trying.
enum class EntryKind { Nodes, Numbers };

// The best of several greedy orders, by few new neighbours or small tables. Large tables are worth
// more attempts, unless none comes near `most`: then the order is incomplete, with infinite cost.
EliminationOrder order_elimination(const Outline &outline, EntryKind kind, double most,
                                   Watch &watch);

class Restriction;

// Eliminates the groups of a network one by one, along a tree.
//
// Evidence is asserted first: states that contradict it are removed, and so is everything that
// neither evidence nor query depends on. Then the tables with a group are multiplied and the group
// is summed out, which leaves a table over its neighbours. Entries are edges of the circuit; zeros
// are not stored, and equal entries share a node. The cost, the total size of these tables, is
// known in advance.
class Elimination {
  public:
    explicit Elimination(const Job &job);

    bool grouped() const { return heads_.grouped; }
    // Finds the groups and an order for each ask. After that, the cost is known; it is infinite if
    // it is far above `most`.
    void prepare(double most);
    double cost() const { return cost_; }
    bool numbered() const { return numbered_; }  // whether the result is numbers
    uint32_t width() const { return width_; }    // bits of the largest table
    // One root for each ask; throws Stopped(Size) if it exceeds the budget.
    std::vector<uint32_t> run();
    // With numbers, for asks of at most one literal under the same evidence: the mass of each, by
    // one elimination and its backward pass.
    void prepare_together(double most, const Goal &goal);
    std::vector<Scaled> shares();
    // The largest weight of a combination of answers; `ties` say for each ask whether it holds.
    Maximum largest();

  private:
    // The network restricted to one ask, and the order in which to eliminate it.
    struct Task {
        bool possible = true;
        std::vector<Factor> factors;
        Sequence sequence;
        double cost = 0;
    };

    const Job job_;
    Builder &builder_;
    Watch &watch_;
    Arithmetic arithmetic_;
    Heads heads_;
    Network network_;
    std::vector<Task> tasks_;    // by ask, and one more for the consistent mass
    std::vector<Reading> left_;  // by ask, of the states that the evidence leaves; together only
    Goal goal_;
    double cost_ = 0;
    uint32_t width_ = 0;
    bool numbered_ = false;
    std::vector<uint8_t> doubtful_;  // by share: it may be too small for a double
    bool lossy_ = false;             // the total may have lost digits as doubles ended

    Task task(const Ask &ask, double most);
    // What the evidence and the constraints leave of everything that an ask depends on.
    Restriction restriction(const Ask &ask) const;
    // Makes groups for what the asks distinguish, to maximise over.
    void mark();
    // Finds an order, and restricts the tables.
    void arrange(Task &task, const Restriction &restriction, EntryKind kind, double most);
    // Changes the states of marked groups one by one while that increases the sum over the others.
    void climb(Maximum &best);
    Edge eliminate(Task &task);
    // The answer as a leaf if the weights are known and the tables are large; otherwise nothing.
    std::optional<Edge> number(const Task &task);
    template <class Number> std::vector<Scaled> shares_in();
    uint32_t root(const Ask &ask, Edge found, uint32_t consistent);
};

}  // namespace dpasp
