// The first way: top-down search over clauses, with components solved once.
//
// Outer variables are decided before inner ones within a component; determined ones whenever
// the order likes. Components without outer variables are only counted: they leave a leaf
// with the numbers of models of each kind for every question.
#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <unordered_map>

#include "clauses.hpp"
#include "hashing.hpp"
#include "scaled.hpp"
#include "sketch.hpp"
#include "ways.hpp"

namespace dpasp {
namespace {

// For one question: how many models satisfy q and e, e only, not e.
using Counts = std::array<Scaled, 3>;

struct Component {
    std::vector<uint32_t> variables;
    std::vector<uint32_t> clauses;  // those with more than two literals
    bool outer = false;             // has an undecided outer variable
    Key key;
};

class Search {
  public:
    Search(const Job &job, bool frequency)
        : asks_(job.asks), budget_(job.budget), watch_(job.watch), frequency_(frequency),
          cnf_(job.problem, job.part),
          sketch_(job.budget.nodes / 4) {  // with its tables a node takes much memory
        uint64_t n = cnf_.variables;
        if (!frequency) budget_.charge(n * n / 20);  // to decompose
        auto known = [&](Lit lit) { return cnf_.literal[job.part.place(lit)] ^ (lit & 1u); };
        tracks_.resize(2 * cnf_.variables);
        for (uint32_t k = 0; k < asks_.size(); ++k) {
            for (Lit lit : asks_[k].query) note(known(lit), k, 1);
            for (Lit lit : asks_[k].evidence) note(known(lit), k, 2);
        }
        if (!frequency) depth_ = tree_depth(cnf_, budget_.width, watch_);
        prepare();
    }

    // One root for each question.
    std::vector<uint32_t> run(Builder &builder) {
        uint32_t root = Sketch::FALSE_NODE;
        bool possible = true;
        for (const auto &clause : cnf_.clauses)
            if (clause.size() == 1) possible = possible && assign(clause[0]);
        if (possible && propagate()) {
            Component all;
            for (uint32_t v = 0; v < cnf_.variables; ++v) all.variables.push_back(v);
            for (uint32_t c = 0; c < cnf_.clauses.size(); ++c)
                if (cnf_.clauses[c].size() > 2) all.clauses.push_back(c);
            root = rest(all, 0);
        }
        std::vector<uint32_t> roots;
        for (uint32_t k = 0; k < asks_.size(); ++k) roots.push_back(settle(root, k, builder));
        return roots;
    }

  private:
    const std::vector<Ask> &asks_;
    Budget &budget_;
    Watch &watch_;
    bool frequency_;
    Clauses cnf_;
    std::vector<uint32_t> depth_;
    Sketch sketch_;
    // By literal: the questions that it breaks, with the kind of models that are left.
    std::vector<std::vector<std::pair<uint32_t, int>>> tracks_;

    std::vector<int8_t> truth_;  // by literal: 1 true, 0 false, -1 open
    std::vector<Lit> trail_;
    size_t head_ = 0;
    std::vector<std::vector<uint32_t>> watches_;  // by literal: clauses that watch it
    std::vector<std::vector<uint32_t>> long_of_;  // by variable: clauses with over two literals
    std::vector<std::vector<Lit>> implied_;       // by literal: what follows by binary clauses
    std::vector<Key> variable_key_, clause_key_;
    std::vector<uint32_t> seen_variable_, seen_clause_, score_;
    uint32_t stamp_ = 0;
    double share_ = 1;  // of the whole search

    std::unordered_map<Key, uint32_t, KeyHash> nodes_, counted_;
    std::vector<std::vector<Counts>> counts_;
    std::map<std::vector<std::pair<double, int64_t>>, uint32_t> count_index_;

    void note(Lit lit, uint32_t question, int kind) {
        tracks_[negate(lit)].emplace_back(question, kind);
    }

    // --- propagation ---------------------------------------------------------------------

    void prepare() {
        uint32_t n = cnf_.variables;
        truth_.assign(2 * n, -1);
        watches_.resize(2 * n);
        implied_.resize(2 * n);
        long_of_.resize(n);
        std::mt19937_64 random(7);
        for (uint32_t v = 0; v < n; ++v) variable_key_.push_back({random(), random()});
        for (uint32_t c = 0; c < cnf_.clauses.size(); ++c) {
            auto &clause = cnf_.clauses[c];
            clause_key_.push_back({random(), random()});
            if (clause.size() == 2) {
                implied_[negate(clause[0])].push_back(clause[1]);
                implied_[negate(clause[1])].push_back(clause[0]);
            } else if (clause.size() > 2) {
                watches_[clause[0]].push_back(c);
                watches_[clause[1]].push_back(c);
                for (Lit lit : clause) long_of_[gate_of(lit)].push_back(c);
            }
        }
        seen_variable_.assign(n, 0);
        seen_clause_.assign(cnf_.clauses.size(), 0);
        score_.assign(n, 0);
    }

    bool assign(Lit lit) {
        if (truth_[lit] >= 0) return truth_[lit] == 1;
        truth_[lit] = 1;
        truth_[negate(lit)] = 0;
        trail_.push_back(lit);
        return true;
    }

    bool propagate() {
        while (head_ < trail_.size()) {
            Lit lit = trail_[head_++];
            for (Lit other : implied_[lit])
                if (!assign(other)) return false;
            auto &list = watches_[negate(lit)];
            size_t kept = 0;
            for (size_t i = 0; i < list.size(); ++i) {
                auto &clause = cnf_.clauses[list[i]];
                if (clause[0] == negate(lit)) std::swap(clause[0], clause[1]);
                if (truth_[clause[0]] == 1) {
                    list[kept++] = list[i];
                    continue;
                }
                size_t k = 2;
                while (k < clause.size() && truth_[clause[k]] == 0) ++k;
                if (k < clause.size()) {
                    std::swap(clause[1], clause[k]);
                    watches_[clause[1]].push_back(list[i]);
                    continue;
                }
                list[kept++] = list[i];
                if (!assign(clause[0])) {
                    for (++i; i < list.size(); ++i) list[kept++] = list[i];
                    list.resize(kept);
                    return false;
                }
            }
            list.resize(kept);
        }
        return true;
    }

    void undo(size_t size) {
        while (trail_.size() > size) {
            Lit lit = trail_.back();
            trail_.pop_back();
            truth_[lit] = truth_[negate(lit)] = -1;
        }
        head_ = size;
    }

    // --- components ----------------------------------------------------------------------

    bool satisfied(uint32_t c) const {
        for (Lit lit : cnf_.clauses[c])
            if (truth_[lit] == 1) return true;
        return false;
    }

    // The components of what is left of `whole`.
    std::vector<Component> split(const Component &whole) {
        ++stamp_;
        std::vector<Component> found;
        std::vector<uint32_t> todo;
        for (uint32_t root : whole.variables) {
            if (truth_[2 * root] >= 0 || seen_variable_[root] == stamp_) continue;
            Component part;
            todo.assign(1, root);
            seen_variable_[root] = stamp_;
            while (!todo.empty()) {
                uint32_t v = todo.back();
                todo.pop_back();
                part.variables.push_back(v);
                part.key.toggle(variable_key_[v]);
                part.outer = part.outer || cnf_.kind[v] == Class::Outer;
                reach(v, part, todo);
            }
            found.push_back(std::move(part));
        }
        return found;
    }

    void reach(uint32_t v, Component &part, std::vector<uint32_t> &todo) {
        auto visit = [&](Lit lit) {
            uint32_t u = gate_of(lit);
            if (truth_[lit] < 0 && seen_variable_[u] != stamp_)
                seen_variable_[u] = stamp_, todo.push_back(u);
        };
        for (Lit lit : implied_[2 * v]) visit(lit);
        for (Lit lit : implied_[2 * v + 1]) visit(lit);
        for (uint32_t c : long_of_[v]) {
            if (seen_clause_[c] == stamp_) continue;
            seen_clause_[c] = stamp_;
            if (satisfied(c)) continue;
            part.clauses.push_back(c);
            part.key.toggle(clause_key_[c]);
            for (Lit lit : cnf_.clauses[c]) visit(lit);
        }
    }

    uint32_t pick(const Component &part, bool counting) {
        for (uint32_t c : part.clauses)
            for (Lit lit : cnf_.clauses[c]) ++score_[gate_of(lit)];
        uint32_t best = UINT32_MAX;
        std::pair<int64_t, int64_t> most{INT64_MIN, INT64_MIN};
        for (uint32_t v : part.variables) {
            if (!counting && cnf_.kind[v] == Class::Inner) continue;
            int64_t often =
                int64_t(4 * score_[v] + implied_[2 * v].size() + implied_[2 * v + 1].size());
            std::pair<int64_t, int64_t> now{frequency_ ? 0 : -int64_t(depth_[v]), often};
            if (best == UINT32_MAX || now > most) most = now, best = v;
        }
        for (uint32_t c : part.clauses)
            for (Lit lit : cnf_.clauses[c]) score_[gate_of(lit)] = 0;
        return best;
    }

    void spend(const Component &part) {
        watch_.look();
        watch_.descend();
        budget_.size = sketch_.size();
        budget_.charge(10 + part.variables.size() / 2 + part.clauses.size());
    }

    // The ways to decide a variable: both signs, or each value of its group that is open.
    std::vector<Lit> branches(uint32_t v) const {
        auto [begin, end] = cnf_.group[v];
        if (end - begin == 1) return {2 * v, 2 * v + 1};
        std::vector<Lit> result;
        for (uint32_t u = begin; u < end; ++u)
            if (truth_[2 * u] < 0) result.push_back(2 * u);
        return result;
    }

    // --- with outer variables: a sketch ----------------------------------------------------

    // What was assigned since `mark` times what is left of `whole`.
    uint32_t rest(const Component &whole, size_t mark) {
        uint32_t node = Sketch::TRUE_NODE;
        std::vector<Lit> assigned(trail_.begin() + ptrdiff_t(mark), trail_.end());
        std::vector<Component> parts = split(whole);
        double share = share_;
        if (parts.empty()) budget_.advance(share);
        share_ = share / double(parts.size());
        for (const Component &part : parts) {
            node = sketch_.product(node, solve(part));
            if (node == Sketch::FALSE_NODE) break;
        }
        share_ = share;
        if (node == Sketch::FALSE_NODE) return node;
        std::vector<Sketch::Factor> factors;
        for (Lit lit : assigned) {
            if (cnf_.weight[lit] != ONE)
                factors.push_back({Sketch::Op::Weight, uint32_t(cnf_.weight[lit])});
            if (!tracks_[lit].empty()) factors.push_back({Sketch::Op::Track, lit});
        }
        std::sort(factors.begin(), factors.end());
        for (Sketch::Factor factor : factors) node = sketch_.times(factor, node);
        return node;
    }

    uint32_t solve(const Component &part) {
        if (!part.outer) {
            budget_.advance(share_);
            return counted(part);
        }
        if (part.variables.size() == 1 && tracks_[2 * part.variables[0]].empty() &&
            tracks_[2 * part.variables[0] + 1].empty())
            return Sketch::TRUE_NODE;  // a free choice: its weights sum to 1
        auto found = nodes_.find(part.key);
        if (found != nodes_.end()) {
            budget_.advance(share_);
            return found->second;
        }
        spend(part);
        std::vector<uint32_t> children;
        double share = share_;
        std::vector<Lit> ways = branches(pick(part, false));
        share_ = share / double(ways.size());
        for (Lit lit : ways) {
            size_t mark = trail_.size();
            uint32_t node = Sketch::FALSE_NODE;
            if (assign(lit) && propagate()) node = rest(part, mark);
            undo(mark);
            children.push_back(node);
        }
        share_ = share;
        uint32_t node = sketch_.sum(std::move(children));
        nodes_.emplace(part.key, node);
        return node;
    }

    // --- without: numbers ------------------------------------------------------------------

    uint32_t counted(const Component &part) {
        uint32_t id = count(part);
        if (counts_[id].empty()) return Sketch::FALSE_NODE;
        return sketch_.times({Sketch::Op::Count, id}, Sketch::TRUE_NODE);
    }

    // The number of models of each kind for each question; an empty vector is none.
    uint32_t count(const Component &part) {
        auto found = counted_.find(part.key);
        if (found != counted_.end()) return found->second;
        spend(part);
        std::vector<Counts> total;
        for (Lit lit : branches(pick(part, true))) {
            size_t mark = trail_.size();
            if (assign(lit) && propagate()) add(total, product(part, mark));
            undo(mark);
        }
        uint32_t id = intern(total);
        counted_.emplace(part.key, id);
        return id;
    }

    std::vector<Counts> product(const Component &whole, size_t mark) {
        std::vector<Counts> result(asks_.size(), Counts{Scaled(1), Scaled(0), Scaled(0)});
        for (size_t i = mark; i < trail_.size(); ++i)
            for (auto &[k, kind] : tracks_[trail_[i]]) {
                Counts broken{Scaled(0), Scaled(0), Scaled(0)};
                broken[size_t(kind)] = Scaled(1);
                result[k] = times(result[k], broken);
            }
        for (const Component &part : split(whole)) {
            const auto &more = counts_[count(part)];
            if (more.empty()) return {};
            for (size_t k = 0; k < result.size(); ++k) result[k] = times(result[k], more[k]);
        }
        return result;
    }

    static Counts times(const Counts &x, const Counts &y) {
        Scaled all = y[0] + y[1] + y[2], given = y[0] + y[1];
        return {x[0] * y[0], x[1] * given + x[0] * y[1], x[2] * all + (x[0] + x[1]) * y[2]};
    }

    static void add(std::vector<Counts> &total, std::vector<Counts> more) {
        if (more.empty()) return;
        if (total.empty()) {
            total = std::move(more);
            return;
        }
        for (size_t k = 0; k < total.size(); ++k)
            for (size_t i = 0; i < 3; ++i) total[k][i] += more[k][i];
    }

    uint32_t intern(const std::vector<Counts> &total) {
        std::vector<std::pair<double, int64_t>> key;
        for (const Counts &counts : total)
            for (const Scaled &number : counts) key.emplace_back(number.m, number.e);
        auto [place, fresh] = count_index_.try_emplace(key, uint32_t(counts_.size()));
        if (fresh) counts_.push_back(total);
        return place->second;
    }

    // --- the sketch, for one question ------------------------------------------------------

    // Sketch and circuit have the same constants, and children before parents.
    uint32_t settle(uint32_t root, uint32_t k, Builder &builder) {
        std::unordered_map<uint32_t, uint32_t> done{{Sketch::FALSE_NODE, Builder::FALSE_NODE},
                                                    {Sketch::TRUE_NODE, Builder::TRUE_NODE}};
        return settle(root, k, builder, done);
    }

    uint32_t settle(uint32_t id, uint32_t k, Builder &builder,
                    std::unordered_map<uint32_t, uint32_t> &done) {
        auto found = done.find(id);
        if (found != done.end()) return found->second;
        watch_.descend();
        const Sketch::Node node = sketch_[id];
        uint32_t result = 0, child = 0;
        auto other = [&](uint32_t below) { return settle(below, k, builder, done); };
        switch (node.op) {
        case Sketch::Op::Sum: {
            std::vector<uint32_t> children;
            for (const uint32_t *at = sketch_.begin(node); at != sketch_.end(node); ++at)
                children.push_back(other(*at));
            result = merge(children, builder);
            break;
        }
        case Sketch::Op::Product: {
            uint32_t a = other(node.first), b = other(node.second);
            result = builder.product(a, b);
            break;
        }
        case Sketch::Op::Weight:
            child = other(node.second);
            result = builder.sum({{int32_t(node.first), child}});
            break;
        case Sketch::Op::Track:
            child = other(node.second);
            result = builder.product(child, broken(node.first, k, builder));
            break;
        default:
            child = other(node.second);
            result = builder.product(child, value(node.first, k, builder));
        }
        done.emplace(id, result);
        return result;
    }

    // A sum of single weighted edges is one sum over those weights.
    static uint32_t merge(const std::vector<uint32_t> &children, Builder &builder) {
        std::vector<Edge> flat;
        for (uint32_t child : children) {
            const Node &node = builder.nodes[child];
            if (node.op == Op::Sum && node.end - node.begin == 1)
                flat.push_back(builder.edges[node.begin]);
            else
                flat.push_back({ONE, child});
        }
        return builder.sum(std::move(flat));
    }

    uint32_t broken(Lit lit, uint32_t k, Builder &builder) const {
        int worst = 0;
        for (auto &[question, kind] : tracks_[lit])
            if (question == k) worst = std::max(worst, kind);
        if (worst == 2) return builder.leaf({Value::OTHER, 0, 0});
        if (worst == 1) return builder.leaf({Value::E, 0, 1});
        return Builder::TRUE_NODE;
    }

    uint32_t value(uint32_t id, uint32_t k, Builder &builder) const {
        const Counts &counts = counts_[id][k];
        uint8_t kinds = 0;
        for (size_t i = 0; i < 3; ++i)
            if (!counts[i].zero()) kinds |= uint8_t(1u << i);
        Scaled all = counts[0] + counts[1] + counts[2];
        return builder.leaf(kinds, counts[0] / all, (counts[0] + counts[1]) / all);
    }
};

}  // namespace

std::vector<uint32_t> compile_search(const Job &job, Order order) {
    return Search(job, order == Order::Frequency).run(job.builder);
}

}  // namespace dpasp
