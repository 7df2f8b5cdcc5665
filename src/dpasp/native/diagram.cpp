// Functions of the choices as decision diagrams with one child per value. Guesses are
// variables too. For the credal semantics they are quantified away: that some model exists is
// all it asks of them. To count models, they come after all choices.
#include "decisions.hpp"

namespace dpasp {
namespace {

// Copies functions into the circuit: where (yes, no, other) say which kinds of models there are.
class Copier {
  public:
    // From the level `boundary` on there are only guesses, to be counted.
    Copier(const Diagram &diagram, const std::vector<ChoiceShape> &shapes, uint32_t boundary,
           Builder &builder)
        : diagram_(diagram), shapes_(shapes), boundary_(boundary), builder_(builder) {}

    uint32_t copy(Dd yes, Dd no, Dd other) {
        uint32_t top = std::min({diagram_.level(yes), diagram_.level(no), diagram_.level(other)});
        if (top >= boundary_) return leaf(count(yes), count(no), count(other));
        Key key{(uint64_t(yes) << 32) | no, other};
        auto found = done_.find(key);
        if (found != done_.end()) return found->second;
        const ChoiceShape &shape = shapes_[top];
        std::vector<uint32_t> children(shape.values);
        auto below = [&](Dd edge, uint32_t v) {
            return diagram_.level(edge) == top ? diagram_.child(edge, v) : edge;
        };
        for (uint32_t v = 0; v < shape.values; ++v)
            children[v] = copy(below(yes, v), below(no, v), below(other, v));
        uint32_t node = builder_.decision(shape.leaf, children);
        done_.emplace(key, node);
        return node;
    }

  private:
    struct Hash {
        size_t operator()(const Key &key) const { return combine(key.low, key.high); }
    };

    // How many assignments of the guesses make it true (out of all of them).
    Scaled count(Dd edge) {
        Scaled share = fraction(edge);
        share.e += share.zero() ? 0 : int64_t(shapes_.size()) - boundary_;
        return share;
    }

    // The same as a part of all assignments, so that skipped levels do not matter.
    Scaled fraction(Dd edge) {
        if (edge == DD_TRUE) return Scaled(1);
        if (edge == DD_FALSE) return Scaled(0);
        auto found = counted_.find(edge);
        if (found != counted_.end()) return found->second;
        Scaled total = fraction(diagram_.child(edge, 0)) + fraction(diagram_.child(edge, 1));
        if (!total.zero()) --total.e;
        counted_.emplace(edge, total);
        return total;
    }

    uint32_t leaf(const Scaled &yes, const Scaled &no, const Scaled &other) {
        Value value;
        if (!yes.zero()) value.kinds |= Value::QE;
        if (!no.zero()) value.kinds |= Value::E;
        if (!other.zero()) value.kinds |= Value::OTHER;
        if (!value.kinds) return Builder::FALSE_NODE;
        Scaled all = yes + no + other;
        value.qe = ratio(yes, all);
        value.e = ratio(yes + no, all);
        return builder_.leaf(value);
    }

    const Diagram &diagram_;
    const std::vector<ChoiceShape> &shapes_;  // by level
    uint32_t boundary_;
    Builder &builder_;
    std::unordered_map<Key, uint32_t, Hash> done_;
    std::unordered_map<Dd, Scaled> counted_;
};

// The gates of a part as functions, and what is asserted with its guesses quantified away.
class Functions {
  public:
    Functions(const Problem &problem, const Part &part, const std::vector<Input> &order,
              Budget &budget, Watch &watch)
        : gates_(problem.gates), part_(part), shapes_(shapes(problem, order)),
          budget_(budget),
          diagram_(arities(shapes_), budget, watch) {
        std::unordered_map<uint32_t, uint32_t> choice_level, guess_level;
        for (uint32_t level = 0; level < order.size(); ++level) {
            (order[level].choice ? choice_level : guess_level)[order[level].id] = level;
            if (!order[level].choice) guesses_.push_back(level);
        }
        known_.reserve(part.gates.size());
        for (uint32_t g : part.gates) {
            budget_.advance((part.guesses.empty() ? 0.8 : 0.2) / double(part.gates.size()));
            const Gate &gate = gates_.gates[g];
            if (gate.kind == Kind::And) {
                std::vector<Dd> inputs;
                for (const Lit *in = gates_.begin(g); in != gates_.end(g); ++in)
                    inputs.push_back(function(*in));
                known_.push_back(diagram_.all(std::move(inputs)));
            } else if (gate.kind == Kind::Value) {
                known_.push_back(variable(choice_level.at(gate.first), gate.second));
            } else {
                known_.push_back(variable(guess_level.at(g), 0));
            }
        }
        for (Lit lit : part.asserted) asserted_.push_back(function(lit));
    }

    bool same(Lit a, Lit b) const { return function(a) == function(b); }

    std::vector<uint32_t> answer(const std::vector<Ask> &asks, bool counting, Builder &builder) {
        struct Functional {
            Dd query, evidence;
        };
        std::vector<Functional> asked;
        std::vector<uint8_t> kept(shapes_.size(), 0);
        for (const Ask &ask : asks) {
            asked.push_back({conjunction(ask.query), conjunction(ask.evidence)});
            for (Dd edge : {asked.back().query, asked.back().evidence}) {
                auto used = diagram_.support(edge);
                for (size_t l = 0; l < used.size(); ++l) kept[l] = kept[l] || used[l];
            }
        }
        std::vector<uint32_t> early, late;
        if (!counting)
            for (uint32_t level : guesses_) (kept[level] ? late : early).push_back(level);
        quantify(asserted_, early);
        uint32_t boundary = uint32_t(shapes_.size() - (counting ? guesses_.size() : 0));
        Copier copier(diagram_, shapes_, boundary, builder);
        std::vector<uint32_t> roots;
        for (auto &[query, evidence] : asked) {
            Dd yes = models(diagram_.both(evidence, query), late);
            Dd no = models(diagram_.both(evidence, query ^ 1u), late);
            Dd other = models(evidence ^ 1u, late);
            roots.push_back(copier.copy(yes, no, other));
            budget_.advance((guesses_.empty() ? 0.2 : 0.8) / double(asks.size()));
        }
        return roots;
    }

  private:
    const Gates &gates_;
    const Part &part_;
    std::vector<ChoiceShape> shapes_;  // by level
    Budget &budget_;
    Diagram diagram_;
    std::vector<uint32_t> guesses_;  // levels
    std::vector<Dd> known_;  // by place in the part
    std::vector<Dd> asserted_;

    static std::vector<ChoiceShape> shapes(const Problem &problem,
                                           const std::vector<Input> &order) {
        std::vector<ChoiceShape> result;
        for (const Input &input : order)
            result.push_back(input.choice ? problem.gates.choices[input.id] : ChoiceShape{2, 0});
        return result;
    }

    static std::vector<uint32_t> arities(const std::vector<ChoiceShape> &shapes) {
        std::vector<uint32_t> result;
        for (const ChoiceShape &shape : shapes) result.push_back(shape.values);
        return result;
    }

    Dd variable(uint32_t level, uint32_t value) {
        std::vector<Dd> children(shapes_[level].values, DD_FALSE);
        children[value] = DD_TRUE;
        return diagram_.make(level, children.data());
    }

    Dd function(Lit lit) const {
        return (gate_of(lit) ? known_[part_.place(lit)] : DD_TRUE) ^ (lit & 1u);
    }

    Dd conjunction(const std::vector<Lit> &lits) {
        std::vector<Dd> edges;
        for (Lit lit : lits) edges.push_back(function(lit));
        return diagram_.all(std::move(edges));
    }

    // For which choices some model satisfies the condition.
    Dd models(Dd condition, const std::vector<uint32_t> &levels) {
        std::vector<Dd> factors(asserted_);
        factors.push_back(condition);
        quantify(factors, levels);
        return diagram_.all(std::move(factors));
    }

    // Remove the guesses one by one: join only the factors that depend on each.
    void quantify(std::vector<Dd> &factors, std::vector<uint32_t> levels) {
        std::vector<std::vector<uint8_t>> used;
        for (Dd factor : factors) used.push_back(diagram_.support(factor));
        while (!levels.empty()) {
            size_t best = 0, least = SIZE_MAX;
            for (size_t i = 0; i < levels.size(); ++i) {
                std::vector<uint8_t> joint(shapes_.size(), 0);
                for (auto &one : used)
                    if (one[levels[i]])
                        for (size_t l = 0; l < joint.size(); ++l) joint[l] |= one[l];
                size_t width = size_t(std::count(joint.begin(), joint.end(), 1));
                if (width < least) least = width, best = i;
            }
            uint32_t level = levels[best];
            levels.erase(levels.begin() + ptrdiff_t(best));
            std::vector<Dd> joined, rest;
            std::vector<std::vector<uint8_t>> rest_used;
            for (size_t i = 0; i < factors.size(); ++i) {
                if (used[i][level]) {
                    joined.push_back(factors[i]);
                } else {
                    rest.push_back(factors[i]);
                    rest_used.push_back(std::move(used[i]));
                }
            }
            Dd result = diagram_.some(diagram_.all(std::move(joined)), level);
            rest.push_back(result);
            rest_used.push_back(diagram_.support(result));
            factors = std::move(rest);
            used = std::move(rest_used);
        }
    }
};

}  // namespace

std::vector<uint32_t> compile_diagram(const Problem &problem, const Part &part,
                                      std::vector<Input> order, const std::vector<Ask> &asks,
                                      Mode mode, Budget &budget, Builder &builder,
                                      Watch &watch) {
    bool counting = mode != Mode::Bits && !part.guesses.empty();
    if (counting)
        std::stable_partition(order.begin(), order.end(),
                              [](const Input &input) { return input.choice; });
    return Functions(problem, part, order, budget, watch).answer(asks, counting, builder);
}

bool same_functions(const Problem &problem, const std::vector<std::pair<Lit, Lit>> &pairs,
                    Watch &watch) {
    // The cone of the pairs, with its inputs as a depth-first walk meets them.
    const Gates &gates = problem.gates;
    Part cone;
    std::vector<Input> order;
    std::vector<uint8_t> seen(gates.size(), 0), chosen(gates.choices.size(), 0);
    std::vector<uint32_t> todo;
    for (auto &[a, b] : pairs)
        for (Lit root : {a, b}) {
            todo.push_back(gate_of(root));
            while (!todo.empty()) {
                uint32_t g = todo.back();
                todo.pop_back();
                if (!g || seen[g]) continue;
                seen[g] = 1;
                cone.gates.push_back(g);
                const Gate &gate = gates.gates[g];
                if (gate.kind == Kind::And)
                    for (const Lit *in = gates.end(g); in-- != gates.begin(g);)
                        todo.push_back(gate_of(*in));
                else if (gate.kind == Kind::Guess)
                    order.push_back({false, g});
                else if (!chosen[gate.first])
                    chosen[gate.first] = 1, order.push_back({true, gate.first});
            }
        }
    std::sort(cone.gates.begin(), cone.gates.end());
    auto places = std::make_shared<std::vector<uint32_t>>(gates.size());
    for (uint32_t i = 0; i < cone.gates.size(); ++i) (*places)[cone.gates[i]] = i;
    cone.places = places;
    Budget budget;
    budget.nodes = 2000000;
    budget.work = 30000000;
    Functions functions(problem, cone, order, budget, watch);
    for (auto &[a, b] : pairs)
        if (!functions.same(a, b)) return false;
    return true;
}

}  // namespace dpasp
