#include "circuit.hpp"

#include <algorithm>
#include <stdexcept>

namespace dpasp {
namespace {

// Reads the rows one after the other. Of each choice it holds the nodes of the values that are
// complete under the present prefix; there is no recursion, however many choices there are.
class Folder {
  public:
    Folder(const Enumerated &table, Builder &builder, Watch &watch)
        : table_(table), builder_(builder), watch_(watch) {
        differs_.reserve(table.rows);
        for (size_t row = 0; row < table.rows; ++row) differs_.push_back(check(row));
    }

    uint32_t fold(size_t question) {
        uint32_t node = Builder::FALSE_NODE;
        open_.clear();
        for (const ChoiceShape &shape : table_.shapes)
            open_.emplace_back(shape.values, Builder::FALSE_NODE);
        for (size_t row = 0; row < table_.rows; ++row) {
            bool last = row + 1 == table_.rows;
            node = leaf(row, question);
            // From here on the next row has other values: what lies deeper is complete.
            size_t first = last ? 0 : differs_[row + 1] + 1;
            for (size_t choice = table_.shapes.size(); choice-- > first;) {
                open_[choice][value(row, choice)] = node;
                node = close(choice);
            }
            if (!last) open_[first - 1][value(row, first - 1)] = node;
        }
        return node;
    }

  private:
    const Enumerated &table_;
    Builder &builder_;
    Watch &watch_;
    std::vector<size_t> differs_;              // by row: the first choice that the row changes
    std::vector<std::vector<uint32_t>> open_;  // by choice: a node for each value

    uint32_t value(size_t row, size_t choice) const {
        return uint32_t(table_.values[row * table_.shapes.size() + choice]);
    }

    size_t check(size_t row) const {
        size_t n = table_.shapes.size();
        const int64_t *mine = table_.values + row * n;
        for (size_t i = 0; i < n; ++i) {
            watch_.check();
            if (mine[i] < 0 || mine[i] >= int64_t(table_.shapes[i].values))
                throw std::invalid_argument("a total choice has a value that there is not");
        }
        if (row == 0) return 0;
        size_t i = 0;
        while (i < n && mine[i] == mine[i - n]) ++i;
        if (i == n || mine[i] < mine[i - n])
            throw std::invalid_argument("the total choices are not in lexicographic order");
        return i;
    }

    uint32_t close(size_t choice) {
        watch_.check();
        uint32_t node = builder_.decision(table_.shapes[choice].leaf, open_[choice]);
        std::fill(open_[choice].begin(), open_[choice].end(), Builder::FALSE_NODE);
        return node;
    }

    uint32_t leaf(size_t row, size_t question) {
        const double *counts = table_.counts + (row * table_.questions + question) * 3;
        double all = counts[0] + counts[1] + counts[2];
        Value result;
        for (int k = 0; k < 3; ++k)
            if (counts[k] > 0) result.kinds |= uint8_t(1 << k);
        if (!result.kinds) return Builder::FALSE_NODE;
        result.qe = counts[0] / all;
        result.e = (counts[0] + counts[1]) / all;
        return builder_.leaf(result);
    }
};

}  // namespace

Circuit fold(const Enumerated &table, Watch &watch) {
    Builder builder;
    Folder folder(table, builder, watch);
    std::vector<uint32_t> roots;
    uint32_t weights = 0;
    for (const ChoiceShape &shape : table.shapes) weights += shape.values;
    for (size_t k = 0; k < table.questions; ++k) roots.push_back(folder.fold(k));
    return Circuit::gather(builder, roots, weights, watch);
}

namespace {

// The nodes of a case in the builder; gives back its roots there.
std::vector<uint32_t> copy(const CaseCircuit &one, uint32_t weights, Builder &builder,
                           Watch &watch) {
    const Circuit &circuit = *one.circuit;
    for (uint32_t leaf = 0; leaf < circuit.weights; ++leaf)
        if (one.leaves[leaf] < 0 || one.leaves[leaf] >= int64_t(weights))
            throw std::invalid_argument("a case has a leaf that there is not");
    auto rename = [&](Edge &edge) {
        if (edge.weight != ONE) edge.weight = int32_t(one.leaves[edge.weight]);
    };
    return builder.copy(circuit, circuit.roots, rename, watch);
}

void check(const Decision &decision, size_t known, uint32_t weights) {
    if (decision.children.empty() || decision.first + decision.children.size() > weights)
        throw std::invalid_argument("a decision about a choice that there is not");
    for (int64_t child : decision.children)
        if (child != NO_CASE && (child < 0 || child >= int64_t(known)))
            throw std::invalid_argument("a decision before what it decides about");
}

}  // namespace

Circuit join(const std::vector<CaseCircuit> &cases, const std::vector<Decision> &decisions,
             uint32_t weights, Watch &watch) {
    if (cases.empty() || (decisions.empty() && cases.size() > 1))
        throw std::invalid_argument("cases that nothing joins");
    Builder builder;
    std::vector<std::vector<uint32_t>> roots;  // of the cases, then of the decisions
    for (const CaseCircuit &one : cases) {
        roots.push_back(copy(one, weights, builder, watch));
        if (roots.back().size() != roots[0].size())
            throw std::invalid_argument("cases with other questions");
    }
    std::vector<uint32_t> children;
    for (const Decision &decision : decisions) {
        watch.check();
        check(decision, roots.size(), weights);
        std::vector<uint32_t> joined;
        for (size_t question = 0; question < roots[0].size(); ++question) {
            children.clear();
            for (int64_t child : decision.children)
                children.push_back(child == NO_CASE ? Builder::FALSE_NODE
                                                    : roots[size_t(child)][question]);
            joined.push_back(builder.decision(decision.first, children));
        }
        roots.push_back(std::move(joined));
    }
    Circuit circuit = Circuit::gather(builder, roots.back(), weights, watch);
    circuit.total = true;
    for (const CaseCircuit &one : cases) circuit.total = circuit.total && one.circuit->total;
    return circuit;
}

std::vector<uint32_t> weigh_coins(const Builder &from, const std::vector<uint32_t> &roots,
                                  uint32_t first, Builder &to, Watch &watch) {
    // Values of two kinds, so that their numbers count and not their kinds.
    uint32_t halves[] = {to.leaf({Value::QE | Value::E, 0.5, 0.5}),
                         to.leaf({Value::QE | Value::E, 0.5, 0.5, false})};
    auto weigh = [&](Edge &edge) {
        if (edge.weight == ONE || uint32_t(edge.weight) < first) return;
        edge.child = to.product(halves[(uint32_t(edge.weight) - first) % 2], edge.child);
        edge.weight = ONE;
    };
    return to.copy(from, roots, weigh, watch);
}

}  // namespace dpasp
