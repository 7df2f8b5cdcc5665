// Elimination with numbers in place of edges: what is asked under weights that are known.
//
// Where tables are large, most of the work of elimination is to make nodes that nobody asks for
// again. With weights that are given, an entry is a number, and no node is made.
#pragma once

#include "groups.hpp"
#include "scaled.hpp"

namespace dpasp {

// What all tables sum to, and what each state of each group contributes to it.
template <class Number> struct Marginals {
    Number total = 1;
    std::vector<std::vector<Number>> groups;  // by group and state; empty if it has one state
};

// With `Number` double, or Scaled where doubles end.
template <class Number> class Summing {
  public:
    // `channel` says which of its two numbers a leaf is worth.
    Summing(const Builder &builder, const std::vector<double> &weights, double Value::*channel);

    // The product of all tables with all groups summed out, in the order.
    Number eliminate(const std::vector<Factor> &factors, const std::vector<uint32_t> &order,
                     const std::vector<uint32_t> &position, const std::vector<uint32_t> &states,
                     Watch &watch);

    // The same, and the way back: the derivative by every entry gives the marginals.
    Marginals<Number> marginals(const std::vector<Factor> &factors, const std::vector<uint32_t> &order,
                        const std::vector<uint32_t> &position, const std::vector<uint32_t> &states,
                        Watch &watch) const;

    struct Table {
        std::vector<uint32_t> scope;
        std::vector<Number> entries;
    };

  private:
    Table table(const Factor &factor) const;

    const std::vector<double> &weights_;
    std::vector<Number> worth_;  // by node

    Number worth(const Edge &edge) const {
        return edge.weight == ONE ? worth_[edge.child]
                                  : Number(weights_[size_t(edge.weight)]) * worth_[edge.child];
    }
    static Table multiply(const Table &a, const Table &b, const std::vector<uint32_t> &position,
                          const std::vector<uint32_t> &states, bool sum, Watch &watch);
};

}  // namespace dpasp
