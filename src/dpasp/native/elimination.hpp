// Eliminate the groups of a network one by one, along a tree.
//
// Evidence is asserted first: states that contradict it are struck out, and what neither it nor
// the query depends on is left out. The tables that mention a group are multiplied, the group
// is summed out, and what is left is a table over its neighbours. The entries are edges of the
// circuit; zeros are not stored, equal entries are the same node. What it costs, the sum of the
// sizes of these tables, is known before anything is done.
#pragma once

#include <optional>

#include "buckets.hpp"

namespace dpasp {

// A table with numbers: 0 for zeros, 1 for ones, and otherwise equal where entries are equal.
struct NumberTable : TableOver<uint64_t> {
    bool made = false;  // by the elimination: its entries are nodes, not weights
};

// A network whose variables are to be eliminated.
struct Outline {
    std::vector<uint32_t> states;  // by variable: how many it has
    std::vector<NumberTable> tables;
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
// infinite. Orders with large tables of nodes are rehearsed, the smallest first: that which makes
// the fewest nodes is taken.
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
    void prepare_together(double most);
    std::vector<Share> shares();

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
    double cost_ = 0;
    uint32_t width_ = 0;
    bool numbered_ = false;
    bool doubtful_ = false;  // some share came near the end of doubles

    Task task(const Ask &ask, double most);
    // What the evidence and the constraints leave of all that an ask depends on.
    Restriction restriction(const Ask &ask) const;
    // Find an order, and what is left of the tables.
    void arrange(Task &task, const Restriction &restriction, EntryKind kind, double most);
    Edge eliminate(Task &task);
    // The answer as a leaf where the weights are known and there is much to do; else nothing.
    std::optional<Edge> number(const Task &task);
    template <class Number> std::vector<Share> shares_in();
    uint32_t root(const Ask &ask, Edge found, uint32_t consistent);
};

}  // namespace dpasp
