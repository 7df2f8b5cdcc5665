#include "join.hpp"

#include <stdexcept>

namespace dpasp {
namespace {

// The nodes of a case in the builder; gives back its roots there.
std::vector<uint32_t> copy(const CaseCircuit &one, uint32_t weights, Builder &builder,
                           Watch &watch) {
    const Circuit &circuit = *one.circuit;
    for (uint32_t leaf = 0; leaf < circuit.weights; ++leaf)
        if (one.leaves[leaf] < 0 || one.leaves[leaf] >= int64_t(weights))
            throw std::invalid_argument("a case has a leaf that there is not");
    std::vector<uint32_t> place;
    place.reserve(circuit.nodes.size());
    std::vector<Edge> list;
    for (const Node &node : circuit.nodes) {
        watch.check();
        if (node.op == Op::Leaf) {
            place.push_back(builder.leaf(circuit.values[node.begin]));
            continue;
        }
        list.assign(circuit.edges.begin() + node.begin, circuit.edges.begin() + node.end);
        for (Edge &edge : list) {
            edge.child = place[edge.child];
            if (edge.weight != ONE) edge.weight = int32_t(one.leaves[edge.weight]);
        }
        place.push_back(node.op == Op::Sum ? builder.sum(list)
                                           : builder.product(list[0].child, list[1].child));
    }
    std::vector<uint32_t> roots;
    for (uint32_t root : circuit.roots) roots.push_back(place[root]);
    return roots;
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

}  // namespace dpasp
