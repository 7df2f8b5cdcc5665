// Functions of the choices as reduced ordered decision diagrams with one child per value.
//
// An edge is 2 * node, plus 1 when complemented; node 0 is true. The first child of a node is
// never complemented, so that equal functions are equal edges.
#include "part.hpp"

namespace dpasp {
namespace {

using Dd = uint32_t;
constexpr Dd DD_TRUE = 0, DD_FALSE = 1;

class Diagram {
  public:
    Diagram(std::vector<uint32_t> arity, size_t most, Watch &watch)
        : arity_(std::move(arity)), most_(most), watch_(watch), slots_(1 << 12, 0),
          cache_(1 << 14) {
        level_.push_back(uint32_t(arity_.size()));
        child_.push_back(0);
    }

    uint32_t level(Dd edge) const { return level_[edge >> 1]; }
    Dd child(Dd edge, uint32_t v) const { return pool_[child_[edge >> 1] + v] ^ (edge & 1u); }
    size_t size() const { return level_.size(); }

    Dd make(uint32_t level, const Dd *children) {
        uint32_t n = arity_[level];
        bool same = true;
        for (uint32_t v = 1; v < n; ++v) same = same && children[v] == children[0];
        if (same) return children[0];
        uint32_t flip = children[0] & 1u;
        uint64_t hash = level;
        for (uint32_t v = 0; v < n; ++v) hash = combine(hash, children[v] ^ flip);
        size_t mask = slots_.size() - 1, at = hash & mask;
        for (; slots_[at]; at = (at + 1) & mask) {
            uint32_t node = slots_[at];
            if (level_[node] != level) continue;
            bool equal = true;
            for (uint32_t v = 0; equal && v < n; ++v)
                equal = pool_[child_[node] + v] == (children[v] ^ flip);
            if (equal) return 2 * node + flip;
        }
        if (level_.size() >= most_) throw Stopped(Reason::Size, "decision diagram");
        uint32_t node = uint32_t(level_.size());
        level_.push_back(level);
        child_.push_back(uint32_t(pool_.size()));
        for (uint32_t v = 0; v < n; ++v) pool_.push_back(children[v] ^ flip);
        slots_[at] = node;
        if (2 * level_.size() > slots_.size()) grow();
        return 2 * node + flip;
    }

    Dd both(Dd a, Dd b) {
        if (a == b) return a;
        if (a == (b ^ 1u)) return DD_FALSE;
        if (a == DD_FALSE || b == DD_FALSE) return DD_FALSE;
        if (a == DD_TRUE) return b;
        if (b == DD_TRUE) return a;
        if (a > b) std::swap(a, b);
        uint64_t key = (uint64_t(a) << 32) | b;
        size_t at = mix(key) & (cache_.size() - 1);
        if (cache_[at].key == key) return cache_[at].result;
        watch_.check();
        uint32_t la = level(a), lb = level(b), top = std::min(la, lb), n = arity_[top];
        Dd result;
        if (n == 2) {
            Dd children[2];
            for (uint32_t v = 0; v < 2; ++v)
                children[v] = both(la == top ? child(a, v) : a, lb == top ? child(b, v) : b);
            result = make(top, children);
        } else {
            std::vector<Dd> children(n);
            for (uint32_t v = 0; v < n; ++v)
                children[v] = both(la == top ? child(a, v) : a, lb == top ? child(b, v) : b);
            result = make(top, children.data());
        }
        cache_[mix(key) & (cache_.size() - 1)] = {key, result};  // it may have grown meanwhile
        return result;
    }

    Dd all(std::vector<Dd> edges) {
        // Functions of late choices first: they share the most.
        std::sort(edges.begin(), edges.end(), [&](Dd a, Dd b) {
            return level(a) != level(b) ? level(a) > level(b) : a < b;
        });
        Dd result = DD_TRUE;
        for (Dd edge : edges) {
            result = both(result, edge);
            if (result == DD_FALSE) break;
        }
        return result;
    }

  private:
    struct Entry {
        uint64_t key = 0;
        Dd result = 0;
    };

    void grow() {
        slots_.assign(slots_.size() * 2, 0);
        size_t mask = slots_.size() - 1;
        for (uint32_t node = 1; node < level_.size(); ++node) {
            uint64_t hash = level_[node];
            for (uint32_t v = 0; v < arity_[level_[node]]; ++v)
                hash = combine(hash, pool_[child_[node] + v]);
            size_t at = hash & mask;
            while (slots_[at]) at = (at + 1) & mask;
            slots_[at] = node;
        }
        if (cache_.size() < slots_.size() && cache_.size() < (size_t(1) << 24)) {
            std::vector<Entry> old(cache_.size() * 2);
            old.swap(cache_);
            for (const Entry &entry : old)
                if (entry.key) cache_[mix(entry.key) & (cache_.size() - 1)] = entry;
        }
    }

    std::vector<uint32_t> arity_;  // by level
    size_t most_;
    Watch &watch_;
    std::vector<uint32_t> level_, child_;  // by node
    std::vector<Dd> pool_;
    std::vector<uint32_t> slots_;
    std::vector<Entry> cache_;
};

// Copies a function into the circuit, with `leaf` where it is true.
class Copier {
  public:
    Copier(const Diagram &diagram, const std::vector<ChoiceShape> &shapes, Builder &builder)
        : diagram_(diagram), shapes_(shapes), builder_(builder) {}

    uint32_t copy(Dd edge, uint32_t leaf) {
        if (edge == DD_TRUE) return leaf;
        if (edge == DD_FALSE) return Builder::FALSE_NODE;
        uint64_t key = (uint64_t(leaf) << 32) | edge;
        auto found = done_.find(key);
        if (found != done_.end()) return found->second;
        const ChoiceShape &shape = shapes_[diagram_.level(edge)];
        std::vector<uint32_t> children(shape.values);
        for (uint32_t v = 0; v < shape.values; ++v) children[v] = copy(diagram_.child(edge, v), leaf);
        uint32_t node = builder_.decision(shape.leaf, children);
        done_.emplace(key, node);
        return node;
    }

  private:
    const Diagram &diagram_;
    const std::vector<ChoiceShape> &shapes_;  // by level
    Builder &builder_;
    std::unordered_map<uint64_t, uint32_t> done_;
};

}  // namespace

std::vector<uint32_t> compile_diagram(const Problem &problem, const Part &part,
                                      const std::vector<uint32_t> &order,
                                      const std::vector<Ask> &asks, const Budget &budget,
                                      Builder &builder, Watch &watch) {
    const Gates &gates = problem.gates;
    std::vector<uint32_t> arity;
    std::vector<ChoiceShape> shapes;
    std::unordered_map<uint32_t, uint32_t> level;
    for (uint32_t choice : order) {
        level[choice] = uint32_t(arity.size());
        arity.push_back(gates.choices[choice].values);
        shapes.push_back(gates.choices[choice]);
    }
    Diagram diagram(arity, budget.nodes, watch);
    std::unordered_map<uint32_t, Dd> known{{0, DD_TRUE}};
    auto function = [&](Lit lit) { return known.at(gate_of(lit)) ^ (lit & 1u); };
    for (uint32_t g : part.gates) {
        const Gate &gate = gates.gates[g];
        if (gate.kind == Kind::Value) {
            uint32_t at = level.at(gate.first);
            std::vector<Dd> children(arity[at], DD_FALSE);
            children[gate.second] = DD_TRUE;
            known[g] = diagram.make(at, children.data());
        } else if (gate.kind == Kind::And) {
            std::vector<Dd> inputs;
            for (const Lit *in = gates.begin(g); in != gates.end(g); ++in)
                inputs.push_back(function(*in));
            known[g] = diagram.all(std::move(inputs));
        }
    }
    auto conjunction = [&](const std::vector<Lit> &lits) {
        std::vector<Dd> edges;
        for (Lit lit : lits) edges.push_back(function(lit));
        return diagram.all(std::move(edges));
    };
    Dd consistent = conjunction(part.asserted);
    uint32_t only_e = builder.leaf({Value::E, 0, 1}), other = builder.leaf({Value::OTHER, 0, 0});
    std::vector<uint32_t> roots;
    Copier copier(diagram, shapes, builder);
    for (const Ask &ask : asks) {
        Dd query = conjunction(ask.query), evidence = conjunction(ask.evidence);
        Dd with = diagram.both(consistent, evidence);
        uint32_t yes = copier.copy(diagram.both(with, query), Builder::TRUE_NODE);
        uint32_t no = copier.copy(diagram.both(with, query ^ 1u), only_e);
        uint32_t out = copier.copy(diagram.both(consistent, evidence ^ 1u), other);
        roots.push_back(builder.sum({{-1, yes}, {-1, no}, {-1, out}}));
    }
    return roots;
}

}  // namespace dpasp
