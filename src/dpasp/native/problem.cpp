
#include <cstdlib>
#include <limits>

#include "diagram.hpp"
#include "tuning.hpp"

namespace dpasp {

namespace {

// Atoms that depend on each other.
struct Loop {
    const std::vector<uint32_t> &atoms;
    std::unordered_map<uint32_t, uint32_t> index;  // by atom: its place

    explicit Loop(const std::vector<uint32_t> &members) : atoms(members) {
        for (uint32_t i = 0; i < atoms.size(); ++i) index[atoms[i]] = i;
    }
    uint32_t size() const { return uint32_t(atoms.size()); }
    bool holds(int32_t literal) const { return literal > 0 && index.count(uint32_t(literal)); }
};

// What each atom is: a gate over values of choices and guesses.
//
// Atoms are defined bottom up along their dependencies; for a loop, the least fixpoint is computed.
// A guess replaces its atom wherever the atom is negated, and must agree with the definition of the
// atom.
class Definitions {
  public:
    Definitions(const Ground &ground, const Rules &rules, const Guesses &guesses, Gates &gates,
                Watch &watch)
        : rules_(rules), guesses_(guesses), gates_(gates), watch_(watch),
          value_(rules.atoms, FALSE_LIT), guess_(rules.atoms, FALSE_LIT),
          selector_(rules.atoms, 0) {
        for (uint32_t c = 0; c < ground.choices.size(); ++c) {
            const auto &selectors = ground.choices[c].selectors;
            for (uint32_t v = 0; v < selectors.size(); ++v) {
                value_[selectors[v]] = gates.value(c, v);
                selector_[selectors[v]] = 1;
            }
        }
        for (uint32_t a = 1; a < rules.atoms; ++a)
            if (guesses.guessed[a]) guess_[a] = gates.guess();
    }

    // Defines the `needed` atoms; `late` ones come last in a loop.
    void define(const std::vector<uint8_t> &needed, const std::vector<uint8_t> &late) {
        Edges graph = rules_.dependencies();
        std::vector<uint32_t> wanted, order(rules_.atoms), low(rules_.atoms);
        for (uint32_t a = 1; a < rules_.atoms; ++a)
            if (needed[a] && !selector_[a]) wanted.push_back(a);
        auto follow = [&](uint32_t, uint32_t edge) {
            return !selector_[edge >> 1] && !((edge & 1u) && guesses_.guessed[edge >> 1]);
        };
        for (const auto &part : components(wanted, graph, order, low, follow)) {
            watch_.check();
            if (part.size() > 1 || depends_on_itself(part[0], graph))
                define_loop(part, late);
            else
                define_one(part[0]);
        }
    }

    // Then there are gates for atoms, for literals (0 is false) and for bodies.
    Lit value(uint32_t atom) const { return value_[atom]; }
    Lit literal(int32_t literal) const {
        if (literal == 0) return FALSE_LIT;
        return literal > 0 ? value_[size_t(literal)] : negate(value_[size_t(-literal)]);
    }

    Lit body(const Rule &rule) {
        return body(rule, [&](uint32_t b) { return value_[b]; });
    }

    std::vector<Lit> agreements;  // what must hold for the guesses to agree with the rules

  private:
    void define_one(uint32_t atom) {
        std::vector<Lit> ways;
        for (uint32_t r : rules_.of[atom]) ways.push_back(body(rules_.all[r]));
        settle(atom, gates_.any(std::move(ways)));
    }

    void define_loop(const std::vector<uint32_t> &part, const std::vector<uint8_t> &late) {
        Loop loop(part);
        bool linear = true;  // no body holds two atoms of the loop
        for (uint32_t atom : part)
            for (uint32_t r : rules_.of[atom]) {
                const auto &literals = rules_.all[r].body.literals;
                linear = linear && std::count_if(literals.begin(), literals.end(),
                                                 [&](int32_t b) { return loop.holds(b); }) <= 1;
            }
        std::vector<Lit> values = linear ? solve_linear(loop, late) : solve_other(loop);
        for (uint32_t i = 0; i < part.size(); ++i) settle(part[i], values[i]);
    }

    void settle(uint32_t atom, Lit lit) {
        if (!guesses_.guessed[atom]) {
            value_[atom] = lit;
            return;
        }
        Lit guess = value_[atom] = guess_[atom];
        agreements.push_back(negate(gates_.both(guess, negate(lit))));
        agreements.push_back(negate(gates_.both(negate(guess), lit)));
    }

    bool depends_on_itself(uint32_t atom, const Edges &graph) const {
        for (uint32_t at = graph.start[atom]; at < graph.start[atom + 1]; ++at)
            if (graph.target[at] == 2 * atom) return true;
        return false;
    }

    std::vector<Lit> solve_linear(const Loop &loop, const std::vector<uint8_t> &late) {
        LinearSystem system(gates_, loop.size());
        for (uint32_t i = 0; i < loop.size(); ++i)
            for (uint32_t r : rules_.of[loop.atoms[i]]) {
                const Rule &rule = rules_.all[r];
                int64_t through = -1;
                for (int32_t b : rule.body.literals)
                    if (loop.holds(b)) through = b;
                auto with = [&](Lit lit) {
                    return body(rule, [&](uint32_t b) { return b == through ? lit : value_[b]; });
                };
                if (through < 0 || rule.body.weighted) system.add(i, with(FALSE_LIT));
                if (through >= 0) system.add(i, loop.index.at(uint32_t(through)), with(TRUE_LIT));
            }
        std::vector<uint8_t> last;
        for (uint32_t atom : loop.atoms) last.push_back(late[atom]);
        return system.solve(last, watch_);
    }

    // Solves loops with several of their atoms in one body: by iteration if its end can be proved
    // soon, otherwise by elimination.
    std::vector<Lit> solve_other(const Loop &loop) {
        auto inside = [&](const Rule &rule, auto variable) {
            return body(rule, [&](uint32_t b) {
                auto found = loop.index.find(b);
                return found == loop.index.end() ? value_[b] : variable(found->second);
            });
        };
        auto equation = [&](uint32_t i, const std::vector<Lit> &values) {
            std::vector<Lit> ways;
            for (uint32_t r : rules_.of[loop.atoms[i]])
                ways.push_back(inside(rules_.all[r], [&](uint32_t j) { return values[j]; }));
            return gates_.any(std::move(ways));
        };
        auto equal = [&](const std::vector<std::pair<Lit, Lit>> &pairs) {
            return same_functions(gates_, pairs, watch_);
        };
        size_t most = gates_.most;
        try {
            gates_.most = std::min(most, gates_.size() + tuning::LOOP_GATES);
            auto values = Iteration(gates_, equation, equal).solve(loop.size(), watch_);
            gates_.most = most;
            return values;
        } catch (const Stopped &stopped) {
            if (stopped.reason != Reason::Size) throw;
            gates_.most = most;
        }
        GeneralSystem system(gates_, loop.size());
        for (uint32_t i = 0; i < loop.size(); ++i)
            for (uint32_t r : rules_.of[loop.atoms[i]])
                system.add(i,
                           inside(rules_.all[r], [&](uint32_t j) { return system.variable(j); }));
        return system.solve(watch_);
    }

    // `inside` gives the literals of positive atoms.
    template <class Inside> Lit body(const Rule &rule, Inside inside) {
        std::vector<Lit> lits;
        for (int32_t b : rule.body.literals) {
            auto atom = uint32_t(std::abs(b));
            if (b > 0)
                lits.push_back(inside(atom));
            else
                lits.push_back(negate(guesses_.guessed[atom] ? guess_[atom] : value_[atom]));
        }
        Lit result = rule.body.weighted
                         ? at_least(gates_, lits, rule.body.weights, rule.body.bound, watch_)
                         : gates_.all(std::move(lits));
        return rule.itself ? gates_.both(result, guess_[rule.itself]) : result;
    }

    const Rules &rules_;
    const Guesses &guesses_;
    Gates &gates_;
    Watch &watch_;
    std::vector<Lit> value_;         // by atom: the literal that stands for it
    std::vector<Lit> guess_;         // by atom, where guessed
    std::vector<uint8_t> selector_;  // by atom: whether it is a value of a choice
};

std::vector<ChoiceShape> shapes(const Ground &ground) {
    std::vector<ChoiceShape> result;
    uint64_t leaf = 0;
    for (const GroundChoice &choice : ground.choices) {
        result.push_back({choice.values(), uint32_t(leaf), choice.interval});
        leaf += choice.values();
    }
    leaf += 2 * ground.observed.size();
    if (leaf > uint64_t(std::numeric_limits<int32_t>::max()))  // the type of an edge's weight
        throw Stopped(Reason::Size, "the choices have " + std::to_string(leaf) + " values");
    return result;
}

class ProblemReader {
  public:
    ProblemReader(const Ground &ground, Watch &watch)
        : ground_(ground), rules_(read_all(ground, watch)), guesses_(choose_guesses(rules_, watch)),
          problem_(shapes(ground)), definitions_(ground, rules_, guesses_, problem_.gates, watch) {}

    Problem read() {
        mark_needed();
        definitions_.define(needed_, late());
        problem_.asserted = std::move(definitions_.agreements);
        for (uint32_t r : rules_.constraints)
            problem_.asserted.push_back(negate(definitions_.body(rules_.all[r])));
        for (const GroundQuestion &question : ground_.questions)
            problem_.questions.push_back({literals(question.query), literals(question.evidence)});
        for (const GroundTable &table : ground_.tables) {
            WeightTable &own = problem_.tables.emplace_back();
            own.first = problem_.leaves() + table.first;
            for (const auto &set : table.sets) own.sets.push_back(literals(set));
        }
        problem_.entries = ground_.entries;
        for (auto [atom, twin] : ground_.own)
            problem_.undefined.push_back(
                problem_.gates.both(definitions_.value(twin), negate(definitions_.value(atom))));
        problem_.graph = order_graph(ground_, rules_, guesses_, needed_);
        for (uint32_t atom : ground_.observed) observe(atom);
        count();
        return std::move(problem_);
    }

  private:
    static Rules read_all(const Ground &ground, Watch &watch) {
        Rules rules = read_rules(ground);
        add_totals(ground, rules, watch);
        return rules;
    }

    const Ground &ground_;
    Rules rules_;
    Guesses guesses_;
    Problem problem_;
    Definitions definitions_;
    std::vector<uint8_t> needed_;  // by atom

    std::vector<Lit> literals(const std::vector<int32_t> &conjunction) const {
        std::vector<Lit> result;
        for (int32_t b : conjunction) result.push_back(definitions_.literal(b));
        return result;
    }

    // Marks what is asked, asserted or guessed, and everything that it depends on.
    void mark_needed() {
        needed_.assign(rules_.atoms, 0);
        std::vector<uint32_t> todo;
        auto need = [&](uint32_t atom) {
            if (atom && !needed_[atom]) needed_[atom] = 1, todo.push_back(atom);
        };
        auto need_all = [&](const std::vector<int32_t> &literals) {
            for (int32_t b : literals) need(uint32_t(std::abs(b)));
        };
        for (uint32_t a = 1; a < rules_.atoms; ++a)
            if (guesses_.guessed[a]) need(a);
        for (uint32_t r : rules_.constraints) need_all(rules_.all[r].body.literals);
        for (const GroundQuestion &question : ground_.questions)
            need_all(question.query), need_all(question.evidence);
        for (auto [atom, twin] : ground_.own) need(atom), need(twin);
        for (uint32_t atom : ground_.observed) need(atom);
        for (const GroundTable &table : ground_.tables)
            for (const auto &set : table.sets) need_all(set);
        while (!todo.empty()) {
            uint32_t atom = todo.back();
            todo.pop_back();
            for (uint32_t r : rules_.of[atom]) need_all(rules_.all[r].body.literals);
        }
    }

    // The atoms in questions.
    std::vector<uint8_t> late() const {
        std::vector<uint8_t> result(rules_.atoms, 0);
        for (const GroundQuestion &question : ground_.questions) {
            for (int32_t b : question.query) result[size_t(std::abs(b))] = 1;
            for (int32_t b : question.evidence) result[size_t(std::abs(b))] = 1;
        }
        return result;
    }

    // An observed atom gets its own choice, which must agree with it: its two weights say what was
    // observed. In each total choice, only one of its values is possible.
    void observe(uint32_t atom) {
        Gates &gates = problem_.gates;
        Lit truth = definitions_.value(atom);
        if (gates.gates[gate_of(truth)].inner)
            throw Stopped(Reason::Observed,
                          "atom " + std::to_string(atom) + " is not determined by the choices");
        Lit seen = gates.value(gates.add_choice(), 0);
        problem_.asserted.push_back(negate(gates.both(seen, negate(truth))));
        problem_.asserted.push_back(negate(gates.both(negate(seen), truth)));
    }

    // Finds the gates of atoms, and the number of atoms of each class.
    void count() {
        problem_.named.assign(problem_.gates.size(), 0);
        for (uint32_t a = 1; a < rules_.atoms; ++a) {
            if (rules_.of[a].empty() || !needed_[a]) continue;
            Lit lit = definitions_.value(a);
            problem_.named[gate_of(lit)] |= uint8_t(negated(lit) ? 2 : 1);
            if (a >= ground_.atoms) continue;
            (guesses_.loose[a] ? problem_.inner : problem_.determined) += 1;
            problem_.guessed += guesses_.guessed[a];
        }
    }
};

}  // namespace

Problem read_problem(const Ground &ground, Watch &watch) {
    return ProblemReader(ground, watch).read();
}

void Problem::check_weights(const std::vector<double> &weights) const {
    if (weights.size() != leaves() + entries)
        throw std::invalid_argument(std::to_string(weights.size()) + " weights for " +
                                    std::to_string(leaves() + entries) +
                                    " leaves and entries of tables");
}

std::vector<Lit> asserted_apart(const Problem &problem) {
    const Gates &gates = problem.gates;
    std::vector<Lit> todo = problem.asserted, result;
    while (!todo.empty()) {
        Lit lit = todo.back();
        todo.pop_back();
        if (!negated(lit) && gates.gates[gate_of(lit)].kind == Kind::And)
            todo.insert(todo.end(), gates.begin(gate_of(lit)), gates.end(gate_of(lit)));
        else
            result.push_back(lit);
    }
    sort_unique(result);
    return result;
}

std::vector<uint32_t> homes(const Problem &problem, const std::vector<Part> &parts) {
    std::vector<uint32_t> home(problem.gates.size(), 0);
    for (uint32_t p = 0; p < parts.size(); ++p)
        for (uint32_t g : parts[p].gates) home[g] = p;
    return home;
}

// Some gate of a table; 0 if its literals are all known.
static uint32_t home_gate(const WeightTable &table) {
    for (const auto &set : table.sets)
        for (Lit lit : set)
            if (gate_of(lit)) return gate_of(lit);
    return 0;
}

std::vector<Part> split(const Problem &problem) {
    const Gates &gates = problem.gates;
    size_t n = gates.size();
    std::vector<uint8_t> used(n, 0);
    std::vector<Lit> asserted = asserted_apart(problem);
    auto use = [&](const std::vector<Lit> &lits) {
        for (Lit lit : lits) used[gate_of(lit)] = 1;
    };
    use(asserted);
    use(problem.undefined);
    for (const Question &question : problem.questions) use(question.query), use(question.evidence);
    for (const WeightTable &table : problem.tables)
        for (const auto &set : table.sets) use(set);
    used[0] = 0;
    Forest forest(n);
    for (const WeightTable &table : problem.tables)
        for (const auto &set : table.sets)
            for (Lit lit : set)
                if (gate_of(lit)) forest.join(gate_of(lit), home_gate(table));
    std::vector<uint32_t> chosen(gates.choices.size(), UINT32_MAX);
    for (uint32_t g = uint32_t(n); g-- > 1;) {
        if (!used[g]) continue;
        const Gate &gate = gates.gates[g];
        if (gate.kind == Kind::And)
            for (const Lit *in = gates.begin(g); in != gates.end(g); ++in) {
                used[gate_of(*in)] = 1;
                forest.join(g, gate_of(*in));
            }
        if (gate.kind == Kind::Value) {
            if (chosen[gate.first] != UINT32_MAX) forest.join(g, chosen[gate.first]);
            chosen[gate.first] = g;
        }
    }
    std::vector<Part> parts;
    std::vector<uint32_t> home(n, UINT32_MAX);
    std::vector<uint8_t> listed(gates.choices.size(), 0);
    auto at = [&](uint32_t g) -> Part & {
        uint32_t root = forest.find(g);
        if (home[root] == UINT32_MAX) {
            home[root] = uint32_t(parts.size());
            parts.emplace_back();
        }
        return parts[home[root]];
    };
    auto places = std::make_shared<std::vector<uint32_t>>(n);
    for (uint32_t g = 1; g < n; ++g) {
        if (!used[g]) continue;
        Part &part = at(g);
        (*places)[g] = uint32_t(part.gates.size());
        part.gates.push_back(g);
        const Gate &gate = gates.gates[g];
        if (gate.kind == Kind::Guess) part.guesses.push_back(g);
        if (gate.kind == Kind::Value && !listed[gate.first]) {
            listed[gate.first] = 1;
            part.choices.push_back(gate.first);
        }
    }
    for (Lit lit : asserted)
        if (gate_of(lit)) at(gate_of(lit)).asserted.push_back(lit);
    for (Lit lit : problem.undefined)
        if (gate_of(lit)) at(gate_of(lit)).undefined.push_back(lit);
    for (const WeightTable &table : problem.tables)
        if (uint32_t g = home_gate(table)) at(g).tables.push_back(&table);
    for (Part &part : parts) part.places = places;
    return parts;
}

}  // namespace dpasp
