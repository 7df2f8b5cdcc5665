#include "definitions.hpp"

#include <algorithm>
#include <unordered_map>

#include "fixpoint.hpp"
#include "functions.hpp"

namespace dpasp {

// Atoms that depend on each other.
struct Definitions::Loop {
    const std::vector<uint32_t> &atoms;
    std::unordered_map<uint32_t, uint32_t> index;  // by atom: its place

    explicit Loop(const std::vector<uint32_t> &members) : atoms(members) {
        for (uint32_t i = 0; i < atoms.size(); ++i) index[atoms[i]] = i;
    }
    uint32_t size() const { return uint32_t(atoms.size()); }
    bool holds(int32_t literal) const { return literal > 0 && index.count(uint32_t(literal)); }
};

Definitions::Definitions(const Ground &ground, const Rules &rules, const Guesses &guesses,
                         Gates &gates, Watch &watch)
    : rules_(rules), guesses_(guesses), gates_(gates), watch_(watch),
      value_(rules.atoms, FALSE_LIT), guess_(rules.atoms, FALSE_LIT), selector_(rules.atoms, 0) {
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

void Definitions::define(const std::vector<uint8_t> &needed, const std::vector<uint8_t> &late) {
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

bool Definitions::depends_on_itself(uint32_t atom, const Edges &graph) const {
    for (uint32_t at = graph.start[atom]; at < graph.start[atom + 1]; ++at)
        if (graph.target[at] == 2 * atom) return true;
    return false;
}

void Definitions::define_one(uint32_t atom) {
    std::vector<Lit> ways;
    for (uint32_t r : rules_.of[atom]) ways.push_back(body(rules_.all[r]));
    settle(atom, gates_.any(std::move(ways)));
}

void Definitions::define_loop(const std::vector<uint32_t> &part, const std::vector<uint8_t> &late) {
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

void Definitions::settle(uint32_t atom, Lit lit) {
    if (!guesses_.guessed[atom]) {
        value_[atom] = lit;
        return;
    }
    Lit guess = value_[atom] = guess_[atom];
    agreements.push_back(negate(gates_.both(guess, negate(lit))));
    agreements.push_back(negate(gates_.both(negate(guess), lit)));
}

Lit Definitions::literal(int32_t literal) const {
    if (literal == 0) return FALSE_LIT;
    return literal > 0 ? value_[size_t(literal)] : negate(value_[size_t(-literal)]);
}

Lit Definitions::body(const Rule &rule) {
    return body(rule, [&](uint32_t b) { return value_[b]; });
}

// `inside` gives the literals of the atoms that are not negated.
template <class Inside> Lit Definitions::body(const Rule &rule, Inside inside) {
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

std::vector<Lit> Definitions::solve_linear(const Loop &loop, const std::vector<uint8_t> &late) {
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

// Loops with several of their atoms in one body: iterate if the end can be proved soon, else
// eliminate.
std::vector<Lit> Definitions::solve_other(const Loop &loop) {
    constexpr size_t SOON = 1000000;  // gates
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
        gates_.most = std::min(most, gates_.size() + SOON);
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
            system.add(i, inside(rules_.all[r], [&](uint32_t j) { return system.variable(j); }));
    return system.solve(watch_);
}

}  // namespace dpasp
