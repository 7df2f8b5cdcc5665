// Elimination with numbers in place of edges: what is asked under weights that are known.
//
// Where tables are large, most of the work of elimination is to make nodes that nobody asks for
// again. With weights that are given, an entry is a number, and no node is made.
#pragma once

#include "groups.hpp"

namespace dpasp {

class Summing {
  public:
    // `channel` says which of its two numbers a leaf is worth.
    Summing(const Builder &builder, const std::vector<double> &weights, double Value::*channel);

    // The product of all tables with all groups summed out, in the order.
    double eliminate(const std::vector<Factor> &factors, const std::vector<uint32_t> &order,
                     const std::vector<uint32_t> &position, const std::vector<uint32_t> &states,
                     Watch &watch);

  private:
    struct Table {
        std::vector<uint32_t> scope;
        std::vector<double> entries;
    };

    const std::vector<double> &weights_;
    std::vector<double> worth_;  // by node

    double worth(const Edge &edge) const {
        return edge.weight == ONE ? worth_[edge.child]
                                  : weights_[size_t(edge.weight)] * worth_[edge.child];
    }
    static Table multiply(const Table &a, const Table &b, const std::vector<uint32_t> &position,
                          const std::vector<uint32_t> &states, bool sum, Watch &watch);
};

}  // namespace dpasp
