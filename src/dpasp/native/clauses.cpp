#include "search.hpp"

#include "tuning.hpp"

namespace dpasp {
namespace {

class FormulaReader {
  public:
    FormulaReader(const Job &job, Formula &formula)
        : job_(job), gates_(job.problem.gates), formula_(formula), wanted_(gates_.size(), 0) {}

    void read(const std::vector<Lit> &evidence, const std::vector<Lit> &asked) {
        formula_.place.assign(gates_.size(), FALSE_LIT);
        formula_.place[0] = TRUE_LIT;
        add_variable({Role::Determined, true, true});
        formula_.clauses.push_back({TRUE_LIT});
        want(job_.part.asserted), want(evidence), want(asked);
        for (size_t i = job_.part.gates.size(); i-- > 0;) {
            uint32_t g = job_.part.gates[i];
            if (wanted_[g] && gates_.gates[g].kind == Kind::And)
                for (const Lit *in = gates_.begin(g); in != gates_.end(g); ++in)
                    wanted_[gate_of(*in)] = 1;
        }
        add_choices();
        for (uint32_t g : job_.part.gates)
            if (wanted_[g]) define(g);
        for (Lit lit : job_.part.asserted) formula_.clauses.push_back({formula_.of(lit)});
        for (Lit lit : evidence) formula_.clauses.push_back({formula_.of(lit)});
        for (Lit lit : asked) formula_.variables[gate_of(formula_.of(lit))].kept = true;
    }

  private:
    const Job &job_;
    const Gates &gates_;
    Formula &formula_;
    std::vector<uint8_t> wanted_;  // by gate

    void want(const std::vector<Lit> &lits) {
        for (Lit lit : lits) wanted_[gate_of(lit)] = 1;
    }

    Lit add_variable(const Variable &variable) {
        formula_.variables.push_back(variable);
        formula_.weights.resize(2 * formula_.variables.size());
        return Lit(2 * (formula_.variables.size() - 1));
    }

    // The variables of the values that occur; one more stands for all others.
    void add_choices() {
        std::unordered_map<uint32_t, std::vector<uint32_t>> values;  // by choice: gates
        for (uint32_t g : job_.part.gates)
            if (wanted_[g] && gates_.gates[g].kind == Kind::Value)
                values[gates_.gates[g].first].push_back(g);
        for (uint32_t choice : job_.part.choices) {
            auto found = values.find(choice);
            if (found == values.end()) continue;
            const ChoiceShape &shape = gates_.choices[choice];
            if (shape.values == 2)
                add_pair(shape, found->second);
            else
                add_values(shape, found->second);
        }
    }

    void add_pair(const ChoiceShape &shape, const std::vector<uint32_t> &occurring) {
        Lit first = add_variable({Role::Choice, true, true});
        for (uint32_t v = 0; v < 2; ++v)
            formula_.weights[first + v] = {{int32_t(shape.leaf + v), Builder::TRUE_NODE}};
        for (uint32_t g : occurring) formula_.place[g] = first + gates_.gates[g].second;
    }

    void add_values(const ChoiceShape &shape, const std::vector<uint32_t> &occurring) {
        Clause one;
        std::vector<uint8_t> occurs(shape.values, 0);
        for (uint32_t g : occurring) {
            uint32_t value = gates_.gates[g].second;
            occurs[value] = 1;
            one.push_back(formula_.place[g] = add_variable({Role::Choice, true, false}));
            formula_.weights[one.back()] = {{int32_t(shape.leaf + value), Builder::TRUE_NODE}};
        }
        std::vector<Edge> others;
        for (uint32_t v = 0; v < shape.values; ++v)
            if (!occurs[v]) others.push_back({int32_t(shape.leaf + v), Builder::TRUE_NODE});
        if (!others.empty()) {
            one.push_back(add_variable({Role::Choice, true, false}));
            formula_.weights[one.back()] = {{ONE, job_.builder.sum(others)}};
        }
        job_.budget.charge(one.size() * one.size());
        for (size_t i = 0; i < one.size(); ++i)
            for (size_t j = 0; j < i; ++j)
                formula_.clauses.push_back({negate(one[i]), negate(one[j])});
        auto first = int32_t(shape.leaf);
        formula_.groups.push_back({one, first, first + int32_t(shape.values)});
        formula_.clauses.push_back(std::move(one));
    }

    void define(uint32_t g) {
        const Gate &gate = gates_.gates[g];
        if (gate.kind == Kind::Guess)  // where models are not counted, it may be eliminated
            formula_.place[g] = add_variable({Role::Inner, job_.mode != Mode::Bits, false});
        if (gate.kind != Kind::And) return;
        Lit own = formula_.place[g] =
            add_variable({gate.inner ? Role::Inner : Role::Determined, false, false});
        Clause all{own};
        for (const Lit *in = gates_.begin(g); in != gates_.end(g); ++in) {
            Lit input = formula_.of(*in);
            formula_.clauses.push_back({negate(own), input});
            all.push_back(negate(input));
        }
        formula_.clauses.push_back(std::move(all));
    }
};

// Clauses with the places where their literals occur.
class Simplifier {
  public:
    Simplifier(Formula &formula, Budget &budget, Watch &watch)
        : formula_(formula), budget_(budget), watch_(watch), clauses_(formula.clauses),
          occurs_(2 * formula.variables.size()), stands_(formula.variables.size()) {
        for (uint32_t v = 0; v < stands_.size(); ++v) stands_[v] = 2 * v;
    }

    void run() {
        tidy();
        for (int round = 0; round < 3 && formula_.possible; ++round) {
            size_t before = size();
            merge_equivalent();
            link();
            subsume();
            eliminate();
            if (formula_.possible) probe();
            if (formula_.possible && size() >= before) break;
        }
        tidy();
        for (Lit &own : formula_.place) own = resolve(own);
        for (uint32_t v = 0; v < stands_.size(); ++v)
            formula_.variables[v].gone = v == 0 || stands_[v] != 2 * v;
        settle_groups();
    }

  private:
    Formula &formula_;
    Budget &budget_;
    Watch &watch_;
    std::vector<Clause> &clauses_;  // an empty one is gone
    std::vector<std::vector<uint32_t>> occurs_;
    std::vector<Lit> stands_;  // by variable: what stands for it
    std::vector<uint64_t> signatures_;
    std::vector<uint32_t> touched_;
    std::vector<uint8_t> waiting_;

    Lit resolve(Lit lit) const {
        while (true) {
            Lit next = stands_[gate_of(lit)] ^ (lit & 1u);
            if (next == lit) return lit;
            lit = next;
        }
    }

    size_t size() const {
        size_t total = 0;
        for (const Clause &clause : clauses_) total += clause.size();
        return total;
    }

    void contradict() {
        formula_.possible = false;
        clauses_.clear();
    }

    void fix(Lit lit) {
        Lit own = resolve(lit);
        if (own == FALSE_LIT) return contradict();
        if (own == TRUE_LIT) return;
        for (const Edge &edge : formula_.weights[own]) formula_.weights[TRUE_LIT].push_back(edge);
        stands_[gate_of(own)] = TRUE_LIT ^ (own & 1u);
    }

    // Removes units until there are none, and literals that occur twice or with their negation.
    void tidy() {
        for (bool more = true; more && formula_.possible;) {
            more = false;
            size_t kept = 0;
            for (size_t i = 0; i < clauses_.size(); ++i) {
                watch_.check();
                Clause &clause = clauses_[i];
                budget_.charge(1 + clause.size() / 8);
                if (!settle(clause)) continue;
                if (clause.empty()) return contradict();
                if (clause.size() == 1) {
                    fix(clause[0]);
                    more = true;
                    if (!formula_.possible) return;
                    continue;
                }
                if (kept != i) clauses_[kept] = std::move(clause);
                ++kept;
            }
            clauses_.resize(kept);
        }
    }

    // Replaces the literals of a clause by those that stand for them; false if it always holds.
    bool settle(Clause &clause) const {
        for (Lit &lit : clause) lit = resolve(lit);
        sort_unique(clause);
        if (!clause.empty() && clause[0] == TRUE_LIT) return false;
        if (!clause.empty() && clause[0] == FALSE_LIT) clause.erase(clause.begin());
        for (size_t i = 1; i < clause.size(); ++i)
            if (clause[i] == negate(clause[i - 1])) return false;
        return true;
    }

    // What remains of each group; a variable for values of several groups belongs to the first.
    void settle_groups() {
        formula_.group.assign(stands_.size(), Formula::NO_GROUP);
        for (uint32_t g = 0; g < formula_.groups.size(); ++g) {
            Group &group = formula_.groups[g];
            std::vector<Lit> open;
            group.whole = true;
            for (Lit value : group.values) {
                Lit own = resolve(value);
                group.whole = group.whole && own == value && gate_of(own) != 0 &&
                              formula_.weights[own].size() == 1 &&
                              formula_.weights[negate(own)].empty();
                if (gate_of(own) != 0) open.push_back(own);
            }
            group.values = std::move(open);
            for (Lit own : group.values) {
                uint32_t &of = formula_.group[gate_of(own)];
                if (of == Formula::NO_GROUP) of = g;
            }
        }
    }

    // Merges literals that imply each other by clauses of two.
    void merge_equivalent() {
        std::vector<std::pair<uint32_t, uint32_t>> pairs;
        for (const Clause &clause : clauses_)
            if (clause.size() == 2) {
                pairs.emplace_back(negate(clause[0]), 2 * clause[1]);
                pairs.emplace_back(negate(clause[1]), 2 * clause[0]);
            }
        budget_.charge(pairs.size());
        if (pairs.empty()) return;
        Edges graph(uint32_t(occurs_.size()), pairs);
        bool merged = false;
        for (auto &same : components(graph)) {
            if (same.size() < 2) continue;
            Lit own = *std::min_element(same.begin(), same.end());
            for (Lit lit : same) {
                if (lit == own || gate_of(resolve(lit)) == gate_of(own)) {
                    if (resolve(lit) == negate(own)) return contradict();
                    continue;
                }
                join(own, lit);
                merged = true;
            }
        }
        if (merged) tidy();
    }

    // Replaces `lit` by `own`.
    void join(Lit own, Lit lit) {
        auto &variables = formula_.variables;
        Variable &kept = variables[gate_of(own)];
        const Variable &gone = variables[gate_of(lit)];
        bool weighed = kept.role == Role::Choice, both = weighed && gone.role == Role::Choice;
        kept.whole = both ? false : weighed ? kept.whole : gone.whole;
        kept.kept = kept.kept || gone.kept;
        kept.role = std::min(kept.role, gone.role);
        for (uint32_t side = 0; side < 2; ++side) {
            auto &to = formula_.weights[own ^ side];
            const auto &from = formula_.weights[lit ^ side];
            to.insert(to.end(), from.begin(), from.end());
        }
        stands_[gate_of(lit)] = own ^ (lit & 1u);
    }

    // --- clauses that others imply

    void link() {
        for (auto &list : occurs_) list.clear();
        signatures_.assign(clauses_.size(), 0);
        waiting_.assign(clauses_.size(), 0);
        touched_.clear();
        for (uint32_t c = 0; c < clauses_.size(); ++c) enlist(c);
    }

    void enlist(uint32_t c) {
        uint64_t signature = 0;
        for (Lit lit : clauses_[c]) {
            occurs_[lit].push_back(c);
            signature |= uint64_t(1) << (gate_of(lit) & 63u);
        }
        signatures_[c] = signature;
        touch(c);
    }

    void touch(uint32_t c) {
        if (waiting_[c]) return;
        waiting_[c] = 1;
        touched_.push_back(c);
    }

    void drop(uint32_t c) {
        for (Lit lit : clauses_[c]) unlist(lit, c);
        clauses_[c].clear();
    }

    void unlist(Lit lit, uint32_t c) {
        auto &list = occurs_[lit];
        list.erase(std::find(list.begin(), list.end(), c));
    }

    void subsume() {
        while (!touched_.empty() && formula_.possible) {
            watch_.check();
            uint32_t c = touched_.back();
            touched_.pop_back();
            waiting_[c] = 0;
            if (clauses_[c].size() > 1) subsume_with(c);
        }
    }

    void subsume_with(uint32_t c) {
        auto often = [&](Lit lit) { return occurs_[lit].size() + occurs_[negate(lit)].size(); };
        Lit rare = *std::min_element(clauses_[c].begin(), clauses_[c].end(),
                                     [&](Lit a, Lit b) { return often(a) < often(b); });
        if (often(rare) > tuning::SEARCH_OCCURRENCES) return;
        budget_.charge(1 + often(rare) / 4);
        for (Lit lit : {rare, negate(rare)}) {
            std::vector<uint32_t> others = occurs_[lit];
            for (uint32_t d : others) {
                if (d == c || clauses_[d].size() < clauses_[c].size()) continue;
                if (signatures_[c] & ~signatures_[d]) continue;
                Lit flipped = TRUE_LIT;
                if (!within(clauses_[c], clauses_[d], flipped)) continue;
                if (flipped == TRUE_LIT) {
                    drop(d);
                } else if (clauses_[d].size() > 2) {
                    unlist(flipped, d);
                    clauses_[d].erase(std::find(clauses_[d].begin(), clauses_[d].end(), flipped));
                    touch(d);
                }
            }
        }
    }

    // Whether the literals of the first are in the second, one of them (`flipped`, as it is
    // there) perhaps negated.
    static bool within(const Clause &small, const Clause &large, Lit &flipped) {
        auto at = large.begin();
        for (Lit lit : small) {
            while (at != large.end() && gate_of(*at) < gate_of(lit)) ++at;
            if (at == large.end() || gate_of(*at) != gate_of(lit)) return false;
            if (*at == lit) continue;
            if (flipped != TRUE_LIT) return false;
            flipped = *at;
        }
        return true;
    }

    // --- variables that are resolved away

    void eliminate() {
        std::vector<std::pair<size_t, uint32_t>> order;
        for (uint32_t v = 1; v < stands_.size(); ++v)
            if (!formula_.variables[v].kept && stands_[v] == 2 * v)
                order.emplace_back(occurs_[2 * v].size() + occurs_[2 * v + 1].size(), v);
        std::sort(order.begin(), order.end());
        for (auto &[_, v] : order) {
            watch_.check();
            if (!formula_.possible) return;
            eliminate(v);
            subsume();
        }
    }

    void eliminate(uint32_t v) {
        const std::vector<uint32_t> with = occurs_[2 * v], without = occurs_[2 * v + 1];
        if (with.size() * without.size() > tuning::SEARCH_RESOLVENTS) return;
        budget_.charge(1 + with.size() * without.size());
        std::vector<Clause> made;
        for (uint32_t a : with)
            for (uint32_t b : without) {
                Clause both;
                if (!resolvent(clauses_[a], clauses_[b], v, both)) continue;
                if (both.empty()) return contradict();
                made.push_back(std::move(both));
                if (made.size() > with.size() + without.size()) return;
                if (made.back().size() > tuning::SEARCH_LONG_RESOLVENT) return;
            }
        for (uint32_t c : with) drop(c);
        for (uint32_t c : without) drop(c);
        for (Clause &clause : made) {
            clauses_.push_back(std::move(clause));
            signatures_.push_back(0);
            waiting_.push_back(0);
            enlist(uint32_t(clauses_.size() - 1));
        }
    }

    static bool resolvent(const Clause &a, const Clause &b, uint32_t v, Clause &both) {
        for (const Clause *clause : {&a, &b})
            for (Lit lit : *clause)
                if (gate_of(lit) != v) both.push_back(lit);
        sort_unique(both);
        for (size_t i = 1; i < both.size(); ++i)
            if (both[i] == negate(both[i - 1])) return false;
        return true;
    }

    // --- what propagation shows

    // Asserts the negations of literals whose assumption fails, and removes literals that are false
    // if the rest of their clause is.
    void probe() {
        clauses_.erase(std::remove_if(clauses_.begin(), clauses_.end(),
                                      [](const Clause &clause) { return clause.empty(); }),
                       clauses_.end());
        Propagation propagation(stands_.size(), clauses_);
        if (propagation.contradictory) return contradict();
        uint64_t most = tuning::SEARCH_PROBING;
        for (uint32_t v = 1; v < stands_.size() && propagation.work < most; ++v)
            for (uint32_t side = 0; side < 2; ++side) {
                watch_.check();
                if (!propagation.open(v)) continue;
                propagation.decide(2 * v + side);
                bool fine = propagation.propagate();
                if (fine) propagation.back();
                while (!fine) {
                    if (!propagation.learn()) return contradict();
                    fine = propagation.settle();
                }
            }
        for (Clause &clause : clauses_) {
            if (propagation.work > most) break;
            watch_.check();
            if (clause.size() > 2) shorten(clause, propagation);
        }
        budget_.charge(propagation.work / 8);
        for (Lit lit : propagation.trail()) clauses_.push_back({lit});
        tidy();
    }

    // The literals that remain follow from all clauses, including this one, and imply it.
    static void shorten(Clause &clause, Propagation &propagation) {
        for (Lit lit : clause)
            if (propagation.value(lit)) return;  // at the lowest level: tidied later
        Clause kept;
        bool done = false;
        for (size_t i = 0; i + 1 < clause.size() && !done; ++i) {
            Lit lit = clause[i];
            if (propagation.value(lit) > 0) {  // what was kept implies it
                kept.push_back(lit);
                done = true;
            } else if (propagation.value(lit) < 0) {
                continue;  // what was kept implies its negation: it adds nothing
            } else {
                kept.push_back(lit);
                propagation.decide(negate(lit));
                done = !propagation.propagate();
            }
        }
        while (propagation.level()) propagation.back();
        if (!done && kept.size() + 1 < clause.size()) kept.push_back(clause.back()), done = true;
        if (done && kept.size() < clause.size()) {
            std::sort(kept.begin(), kept.end());
            clause = kept;
        }
    }
};

}  // namespace

Formula read_formula(const Job &job, const std::vector<Lit> &evidence,
                     const std::vector<Lit> &asked) {
    Formula formula;
    FormulaReader(job, formula).read(evidence, asked);
    return formula;
}

void simplify(Formula &formula, Budget &budget, Watch &watch) {
    Simplifier(formula, budget, watch).run();
}

}  // namespace dpasp
