// A search that counts: it decides a variable, propagates, splits the rest into components that
// share no variable, and remembers the value of each. Clauses learnt from conflicts only propagate;
// they are not part of components.
//
// A learnt clause follows from all clauses together. So if a component has no solution, the values
// of those beside it may be wrong; they are forgotten, as the product is 0 anyway. For the same
// reason, the value 0 is never remembered.

#include "search.hpp"

namespace dpasp {
namespace {

// The models of a component without choices.
struct Models {
    Scaled all, evidence, query;
    uint8_t kinds = 0;

    static Models of(bool misses_query, bool misses_evidence) {
        if (misses_evidence) return {Scaled(1), Scaled(0.0), Scaled(0.0), Value::OTHER};
        if (misses_query) return {Scaled(1), Scaled(1), Scaled(0.0), Value::E};
        return {Scaled(1), Scaled(1), Scaled(1), Value::QE};
    }
    Models &operator*=(const Models &o) {
        uint8_t both = 0;
        bool holds = kinds & Value::QE, missed = kinds & Value::E, other = kinds & Value::OTHER;
        bool holds_there = o.kinds & Value::QE, missed_there = o.kinds & Value::E;
        if (holds && holds_there) both |= Value::QE;
        if ((missed && (holds_there || missed_there)) || (holds && missed_there)) both |= Value::E;
        if ((other && o.kinds) || (kinds && (o.kinds & Value::OTHER))) both |= Value::OTHER;
        kinds = both;
        all *= o.all, evidence *= o.evidence, query *= o.query;
        return *this;
    }
    Models &operator+=(const Models &o) {
        kinds |= o.kinds;
        all += o.all, evidence += o.evidence, query += o.query;
        return *this;
    }
};

// Literals of a question that are not asserted.
struct Asked {
    std::vector<Lit> query, evidence;
};

class Search {
  public:
    Search(const Job &job, const std::vector<Lit> &evidence, const std::vector<Lit> &asked)
        : job_(job), builder_(job.builder), free_(job.part.guesses.empty()),
          formula_(prepared(job, evidence, asked)),
          propagation_(formula_.variables.size(), formula_.clauses),
          components_(formula_, propagation_), memory_(tuning::SEARCH_MEMORY),
          missed_(builder_.leaf({Value::E, 0, 1})), other_(builder_.leaf({Value::OTHER, 0, 0})),
          models_(1) {
        TreeDepths tree = tree_depths(formula_, job.budget, job.watch);
        depth_ = std::move(tree.depth);
        size_t n = 0;
        for (const Variable &variable : formula_.variables) n += !variable.gone;
        double most = double(tree.width + 1), number = double(std::max<size_t>(n, 1));
        pull_ = std::min(tuning::SEARCH_MOST_PULL,
                         tuning::SEARCH_PULL * std::exp(number / most) / number);
        misses_.resize(2 * formula_.variables.size());
        asked_.resize(formula_.variables.size());
    }

    // The root for what is asked, which is this share of the attempt.
    uint32_t count(const Asked &asked, double share) {
        ++question_;
        if (!formula_.possible || propagation_.contradictory) return Builder::FALSE_NODE;
        std::fill(misses_.begin(), misses_.end(), uint8_t(0));
        std::fill(asked_.begin(), asked_.end(), uint8_t(0));
        uint8_t constant = 0;
        auto mark = [&](const std::vector<Lit> &lits, uint8_t bit) {
            for (Lit lit : lits) {
                Lit own = formula_.of(lit);
                if (own == FALSE_LIT) constant |= bit;
                if (gate_of(own) == 0) continue;
                misses_[negate(own)] |= bit;
                asked_[gate_of(own)] = 1;
            }
        };
        mark(asked.query, QUERY);
        mark(asked.evidence, EVIDENCE);
        Component whole = components_.whole(asked_);
        uint32_t node =
            free_ || whole.outer ? expand(whole, 0, share) : leaf(expand_models(whole, 0, share));
        components_.drop(whole.variables);
        if (failed_) {  // all of it is contradictory
            failed_ = false;
            propagation_.learn();
            return Builder::FALSE_NODE;
        }
        for (const Edge &edge : formula_.weights[TRUE_LIT]) node = weighed(edge, node);
        return with_misses(constant, node);
    }

  private:
    static constexpr uint8_t QUERY = 1, EVIDENCE = 2;

    const Job &job_;
    Builder &builder_;
    bool free_;  // there are no guesses: every component is one of choices
    Formula formula_;
    Propagation propagation_;
    Components components_;
    Memory memory_;
    uint32_t missed_, other_;
    std::vector<Models> models_;  // values of components without choices; the first is none
    std::vector<double> depth_;
    double pull_ = 0;
    std::vector<uint8_t> misses_;  // by literal: what its truth says of the question
    std::vector<uint8_t> asked_;   // by variable
    uint32_t question_ = 0;
    bool failed_ = false;  // a conflict at this level, of which nothing was learnt yet
    uint64_t charged_ = 0;
    std::vector<Component> parts_;  // a stack

    static Formula prepared(const Job &job, const std::vector<Lit> &evidence,
                            const std::vector<Lit> &asked) {
        Formula formula = read_formula(job, evidence, asked);
        simplify(formula, job.budget, job.watch);
        return formula;
    }

    uint32_t weighed(const Edge &edge, uint32_t node) {
        if (node == Builder::FALSE_NODE) return node;
        if (edge.weight == ONE) return builder_.product(edge.child, node);
        Edge one{edge.weight, node};
        return builder_.sum(&one, 1);
    }

    uint32_t with_misses(uint8_t misses, uint32_t node) {
        if (misses & QUERY) node = builder_.product(missed_, node);
        if (misses & EVIDENCE) node = builder_.product(other_, node);
        return node;
    }

    uint32_t leaf(uint32_t models) {
        const Models &own = models_[models];
        if (!own.kinds) return Builder::FALSE_NODE;
        return builder_.leaf(own.kinds, own.query / own.all, own.evidence / own.all);
    }

    void charge() {
        uint64_t now = propagation_.work + components_.work;
        job_.budget.charge(2 + (now - charged_) / tuning::SEARCH_PER_UNIT);
        charged_ = now;
        job_.budget.size = builder_.nodes.size() + models_.size();
        if (job_.budget.size > job_.budget.nodes)
            throw Stopped(Reason::Size, "a circuit of more nodes than were allowed");
    }

    // --- components

    // The value of a component: a node, or an index of `models_` if it has no choice.
    uint32_t solve(const Component component, double share) {
        job_.watch.descend();
        charge();
        bool outer = free_ || component.outer;
        memory_.describe(components_, component, component.asked ? question_ : 0);
        uint32_t known = memory_.find();
        if (known != Memory::NONE) {
            job_.budget.advance(share);
            return known;
        }
        Memory::Described key = memory_.take();
        uint32_t result = 0;
        bool open = true;
        for (size_t i = component.variables; i < component.clauses; ++i)
            open = open && propagation_.open(*components_.at(i));
        if (!open)
            result = outer ? expand(component, 0, share) : expand_models(component, 0, share);
        else
            result = outer ? decide(component, share) : decide_models(component, share);
        if (result && !failed_) memory_.store(key, result);
        return failed_ ? 0 : result;
    }

    uint32_t decide(const Component &component, double share) {
        Lit lit = chosen(component, true);
        if (const Group *group = group_of(lit)) return decide_values(component, *group, share);
        uint32_t yes = branch(component, lit, true, share / 2);
        if (failed_) return 0;
        uint32_t no = branch(component, negate(lit), true, share / 2);
        if (failed_) return 0;
        if (yes == no && formula_.variables[gate_of(lit)].whole && !asked_[gate_of(lit)])
            return yes;
        std::vector<Edge> edges;
        if (yes) edges.push_back(edge(lit, yes));
        if (no) edges.push_back(edge(negate(lit), no));
        return edges.empty() ? Builder::FALSE_NODE : builder_.sum(edges.data(), edges.size());
    }

    uint32_t decide_values(const Component &component, const Group &group, double share) {
        std::vector<Lit> values;
        for (Lit value : group.values)
            if (propagation_.open(gate_of(value))) values.push_back(value);
        std::vector<uint32_t> nodes;
        for (Lit value : values) {
            nodes.push_back(branch(component, value, true, share / double(values.size())));
            if (failed_) return 0;
        }
        if (std::equal(nodes.begin() + 1, nodes.end(), nodes.begin()) && sums_to_one(group, values))
            return nodes[0];
        std::vector<Edge> edges;
        for (size_t i = 0; i < values.size(); ++i)
            if (nodes[i]) edges.push_back(edge(values[i], nodes[i], &group));
        return edges.empty() ? Builder::FALSE_NODE : builder_.sum(edges.data(), edges.size());
    }

    // The group whose values are decided together, if more than two are open. Clauses of two
    // exclude each other's values, so that all are in the same component.
    const Group *group_of(Lit lit) const {
        uint32_t g = formula_.group[gate_of(lit)];
        if (g == Formula::NO_GROUP) return nullptr;
        const Group &group = formula_.groups[g];
        size_t open = 0;
        for (Lit value : group.values) open += propagation_.open(gate_of(value));
        return open > 2 ? &group : nullptr;
    }

    bool sums_to_one(const Group &group, const std::vector<Lit> &open) const {
        auto asked = [&](Lit value) { return asked_[gate_of(value)]; };
        return group.whole && open.size() == group.values.size() &&
               std::none_of(open.begin(), open.end(), asked);
    }

    uint32_t decide_models(const Component &component, double share) {
        Lit lit = chosen(component, false);
        uint32_t yes = branch(component, lit, false, share / 2);
        if (failed_) return 0;
        Models sum;
        if (yes) sum += times(models_[yes], lit);
        bool enough = job_.mode == Mode::Bits && sum.kinds && (!component.asked || sum.kinds == 7);
        if (!enough) {
            uint32_t no = branch(component, negate(lit), false, share / 2);
            if (failed_) return 0;
            if (no) sum += times(models_[no], negate(lit));
        }
        return add(sum);
    }

    Models times(Models models, Lit lit) const {
        return models *= Models::of(misses_[lit] & QUERY, misses_[lit] & EVIDENCE);
    }

    uint32_t add(const Models &models) {
        if (!models.kinds) return 0;
        models_.push_back(models);
        return uint32_t(models_.size() - 1);
    }

    // The value of a component if a literal holds. Clauses learnt from conflicts apply from here
    // on; `failed_` says that they contradict earlier decisions.
    uint32_t branch(const Component &component, Lit lit, bool outer, double share) {
        auto expanded = [&](uint32_t decided) {
            return outer ? expand(component, decided, share)
                         : expand_models(component, decided, share);
        };
        int known = propagation_.value(lit);
        if (known < 0) {
            job_.budget.advance(share);
            return 0;
        }
        if (known > 0) return expanded(gate_of(lit));
        uint64_t since = memory_.now();
        propagation_.decide(lit);
        uint32_t result = 0;
        if (!propagation_.propagate()) {
            job_.budget.advance(share);
            propagation_.learn();
        } else {
            result = expanded(gate_of(lit));
            if (failed_)
                failed_ = false, result = 0, propagation_.learn();
            else
                propagation_.back();
        }
        if (!result) memory_.forget_since(since);
        if (!propagation_.settle()) failed_ = true;
        return result;
    }

    // The product of the weights of what holds in a component and of the remaining components,
    // without the weight of the variable that was decided.
    uint32_t expand(const Component &component, uint32_t decided, double share) {
        uint32_t chain = Builder::TRUE_NODE;
        uint8_t misses = 0;
        for (size_t i = component.variables; i < component.clauses; ++i) {
            uint32_t v = *components_.at(i);
            if (propagation_.open(v) || v == decided) continue;
            Lit holds = 2 * v + (propagation_.value(2 * v) < 0);
            for (const Edge &edge : formula_.weights[holds]) chain = weighed(edge, chain);
            misses |= misses_[holds];
        }
        uint32_t node = Builder::TRUE_NODE;
        size_t top = components_.top(), first = parts_.size();
        components_.split(component, asked_, parts_,
                          [&](uint32_t v) { node = builder_.product(node, alone(v)); });
        size_t last = parts_.size();
        if (first == last) job_.budget.advance(share);
        for (size_t i = first; i < last; ++i) {
            bool outer = free_ || parts_[i].outer;
            uint32_t value = solve(parts_[i], share / double(last - first));
            if (!value) {
                node = Builder::FALSE_NODE;
                break;
            }
            node = builder_.product(node, outer ? value : leaf(value));
        }
        parts_.resize(first);
        components_.drop(top);
        return with_misses(misses, builder_.product(chain, node));
    }

    uint32_t expand_models(const Component &component, uint32_t decided, double share) {
        Models product = Models::of(false, false);
        for (size_t i = component.variables; i < component.clauses; ++i) {
            uint32_t v = *components_.at(i);
            if (propagation_.open(v) || v == decided) continue;
            product = times(product, 2 * v + (propagation_.value(2 * v) < 0));
        }
        size_t top = components_.top(), first = parts_.size();
        components_.split(component, asked_, parts_, [&](uint32_t v) { product *= both(v); });
        size_t last = parts_.size();
        if (first == last) job_.budget.advance(share);
        for (size_t i = first; i < last; ++i) {
            uint32_t value = solve(parts_[i], share / double(last - first));
            if (!value) {
                product = Models();
                break;
            }
            product *= models_[value];
        }
        parts_.resize(first);
        components_.drop(top);
        return add(product);
    }

    // The value of a variable that is in no clause any more.
    uint32_t alone(uint32_t v) {
        const Variable &variable = formula_.variables[v];
        if (variable.role == Role::Inner && !free_) {
            Models models = both(v);
            return builder_.leaf(models.kinds, models.query / models.all,
                                 models.evidence / models.all);
        }
        if (variable.whole && !asked_[v]) return Builder::TRUE_NODE;
        Edge edges[2] = {edge(2 * v, Builder::TRUE_NODE), edge(2 * v + 1, Builder::TRUE_NODE)};
        return builder_.sum(edges, 2);
    }

    Models both(uint32_t v) const {
        Models sum;
        for (uint32_t side = 0; side < 2; ++side)
            sum += times(Models::of(false, false), 2 * v + side);
        return sum;
    }

    // The edges of a sum over a group carry the weights of its choice.
    Edge edge(Lit lit, uint32_t node, const Group *group = nullptr) {
        node = with_misses(misses_[lit], node);
        Edge result{ONE, node};
        for (const Edge &one : formula_.weights[lit]) {
            bool own = !group || (one.weight >= group->first && one.weight < group->end);
            if (result.weight == ONE && one.weight != ONE && own)
                result.weight = one.weight;
            else
                result.child = weighed(one, result.child);
        }
        return result;
    }

    // --- what to decide

    Lit chosen(const Component &component, bool outer) {
        uint32_t best = 0;
        double most = -INFINITY;
        components_.frequencies(component, [&](uint32_t v, uint32_t often) {
            if (outer && !free_ && formula_.variables[v].role == Role::Inner) return;
            double score = double(often) + propagation_.activity(v) - pull_ * depth_[v];
            if (score > most) most = score, best = v;
        });
        return 2 * best;
    }
};

// Literals that are asserted, and those that leaves depend on.
struct Split {
    std::vector<Lit> asserted, rest;
};

Split split_evidence(const Job &job, const Ask &ask) {
    Split split;
    for (Lit lit : ask.evidence)
        (job.problem.gates.gates[gate_of(lit)].inner ? split.rest : split.asserted).push_back(lit);
    return split;
}

// All gates that some literals depend on.
std::vector<uint32_t> cone(const Job &job, const Ask &ask) {
    const Gates &gates = job.problem.gates;
    std::vector<uint32_t> result, todo;
    for (const auto *lits : {&ask.query, &ask.evidence})
        for (Lit lit : *lits) todo.push_back(gate_of(lit));
    std::vector<uint8_t> seen(job.part.gates.size(), 0);
    while (!todo.empty()) {
        uint32_t g = todo.back();
        todo.pop_back();
        if (!g || gates.gates[g].kind != Kind::And || seen[job.part.place(2 * g)]) continue;
        seen[job.part.place(2 * g)] = 1;
        result.push_back(g);
        for (const Lit *in = gates.begin(g); in != gates.end(g); ++in) todo.push_back(gate_of(*in));
    }
    job.budget.charge(result.size() + seen.size() / 64);
    std::sort(result.begin(), result.end());
    return result;
}

}  // namespace

std::vector<uint32_t> compile_search(const Job &job) {
    Builder &builder = job.builder;
    // Asks that need the same clauses share a search and its memory.
    std::map<std::pair<std::vector<Lit>, std::vector<uint32_t>>, std::vector<size_t>> groups;
    bool evidence = false;
    for (size_t i = 0; i < job.asks.size(); ++i) {
        Split split = split_evidence(job, job.asks[i]);
        evidence = evidence || !split.asserted.empty();
        groups[{split.asserted, cone(job, job.asks[i])}].push_back(i);
    }
    bool constrained = evidence && !job.part.asserted.empty();
    double share = 1.0 / double(job.asks.size() + constrained);
    uint32_t consistent = Builder::TRUE_NODE;
    if (constrained) consistent = Search(job, {}, {}).count({}, share);
    std::vector<uint32_t> roots(job.asks.size());
    for (auto &[key, members] : groups) {
        std::vector<Lit> asked;
        for (size_t i : members)
            for (const auto *lits : {&job.asks[i].query, &job.asks[i].evidence})
                asked.insert(asked.end(), lits->begin(), lits->end());
        Search search(job, key.first, asked);
        for (size_t i : members) {
            Split split = split_evidence(job, job.asks[i]);
            uint32_t node = search.count({job.asks[i].query, split.rest}, share);
            if (!split.asserted.empty()) {  // other total choices count for consistency alone
                uint32_t uncounted = builder.leaf({Value::QE, 1, 1, false});
                uint32_t other = builder.leaf({Value::OTHER, 0, 0});
                node = builder.sum({{ONE, builder.product(uncounted, node)},
                                    {ONE, builder.product(other, consistent)}});
            }
            roots[i] = node;
        }
    }
    return roots;
}

}  // namespace dpasp
