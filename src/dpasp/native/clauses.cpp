#include "clauses.hpp"

#include <algorithm>
#include <set>
#include <unordered_map>

namespace dpasp {

Clauses::Clauses(const Problem &problem, const Part &part) {
    const Gates &gates = problem.gates;
    std::unordered_map<uint32_t, uint32_t> first;  // by choice: its first variable
    auto fresh = [&](Class which) {
        kind.push_back(which);
        weight.insert(weight.end(), {ONE, ONE});
        group.emplace_back(variables, variables + 1);
        return variables++;
    };
    for (uint32_t choice : part.choices) {
        const ChoiceShape &shape = gates.choices[choice];
        first[choice] = variables;
        if (shape.values == 2) {
            uint32_t v = fresh(Class::Outer);
            weight[2 * v] = int32_t(shape.leaf);
            weight[2 * v + 1] = int32_t(shape.leaf + 1);
            continue;
        }
        uint32_t start = variables, end = start + shape.values;
        std::vector<Lit> some;
        for (uint32_t k = 0; k < shape.values; ++k) {
            uint32_t v = fresh(Class::Outer);
            weight[2 * v] = int32_t(shape.leaf + k);
            group[v] = {start, end};
            some.push_back(2 * v);
            for (uint32_t u = start; u < v; ++u) clauses.push_back({2 * u + 1, 2 * v + 1});
        }
        clauses.push_back(some);
    }
    auto known = [&](Lit lit) { return literal[part.place(lit)] ^ (lit & 1u); };
    for (uint32_t g : part.gates) {
        const Gate &gate = gates.gates[g];
        Lit lit = 0;
        if (gate.kind == Kind::Value) {
            lit = 2 * (first.at(gate.first) +
                       (gates.choices[gate.first].values == 2 ? 0 : gate.second));
        } else {
            lit = 2 * fresh(gate.inner ? Class::Inner : Class::Determined);
        }
        literal.push_back(lit);
        if (gate.kind != Kind::And) continue;
        std::vector<Lit> back{lit};
        for (const Lit *in = gates.begin(g); in != gates.end(g); ++in) {
            Lit input = known(*in);
            clauses.push_back({negate(lit), input});
            back.push_back(negate(input));
        }
        clauses.push_back(std::move(back));
    }
    for (Lit lit : part.asserted) clauses.push_back({known(lit)});
}

namespace {

// Eliminates the variables of the clauses' graph, cheapest first, and measures the tree.
class Eliminator {
  public:
    Eliminator(const Clauses &clauses, Watch &watch) : watch_(watch), n_(clauses.variables) {
        near_.resize(n_);
        for (const auto &clause : clauses.clauses) {
            if (clause.size() > 200) continue;  // a clique of that size would be all there is
            for (Lit a : clause)
                for (Lit b : clause)
                    if (gate_of(a) != gate_of(b)) near_[gate_of(a)].insert(gate_of(b));
        }
    }

    std::vector<uint32_t> run(uint32_t &width) {
        eliminate();
        width = 0;
        for (auto &bag : bags_) width = std::max(width, uint32_t(bag.empty() ? 0 : bag.size() - 1));
        return measure();
    }

  private:
    Watch &watch_;
    uint32_t n_;
    std::vector<std::set<uint32_t>> near_;
    std::vector<uint32_t> when_, order_;
    std::vector<std::vector<uint32_t>> bags_;  // by variable

    size_t price(uint32_t v) const {
        size_t degree = near_[v].size();
        if (n_ > 4000 || degree > 40) return degree * degree;
        size_t missing = 0;
        for (auto a = near_[v].begin(); a != near_[v].end(); ++a)
            for (auto b = std::next(a); b != near_[v].end(); ++b) missing += !near_[*a].count(*b);
        return missing;
    }

    void eliminate() {
        std::set<std::pair<size_t, uint32_t>> queue;
        std::vector<size_t> cost(n_);
        for (uint32_t v = 0; v < n_; ++v) queue.insert({cost[v] = price(v), v});
        when_.assign(n_, 0);
        bags_.resize(n_);
        while (!queue.empty()) {
            watch_.look();
            uint32_t v = queue.begin()->second;
            queue.erase(queue.begin());
            when_[v] = uint32_t(order_.size());
            order_.push_back(v);
            bags_[v].assign(near_[v].begin(), near_[v].end());
            bags_[v].push_back(v);
            for (uint32_t a : near_[v]) {
                near_[a].erase(v);
                for (uint32_t b : near_[v])
                    if (a != b) near_[a].insert(b);
            }
            for (uint32_t a : near_[v]) {
                size_t now = price(a);
                if (now == cost[a]) continue;
                queue.erase({cost[a], a});
                queue.insert({cost[a] = now, a});
            }
        }
    }

    // Each bag hangs on that of its next eliminated member; depth is counted from the centroid.
    std::vector<uint32_t> measure() {
        std::vector<std::vector<uint32_t>> tree(n_);
        std::vector<uint32_t> parent(n_, UINT32_MAX), size(n_, 1);
        for (uint32_t v : order_) {
            uint32_t next = UINT32_MAX;
            for (uint32_t u : bags_[v])
                if (u != v && (next == UINT32_MAX || when_[u] < when_[next])) next = u;
            parent[v] = next;
            if (next == UINT32_MAX) continue;
            tree[v].push_back(next);
            tree[next].push_back(v);
        }
        for (uint32_t v : order_)
            if (parent[v] != UINT32_MAX) size[parent[v]] += size[v];
        std::vector<uint32_t> depth(n_, UINT32_MAX), result(n_, UINT32_MAX);
        for (size_t i = n_; i-- > 0;) {
            uint32_t root = order_[i];
            if (parent[root] != UINT32_MAX) continue;
            walk(centroid(root, tree, size), tree, depth);
        }
        for (uint32_t v = 0; v < n_; ++v)
            for (uint32_t u : bags_[v]) result[u] = std::min(result[u], depth[v]);
        return result;
    }

    uint32_t centroid(uint32_t root, const std::vector<std::vector<uint32_t>> &tree,
                      const std::vector<uint32_t> &size) const {
        uint32_t at = root, all = size[root];
        for (bool moved = true; moved;) {
            moved = false;
            for (uint32_t child : tree[at])
                if (when_[child] < when_[at] && 2 * size[child] > all) {
                    at = child;
                    moved = true;
                    break;
                }
        }
        return at;
    }

    void walk(uint32_t from, const std::vector<std::vector<uint32_t>> &tree,
              std::vector<uint32_t> &depth) const {
        std::vector<uint32_t> todo{from};
        depth[from] = 0;
        for (size_t i = 0; i < todo.size(); ++i)
            for (uint32_t next : tree[todo[i]])
                if (depth[next] == UINT32_MAX)
                    depth[next] = depth[todo[i]] + 1, todo.push_back(next);
    }
};

}  // namespace

std::vector<uint32_t> tree_depth(const Clauses &clauses, uint32_t &width, Watch &watch) {
    return Eliminator(clauses, watch).run(width);
}

}  // namespace dpasp
