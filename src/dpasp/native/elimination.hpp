// Tables over groups, multiplied and summed out one group after the other: with edges of the
// circuit as entries, or with numbers where the weights are known.
#pragma once

#include <iterator>

#include "network.hpp"

namespace dpasp {

// In which order groups are eliminated.
struct Sequence {
    std::vector<uint32_t> order;     // groups
    std::vector<uint32_t> position;  // by group, in the order
    std::vector<uint32_t> states;    // by group: how many are left
};

// Goes through all combinations of states, and where each lies in several tables.
class Odometer {
  public:
    explicit Odometer(std::vector<uint32_t> sizes) : sizes_(std::move(sizes)), at_(sizes_.size()) {}

    // Follow a table: how far each variable's next state lies from the one before.
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

// For each variable, how far apart its states lie in a table over a scope.
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

// How many entries a table over a scope has.
inline double entries_over(const std::vector<uint32_t> &scope,
                           const std::vector<uint32_t> &states) {
    double product = 1;
    for (uint32_t g : scope) product *= states[g];
    return product;
}

// Both scopes together, the group that is eliminated first as the last.
inline std::vector<uint32_t> join_scopes(const std::vector<uint32_t> &a,
                                         const std::vector<uint32_t> &b,
                                         const std::vector<uint32_t> &position) {
    std::vector<uint32_t> both;
    std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both),
                   [&](uint32_t x, uint32_t y) { return position[x] > position[y]; });
    return both;
}

// What all tables sum to, and what each state of each group contributes to it.
template <class Number> struct Marginals {
    Number total = 1;
    int64_t exponent = 0;                     // all numbers are to be multiplied by this power of 2
    std::vector<std::vector<Number>> groups;  // by group and state; empty if it has one state
    bool lossy = false;                       // doubles ended on the way to the total
};

// Whether there is anything with a weight, in place of the sum of weights.
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

// The largest of numbers in place of their sum; all are kept as logarithms.
struct Largest {
    double log;
    Largest(double number = 0) : log(std::log(number)) {}  // NOLINT: meant to be implicit
    Largest &operator*=(const Largest &o) { return log += o.log, *this; }
    Largest &operator+=(const Largest &o) { return log = std::max(log, o.log), *this; }
    friend Largest operator*(Largest a, const Largest &b) { return a *= b; }
    friend Largest operator+(Largest a, const Largest &b) { return a += b; }
    bool operator==(const Largest &o) const { return log == o.log; }
};

// The logarithm of the largest product of entries, one of each table, and the states that have it.
// Where it is only bounded, no product is above it, and `found` is that of the states.
struct Maximum {
    double log = -INFINITY, found = -INFINITY;
    std::vector<std::vector<uint32_t>> ties;  // each by group: its state
};

// How to maximise.
struct Goal {
    size_t ties = 0;                // of the best, at most; 0 for sums alone
    bool sums = false;              // over the groups that the asks do not tell apart
    bool bounded = false;           // what is too large to be exact is bounded
    std::vector<uint8_t> late = {};  // by group: what the maximum is over, where there are sums
    double room = INFINITY;         // entries of a table, above which its bucket is divided
};

// Elimination with numbers in place of edges: where tables are large, most of its work is to make
// nodes that nobody asks for again. Under weights that are given no node is made. With `Number`
// double, Scaled where doubles end, Possible, or Largest.
template <class Number> class Summing {
  public:
    // `channel` says which of its two numbers a leaf is worth.
    Summing(const Builder &builder, const std::vector<double> &weights, double Value::*channel);

    // The product of all tables with all groups summed out, and with `all` the way back: the
    // derivative by every entry gives the marginals. `more` are tables over one group, if any.
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

// The largest product, and some of the combinations that have it: elimination with a maximum in
// place of sums, and the way back along the states that attain it. In an order in which not all sums
// come first, or with divided buckets, it is a bound (Dechter & Rish, Mini-buckets, 2003).
Maximum maximum(const std::vector<TableOver<Largest>> &tables, const Sequence &sequence,
                const Goal &goal, Watch &watch);

// Eliminate the groups of a network one by one, along a tree.
//
// Evidence is asserted first: states that contradict it are struck out, and what neither it nor
// the query depends on is left out. The tables that mention a group are multiplied, the group
// is summed out, and what is left is a table over its neighbours. The entries are edges of the
// circuit; zeros are not stored, equal entries are the same node. What it costs, the sum of the
// sizes of these tables, is known before anything is done.

// A network whose variables are to be eliminated.
struct Outline {
    std::vector<uint32_t> states;  // by variable: how many it has
    std::vector<std::vector<uint32_t>> scopes;  // of its tables
    std::vector<uint8_t> late;  // by variable: whether it comes after all that are not
};

struct EliminationOrder {
    std::vector<uint32_t> variables;
    double cost = 0;     // the sizes of all tables together
    double largest = 0;  // of one table
};

// What the entries of the tables will be: numbers take far less time than nodes, so that fewer
// orders are worth trying, and all entries take the same.
enum class EntryKind { Nodes, Numbers };

// The best of several greedy orders: few new neighbours, or small tables. Large tables are worth
// more attempts, unless none comes near `most`: then the order is cut short, and its cost is
// infinite.
EliminationOrder order_elimination(const Outline &outline, EntryKind kind, double most,
                                   Watch &watch);

// What the total choices weigh that satisfy the evidence, by whether the query holds in them.
struct Share {
    Scaled holds, fails;
};

class Restriction;

class Elimination {
  public:
    explicit Elimination(const Job &job);

    bool grouped() const { return heads_.grouped; }
    // Find the groups and an order for each ask; the cost is known then, or infinite where it is
    // far more than `most`.
    void prepare(double most);
    double cost() const { return cost_; }
    bool numbered() const { return numbered_; }  // it ended in numbers: the weights were used
    uint32_t width() const { return width_; }    // bits of the largest table
    // One root an ask; throws Stopped(Size) if it outgrows the budget.
    std::vector<uint32_t> run();
    // In numbers, for asks of at most one literal under the same evidence: all of them by one
    // elimination and its way back. Its cost is known once it is prepared.
    void prepare_together(double most, const Goal &goal);
    std::vector<Share> shares();
    // The largest weight of what the asks tell apart; `ties` are by ask whether the query holds.
    Maximum largest();

  private:
    // What is left of the network under one ask, and the order in which to eliminate it.
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
    std::vector<Reading> left_;  // by ask, of what the evidence leaves of a group; together only
    Goal goal_;
    double cost_ = 0;
    uint32_t width_ = 0;
    bool numbered_ = false;
    std::vector<uint8_t>
        doubtful_;  // by share, and whether it holds: it is near the end of doubles
    bool lossy_ = false;  // doubles ended on the way to the total

    Task task(const Ask &ask, double most);
    // What the evidence and the constraints leave of all that an ask depends on.
    Restriction restriction(const Ask &ask) const;
    // Make groups of what the asks tell apart: those that the maximum is over.
    void mark();
    // Find an order, and what is left of the tables.
    void arrange(Task &task, const Restriction &restriction, EntryKind kind, double most);
    // Change the states of marked groups one by one as long as what is summed up then is more.
    void climb(Maximum &best);
    Edge eliminate(Task &task);
    // The answer as a leaf where the weights are known and there is much to do; else nothing.
    std::optional<Edge> number(const Task &task);
    template <class Number> std::vector<Share> shares_in();
    uint32_t root(const Ask &ask, Edge found, uint32_t consistent);
};

}  // namespace dpasp
