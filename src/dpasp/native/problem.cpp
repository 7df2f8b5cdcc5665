#include "problem.hpp"

#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "dependency.hpp"
#include "fixpoint.hpp"
#include "part.hpp"

namespace dpasp {
namespace {

struct Rule {
    uint32_t head;              // 0 is a constraint
    uint32_t itself = 0;        // an atom that must be true without support from here: not not a
    std::vector<int32_t> body;  // literals over atoms
    std::vector<int64_t> weights;
    int64_t bound = 0;
    bool weighted = false;
};

class Reader {
  public:
    Reader(const Ground &ground, Watch &watch)
        : ground_(ground), watch_(watch), problem_(shapes(ground)) {}

    Problem read() {
        read_questions();
        read_choices();
        read_rules();
        index_rules();
        choose_guesses();
        mark_needed();
        build();
        finish();
        return std::move(problem_);
    }

  private:
    const Ground &ground_;
    Watch &watch_;
    Problem problem_;
    std::vector<Rule> rules_;
    std::vector<std::vector<uint32_t>> rules_of_;  // by head
    std::vector<uint32_t> constraints_;
    std::vector<Lit> value_;         // by atom: the literal that stands for it
    std::vector<uint8_t> selector_;  // by atom: 1 for selectors
    std::vector<uint8_t> guessed_, needed_, loose_;
    std::vector<Lit> guess_;  // by atom, where guessed
    std::vector<uint32_t> vertex_;
    std::vector<std::vector<int64_t>> asked_;  // query and evidence of each question in turn

    static std::vector<ChoiceShape> shapes(const Ground &ground) {
        std::vector<ChoiceShape> shapes;
        uint32_t leaf = 0;
        for (size_t i = 0; i < ground.choices.size();) {
            uint32_t selectors = uint32_t(ground.choices[i]);
            uint32_t values = selectors + uint32_t(ground.choices[i + 1]);
            shapes.push_back({values, leaf});
            leaf += values;
            i += 2 + selectors;
        }
        return shapes;
    }

    void read_questions() {
        const auto &data = ground_.questions;
        for (size_t i = 0; i < data.size();) {
            size_t length = size_t(data[i++]);
            asked_.emplace_back(data.begin() + ptrdiff_t(i), data.begin() + ptrdiff_t(i + length));
            i += length;
        }
    }

    void read_choices() {
        uint32_t n = ground_.atoms;
        value_.assign(n, FALSE_LIT);
        selector_.assign(n, 0);
        vertex_.resize(n);
        for (uint32_t a = 0; a < n; ++a) vertex_[a] = a;
        uint32_t choice = 0;
        for (size_t i = 0; i < ground_.choices.size(); ++choice) {
            uint32_t selectors = uint32_t(ground_.choices[i]);
            i += 2;
            problem_.choice_vertex.push_back(n + choice);
            for (uint32_t v = 0; v < selectors; ++v, ++i) {
                uint32_t atom = uint32_t(ground_.choices[i]);
                value_[atom] = problem_.gates.value(choice, v);
                selector_[atom] = 1;
                vertex_[atom] = n + choice;
            }
        }
        problem_.vertices = n + choice;
    }

    void read_rules() {
        std::vector<uint32_t> cluster;  // positive components, only when there is a disjunction
        const auto &data = ground_.rules;
        for (size_t i = 0; i < data.size();) {
            int64_t flags = data[i++];
            size_t heads = size_t(data[i++]);
            std::vector<uint32_t> head(data.begin() + i, data.begin() + i + heads);
            i += heads;
            size_t length = size_t(data[i++]);
            Rule rule;
            rule.body.assign(data.begin() + i, data.begin() + i + length);
            i += length;
            if (flags & 2) {
                rule.weighted = true;
                rule.bound = data[i++];
                rule.weights.assign(data.begin() + i, data.begin() + i + length);
                i += length;
            }
            std::sort(head.begin(), head.end());
            head.erase(std::unique(head.begin(), head.end()), head.end());
            if (!(flags & 1) && head.size() > 1) {
                if (cluster.empty()) cluster = positive_clusters();
                for (size_t j = 0; j < head.size(); ++j)
                    for (size_t k = j + 1; k < head.size(); ++k)
                        if (cluster[head[j]] == cluster[head[k]])
                            throw Stopped(Reason::HeadCycle, "head cycle");
            }
            add(head, rule, flags & 1);
        }
    }

    void add(const std::vector<uint32_t> &head, Rule &rule, bool choice) {
        if (head.empty()) {
            if (choice) return;
            rule.head = 0;
            rules_.push_back(std::move(rule));
            return;
        }
        bool shifted = !choice && head.size() > 1;
        if (shifted && rule.weighted) rule = unweighted(rule);
        for (uint32_t atom : head) {
            Rule copy = rule;
            copy.head = atom;
            if (choice) copy.itself = atom;
            if (shifted)
                for (uint32_t other : head)
                    if (other != atom) copy.body.push_back(-int32_t(other));
            bool loops = !copy.weighted && std::find(copy.body.begin(), copy.body.end(),
                                                     int32_t(atom)) != copy.body.end();
            if (!loops && atom != 0) rules_.push_back(std::move(copy));  // a :- a says nothing
        }
    }

    // A disjunction with a weighted body: the weights move into an atom of their own.
    Rule unweighted(Rule &rule) {
        uint32_t atom = uint32_t(value_.size());
        value_.push_back(FALSE_LIT);
        selector_.push_back(0);
        vertex_.push_back(problem_.vertices++);
        rule.head = atom;
        rules_.push_back(rule);
        Rule plain;
        plain.head = 0;
        plain.body = {int32_t(atom)};
        return plain;
    }

    std::vector<uint32_t> positive_clusters() {
        std::vector<std::pair<uint32_t, uint32_t>> pairs;
        const auto &data = ground_.rules;
        for (size_t i = 0; i < data.size();) {
            int64_t flags = data[i++];
            size_t heads = size_t(data[i++]), head = i;
            i += heads;
            size_t length = size_t(data[i++]);
            for (size_t b = i; b < i + length; ++b)
                if (data[b] > 0)
                    for (size_t h = head; h < head + heads; ++h)
                        pairs.push_back({uint32_t(data[h]), uint32_t(2 * data[b])});
            i += length;
            if (flags & 2) i += 1 + length;
        }
        Edges edges(ground_.atoms, pairs);
        std::vector<uint32_t> all(ground_.atoms), order(ground_.atoms), low(ground_.atoms);
        for (uint32_t a = 0; a < ground_.atoms; ++a) all[a] = a;
        std::vector<uint32_t> cluster(ground_.atoms);
        uint32_t count = 0;
        for (auto &part : components(all, edges, order, low,
                                     [](uint32_t, uint32_t) { return true; })) {
            for (uint32_t atom : part) cluster[atom] = count;
            ++count;
        }
        return cluster;
    }

    void index_rules() {
        rules_of_.resize(value_.size());
        for (uint32_t r = 0; r < rules_.size(); ++r) {
            if (rules_[r].head)
                rules_of_[rules_[r].head].push_back(r);
            else
                constraints_.push_back(r);
        }
    }

    Edges edges() const {
        std::vector<std::pair<uint32_t, uint32_t>> pairs;
        for (const Rule &rule : rules_)
            if (rule.head)
                for (int32_t b : rule.body)
                    pairs.push_back({rule.head, b > 0 ? 2 * uint32_t(b) : 2 * uint32_t(-b) + 1});
        return Edges(uint32_t(value_.size()), pairs);
    }

    // Break every loop through negation by guessing some of the atoms that are negated in it.
    void choose_guesses() {
        uint32_t n = uint32_t(value_.size());
        guessed_.assign(n, 0);
        loose_.assign(n, 0);
        for (const Rule &rule : rules_)
            if (rule.itself) guessed_[rule.itself] = 1;
        Edges graph = edges();
        auto follow_all = [](uint32_t, uint32_t) { return true; };
        std::vector<uint32_t> all(n), order(n), low(n), home(n, 0);
        for (uint32_t a = 0; a < n; ++a) all[a] = a;
        auto parts = components(all, graph, order, low, follow_all);
        uint32_t count = 0;
        for (auto &part : parts) {  // bottom up: an atom is loose when a model may choose it
            ++count;
            bool loose = false;
            for (uint32_t a : part) home[a] = count, loose = loose || guessed_[a];
            for (uint32_t a : part)
                for (uint32_t at = graph.start[a]; at < graph.start[a + 1]; ++at) {
                    uint32_t edge = graph.target[at], b = edge >> 1;
                    loose = loose || (home[b] == count ? (edge & 1u) : loose_[b]);
                }
            if (loose)
                for (uint32_t a : part) loose_[a] = 1;
        }
        std::vector<std::vector<uint32_t>> todo(std::move(parts));
        while (!todo.empty()) {
            watch_.check();
            std::vector<uint32_t> part = std::move(todo.back());
            todo.pop_back();
            ++count;
            for (uint32_t a : part) home[a] = count;
            if (!guess_in(part, graph, home)) continue;
            for (uint32_t a : part) order[a] = low[a] = 0;
            auto follow = [&](uint32_t from, uint32_t edge) {
                return home[edge >> 1] == home[from] && !((edge & 1u) && guessed_[edge >> 1]);
            };
            for (auto &smaller : components(part, graph, order, low, follow))
                todo.push_back(std::move(smaller));
        }
    }

    // Guess the atom most often negated inside the part; false when none is.
    bool guess_in(const std::vector<uint32_t> &part, const Edges &graph,
                  const std::vector<uint32_t> &home) {
        std::unordered_map<uint32_t, uint32_t> times;
        uint32_t best = 0, most = 0;
        for (uint32_t a : part)
            for (uint32_t at = graph.start[a]; at < graph.start[a + 1]; ++at) {
                uint32_t edge = graph.target[at], b = edge >> 1;
                if (!(edge & 1u) || home[b] != home[a] || guessed_[b]) continue;
                uint32_t now = ++times[b];
                if (now > most || (now == most && b < best)) best = b, most = now;
            }
        if (!most) return false;
        guessed_[best] = 1;
        if (part.size() > 3000)  // too large to look for few guesses
            for (auto &[atom, _] : times) guessed_[atom] = 1;
        return true;
    }

    void mark_needed() {
        needed_.assign(value_.size(), 0);
        std::vector<uint32_t> todo;
        auto need = [&](int64_t literal) {
            uint32_t atom = uint32_t(literal < 0 ? -literal : literal);
            if (atom && !needed_[atom]) needed_[atom] = 1, todo.push_back(atom);
        };
        for (uint32_t a = 1; a < value_.size(); ++a)
            if (guessed_[a]) need(a);
        for (uint32_t r : constraints_)
            for (int32_t b : rules_[r].body) need(b);
        for (const auto &literals : asked_)
            for (int64_t b : literals) need(b);
        for (int64_t atom : ground_.own) need(atom);
        for (int64_t atom : ground_.observed) need(atom);
        while (!todo.empty()) {
            uint32_t atom = todo.back();
            todo.pop_back();
            for (uint32_t r : rules_of_[atom])
                for (int32_t b : rules_[r].body) need(b);
        }
    }

    void build() {
        uint32_t n = uint32_t(value_.size());
        guess_.assign(n, FALSE_LIT);
        for (uint32_t a = 1; a < n; ++a)
            if (guessed_[a]) {
                guess_[a] = problem_.gates.guess();
                problem_.guess_vertex.push_back(vertex_[a]);
            }
        Edges graph = edges();
        std::vector<uint32_t> wanted, order(n), low(n);
        for (uint32_t a = 1; a < n; ++a)
            if (needed_[a] && !selector_[a]) wanted.push_back(a);
        auto follow = [&](uint32_t, uint32_t edge) {
            return !selector_[edge >> 1] && !((edge & 1u) && guessed_[edge >> 1]);
        };
        for (auto &part : components(wanted, graph, order, low, follow)) {
            watch_.check();
            define(part, graph);
        }
    }

    Lit negative(uint32_t atom) const {
        return negate(guessed_[atom] ? guess_[atom] : value_[atom]);
    }

    // The body of a rule as a gate; `inside` gives the literal of atoms in their own component.
    template <class Inside> Lit body(const Rule &rule, Inside inside) {
        std::vector<Lit> lits;
        for (int32_t b : rule.body) lits.push_back(b > 0 ? inside(uint32_t(b)) : negative(uint32_t(-b)));
        Lit result;
        if (rule.weighted)
            result = at_least(problem_.gates, lits, rule.weights, rule.bound, watch_);
        else
            result = problem_.gates.all(std::move(lits));
        return rule.itself ? problem_.gates.both(result, guess_[rule.itself]) : result;
    }

    void define(const std::vector<uint32_t> &part, const Edges &graph) {
        std::unordered_map<uint32_t, uint32_t> index;
        bool loop = part.size() > 1;
        for (uint32_t at = graph.start[part[0]]; !loop && at < graph.start[part[0] + 1]; ++at)
            loop = graph.target[at] == 2 * part[0];
        if (!loop) {
            std::vector<Lit> ways;
            for (uint32_t r : rules_of_[part[0]])
                ways.push_back(body(rules_[r], [&](uint32_t b) { return value_[b]; }));
            settle(part[0], problem_.gates.any(std::move(ways)));
            return;
        }
        for (uint32_t i = 0; i < part.size(); ++i) index[part[i]] = i;
        std::vector<Lit> values =
            linear(part, index) ? solve_linear(part, index) : solve_other(part, index);
        for (uint32_t i = 0; i < part.size(); ++i) settle(part[i], values[i]);
    }

    void settle(uint32_t atom, Lit lit) {
        if (!guessed_[atom]) {
            value_[atom] = lit;
            return;
        }
        Lit guess = value_[atom] = guess_[atom];
        problem_.asserted.push_back(negate(problem_.gates.both(guess, negate(lit))));
        problem_.asserted.push_back(negate(problem_.gates.both(negate(guess), lit)));
    }

    bool linear(const std::vector<uint32_t> &part,
                const std::unordered_map<uint32_t, uint32_t> &index) const {
        for (uint32_t atom : part)
            for (uint32_t r : rules_of_[atom]) {
                int inside = 0;
                for (int32_t b : rules_[r].body) inside += b > 0 && index.count(uint32_t(b));
                if (inside > 1) return false;
            }
        return true;
    }

    std::vector<Lit> solve_linear(const std::vector<uint32_t> &part,
                                  const std::unordered_map<uint32_t, uint32_t> &index) {
        LinearSystem system(problem_.gates, uint32_t(part.size()));
        for (uint32_t i = 0; i < part.size(); ++i)
            for (uint32_t r : rules_of_[part[i]]) {
                int64_t through = -1;
                for (int32_t b : rules_[r].body)
                    if (b > 0 && index.count(uint32_t(b))) through = b;
                auto with = [&](Lit lit) {
                    return body(rules_[r], [&](uint32_t b) { return b == through ? lit : value_[b]; });
                };
                if (through < 0) {
                    system.add(i, with(FALSE_LIT));
                } else {
                    if (rules_[r].weighted) system.add(i, with(FALSE_LIT));
                    system.add(i, index.at(uint32_t(through)), with(TRUE_LIT));
                }
            }
        std::vector<uint8_t> late(part.size());
        for (uint32_t i = 0; i < part.size(); ++i) late[i] = asked(part[i]);
        return system.solve(late, watch_);
    }

    bool asked(uint32_t atom) const {
        if (asked_.size() > 20) return false;  // many: then no atom is special
        for (const auto &literals : asked_)
            for (int64_t b : literals)
                if (uint32_t(std::abs(b)) == atom) return true;
        return false;
    }

    // Loops with several atoms of the loop in one body: iterate if the end can be proved soon,
    // else eliminate.
    std::vector<Lit> solve_other(const std::vector<uint32_t> &part,
                                 const std::unordered_map<uint32_t, uint32_t> &index) {
        Gates &gates = problem_.gates;
        auto equation = [&](uint32_t i, const std::vector<Lit> &values) {
            std::vector<Lit> ways;
            for (uint32_t r : rules_of_[part[i]])
                ways.push_back(body(rules_[r], [&](uint32_t b) {
                    auto found = index.find(b);
                    return found == index.end() ? value_[b] : values[found->second];
                }));
            return gates.any(std::move(ways));
        };
        auto equal = [&](const std::vector<std::pair<Lit, Lit>> &pairs) {
            return same_functions(problem_, pairs, watch_);
        };
        size_t most = gates.most;
        try {
            gates.most = std::min(most, gates.size() + 1000000);
            auto values = Iteration(gates, equation, equal).solve(uint32_t(part.size()), watch_);
            gates.most = most;
            return values;
        } catch (const Stopped &stopped) {
            if (stopped.reason != Reason::Size) throw;
            gates.most = most;
        }
        GeneralSystem system(gates, uint32_t(part.size()));
        for (uint32_t i = 0; i < part.size(); ++i)
            for (uint32_t r : rules_of_[part[i]])
                system.add(i, body(rules_[r], [&](uint32_t b) {
                               auto found = index.find(b);
                               return found == index.end() ? value_[b]
                                                           : system.variable(found->second);
                           }));
        return system.solve(watch_);
    }

    // An observed atom gets a choice of its own that must agree with it: its two weights say
    // what was seen. For one total choice only one of its values is possible.
    void observe(uint32_t atom) {
        Gates &gates = problem_.gates;
        if (gates.gates[gate_of(value_[atom])].inner)
            throw Stopped(Reason::Observed, std::to_string(atom));
        uint32_t choice = uint32_t(gates.choices.size());
        uint32_t leaf = choice ? gates.choices.back().leaf + gates.choices.back().values : 0;
        gates.choices.push_back({2, leaf});
        problem_.choice_vertex.push_back(problem_.vertices);
        problem_.scopes.push_back({{vertex_[atom], problem_.vertices++}});
        Lit seen = gates.value(choice, 0), truth = value_[atom];
        problem_.asserted.push_back(negate(gates.both(seen, negate(truth))));
        problem_.asserted.push_back(negate(gates.both(negate(seen), truth)));
    }

    // The atom that an atom is the same as, or the opposite of; itself if there is none.
    uint32_t same_as(uint32_t atom) const {
        if (guessed_[atom] || rules_of_[atom].size() != 1) return atom;
        const Rule &rule = rules_[rules_of_[atom][0]];
        return rule.body.size() == 1 && !rule.itself ? uint32_t(std::abs(rule.body[0])) : atom;
    }

    // Atoms that are the same are one vertex.
    void join_vertices() {
        std::vector<uint8_t> done(value_.size(), 0);
        std::vector<uint32_t> path;
        for (uint32_t atom = 1; atom < value_.size(); ++atom) {
            uint32_t last = atom;
            for (path.clear(); !done[last]; last = same_as(last)) {
                done[last] = 1;
                path.push_back(last);
            }
            for (uint32_t a : path) vertex_[a] = vertex_[last];
        }
    }

    void finish() {
        Gates &gates = problem_.gates;
        for (uint32_t r : constraints_)
            problem_.asserted.push_back(
                negate(body(rules_[r], [&](uint32_t b) { return value_[b]; })));
        auto literal = [&](int64_t b) {
            if (b == 0) return FALSE_LIT;
            return b > 0 ? value_[size_t(b)] : negate(value_[size_t(-b)]);
        };
        for (size_t k = 0; k + 1 < asked_.size(); k += 2) {
            Question question;
            for (int64_t b : asked_[k]) question.query.push_back(literal(b));
            for (int64_t b : asked_[k + 1]) question.evidence.push_back(literal(b));
            problem_.questions.push_back(std::move(question));
        }
        for (size_t i = 0; i + 1 < ground_.own.size(); i += 2)
            problem_.undefined.push_back(
                gates.both(literal(ground_.own[i + 1]), negate(literal(ground_.own[i]))));
        join_vertices();
        for (int64_t atom : ground_.observed) observe(uint32_t(atom));
        for (const Rule &rule : rules_) {
            if (rule.head && !needed_[rule.head]) continue;
            Scope scope;
            if (rule.head) scope.members.push_back(scope.head = vertex_[rule.head]);
            for (int32_t b : rule.body) scope.members.push_back(vertex_[size_t(std::abs(b))]);
            std::sort(scope.members.begin(), scope.members.end());
            scope.members.erase(std::unique(scope.members.begin(), scope.members.end()),
                                scope.members.end());
            if (scope.members.size() > 1) problem_.scopes.push_back(std::move(scope));
        }
        problem_.named.assign(gates.size(), 0);
        for (uint32_t a = 1; a < value_.size(); ++a) {
            if (rules_of_[a].empty() || !needed_[a]) continue;
            problem_.named[gate_of(value_[a])] |= negated(value_[a]) ? 2 : 1;
            (loose_[a] ? problem_.inner : problem_.determined) += 1;
            problem_.guessed += guessed_[a];
        }
    }
};

}  // namespace

Problem read_problem(const Ground &ground, Watch &watch) { return Reader(ground, watch).read(); }

}  // namespace dpasp
