#include "problem.hpp"

#include "tuning.hpp"

namespace dpasp {
namespace {

// Consequences of assumed literals, gate by gate.
class Implications {
  public:
    // Visits at most so many inputs of gates in total; after that, it finds nothing more.
    Implications(const Gates &gates, uint64_t most)
        : gates_(gates), left_(most), value_(gates.size(), OPEN), start_(gates.size() + 1, 0),
          same_(gates.choices.size()) {
        value_[0] = YES;
        auto inputs = [&](auto each) {
            for (uint32_t g = 0; g < gates.size(); ++g)
                if (gates.gates[g].kind == Kind::And)
                    for (const Lit *in = gates.begin(g); in != gates.end(g); ++in)
                        each(gate_of(*in), g);
        };
        inputs([&](uint32_t input, uint32_t) { ++start_[input + 1]; });
        for (size_t g = 0; g < gates.size(); ++g) start_[g + 1] += start_[g];
        above_.resize(start_.back());
        std::vector<uint32_t> place(start_.begin(), start_.end() - 1);
        inputs([&](uint32_t input, uint32_t gate) { above_[place[input]++] = gate; });
        for (uint32_t g = 0; g < gates.size(); ++g)
            if (gates.gates[g].kind == Kind::Value) same_[gates.gates[g].first].push_back(g);
    }

    // Assumes a literal with its consequences; false at a contradiction.
    bool assume(Lit lit) {
        if (!set(lit)) return false;
        while (next_ < known_.size() && left_ > 0)
            if (!draw(known_[next_++])) return false;
        return true;
    }

    bool holds(Lit lit) const { return value_[gate_of(lit)] == (negated(lit) ? NO : YES); }
    bool fails(Lit lit) const { return holds(negate(lit)); }
    void forget() {
        for (uint32_t gate : known_) value_[gate] = OPEN;
        known_.clear();
        next_ = 0;
    }

  private:
    enum Truth : uint8_t { OPEN, YES, NO };

    const Gates &gates_;
    uint64_t left_;
    std::vector<uint8_t> value_;               // by gate
    std::vector<uint32_t> start_, above_;      // by gate: the AND gates that it is an input of
    std::vector<std::vector<uint32_t>> same_;  // by choice: the gates of its values
    std::vector<uint32_t> known_;              // gates, in the order in which they were settled
    size_t next_ = 0;                          // of those: whose consequences are not yet drawn

    bool set(Lit lit) {
        if (holds(lit)) return true;
        if (fails(lit)) return false;
        value_[gate_of(lit)] = negated(lit) ? NO : YES;
        known_.push_back(gate_of(lit));
        return true;
    }

    // Draws the consequences of a gate whose value was just found.
    bool draw(uint32_t gate) {
        const Gate &own = gates_.gates[gate];
        if (own.kind == Kind::Value && value_[gate] == YES)
            for (uint32_t other : same_[own.first])
                if (other != gate && !set(2 * other + 1)) return false;
        if (own.kind == Kind::And && !look(gate)) return false;
        for (uint32_t at = start_[gate]; at < start_[gate + 1] && left_ > 0; ++at)
            if (!look(above_[at])) return false;
        return true;
    }

    // Draws the consequences between an AND gate and its inputs.
    bool look(uint32_t gate) {
        uint32_t open = 0;
        Lit last = 0;
        for (const Lit *in = gates_.begin(gate); in != gates_.end(gate); ++in) {
            left_ -= left_ > 0;
            if (fails(*in)) return set(2 * gate + 1);
            if (value_[gate] == YES && !set(*in)) return false;
            if (!holds(*in)) ++open, last = *in;
        }
        if (open == 0) return set(2 * gate);
        if (open == 1 && value_[gate] == NO) return set(negate(last));
        return true;
    }
};

// 'Not all of these', where some may themselves be 'not all of these'.
struct Assertion {
    std::vector<Lit> all;
    std::vector<std::vector<Lit>> not_all;

    template <class Each> void visit(const Each &each) const {
        for (Lit lit : all) each(lit);
        for (const auto &lits : not_all)
            for (Lit lit : lits) each(lit);
    }
};

// Removes from an assertion what follows from the rest of it. This finds rules that agree with
// their guess whatever the rest of the program does: of `a :- x, not b. b :- x, not a.` with a
// guess for `a`, only 'not both a and not x' remains.
class Simplifier {
  public:
    explicit Simplifier(const Gates &gates)
        : gates_(gates), implications_(gates, tuning::COIN_LOOKS) {}

    // False if it holds in any case.
    bool simplify(Lit lit, Assertion &result) {
        std::vector<Lit> inputs(1, negate(lit));
        if (negated(lit) && conjunction(lit))
            inputs.assign(gates_.begin(gate_of(lit)), gates_.end(gate_of(lit)));
        std::stable_partition(inputs.begin(), inputs.end(),
                              [&](Lit input) { return !conjunction(input); });
        bool possible = true;
        for (size_t i = 0; i < inputs.size() && possible; ++i) {
            if (implications_.holds(inputs[i])) continue;
            if (negated(inputs[i]) && conjunction(inputs[i]))
                result.not_all.push_back(open_inputs(gate_of(inputs[i])));
            else
                result.all.push_back(inputs[i]);
            possible = implications_.assume(inputs[i]);
        }
        implications_.forget();
        return possible;
    }

  private:
    const Gates &gates_;
    Implications implications_;

    bool conjunction(Lit lit) const { return gates_.gates[gate_of(lit)].kind == Kind::And; }

    std::vector<Lit> open_inputs(uint32_t gate) const {
        std::vector<Lit> open;
        for (const Lit *in = gates_.begin(gate); in != gates_.end(gate); ++in)
            if (!implications_.holds(*in)) open.push_back(*in);
        return open;
    }
};

class Coins {
  public:
    Coins(Problem &problem, Watch &watch)
        : problem_(problem), old_(problem.gates), watch_(watch), fresh_(old_.choices),
          coupled_(old_.size(), 0), seen_(old_.size(), 0), place_(old_.size(), TRUE_LIT) {
        fresh_.most = old_.most + 8 * size_t(old_.guesses);
    }

    void toss() {
        Simplifier simplifier(old_);
        for (Lit lit : asserted_apart(problem_)) {
            watch_.check();
            Assertion assertion;
            if (simplifier.simplify(lit, assertion)) assertions_.push_back(std::move(assertion));
        }
        of_coin_.assign(assertions_.size(), 0);
        find_coupled();
        for (uint32_t g = 1; g < old_.size(); ++g) problem_.coins += is_coin(g);
        if (problem_.coins) rebuild();
    }

  private:
    Problem &problem_;
    const Gates &old_;
    Watch &watch_;
    Gates fresh_;
    std::vector<Assertion> assertions_;
    std::vector<uint8_t> of_coin_;  // by assertion
    std::vector<uint8_t> coupled_;  // by gate: guesses that are no coins lie below it, or it is one
    std::vector<uint32_t> seen_;    // by gate: in which walk it was seen last
    uint32_t walks_ = 0;
    std::unordered_map<uint32_t, std::vector<uint32_t>> own_;  // by guess: what asserts it alone
    std::vector<Lit> place_;                                   // by old gate: the new literal
    std::vector<Lit> asserted_;

    bool is_coin(uint32_t gate) const {
        return old_.gates[gate].kind == Kind::Guess && !coupled_[gate];
    }

    // --- which guesses are coins -------------------------------------------------------------

    // The gates below an assertion that depend on guesses, inputs first, without those known to be
    // above coupled guesses.
    std::vector<uint32_t> inner_gates(const Assertion &assertion, bool &hit) {
        std::vector<uint32_t> todo, found;
        ++walks_;
        auto meet = [&](Lit lit) {
            uint32_t gate = gate_of(lit);
            hit = hit || coupled_[gate];
            if (!old_.gates[gate].inner || coupled_[gate] || seen_[gate] == walks_) return;
            seen_[gate] = walks_;
            todo.push_back(gate);
        };
        assertion.visit(meet);
        while (!todo.empty()) {
            watch_.check();
            uint32_t gate = todo.back();
            todo.pop_back();
            found.push_back(gate);
            if (old_.gates[gate].kind == Kind::And)
                for (const Lit *in = old_.begin(gate); in != old_.end(gate); ++in) meet(*in);
        }
        std::sort(found.begin(), found.end());
        return found;
    }

    void find_coupled() {
        for (uint32_t i = 0; i < assertions_.size(); ++i) {
            bool hit = false;
            uint32_t guesses = 0, guess = 0;
            std::vector<uint32_t> below = inner_gates(assertions_[i], hit);
            for (uint32_t gate : below)
                if (old_.gates[gate].kind == Kind::Guess) ++guesses, guess = gate;
            if (guesses + hit > 1)
                for (uint32_t gate : below) coupled_[gate] = 1;
            else if (guesses)
                own_[guess].push_back(i);
        }
        // In a part with both kinds, coins would only be more choices to decide before its guesses.
        for (const Part &part : split(problem_))
            if (std::any_of(part.guesses.begin(), part.guesses.end(),
                            [&](uint32_t guess) { return coupled_[guess]; }))
                for (uint32_t guess : part.guesses) coupled_[guess] = 1;
    }

    // --- the problem with coins --------------------------------------------------------------

    Lit at(Lit lit) const { return place_[gate_of(lit)] ^ (lit & 1u); }

    Lit conjunction(uint32_t gate) {
        watch_.check();
        std::vector<Lit> inputs;
        for (const Lit *in = old_.begin(gate); in != old_.end(gate); ++in)
            inputs.push_back(at(*in));
        return fresh_.all(std::move(inputs));
    }

    Lit rebuilt(const Assertion &assertion) {
        std::vector<Lit> inputs;
        for (Lit lit : assertion.all) inputs.push_back(at(lit));
        for (const auto &lits : assertion.not_all) {
            std::vector<Lit> rest;
            for (Lit lit : lits) rest.push_back(at(lit));
            inputs.push_back(negate(fresh_.all(std::move(rest))));
        }
        return negate(fresh_.all(std::move(inputs)));
    }

    // Whether a coin may have this value, as a function of the choices.
    Lit allowed(uint32_t guess, bool value) {
        std::vector<Lit> must;
        for (uint32_t i : own_[guess]) {
            bool hit = false;
            for (uint32_t gate : inner_gates(assertions_[i], hit))
                place_[gate] = gate == guess ? (value ? TRUE_LIT : FALSE_LIT) : conjunction(gate);
            must.push_back(rebuilt(assertions_[i]));
        }
        return fresh_.all(std::move(must));
    }

    // A coin is tossed where both values are allowed; one of them must be.
    Lit coin(uint32_t guess) {
        Lit yes = allowed(guess, true), no = allowed(guess, false);
        for (uint32_t i : own_[guess]) of_coin_[i] = 1;
        asserted_.push_back(fresh_.either(yes, no));
        uint32_t choice = fresh_.add_choice();
        OrderGraph &graph = problem_.graph;
        graph.choice_vertex.push_back(graph.guess_vertex[old_.gates[guess].first]);
        return fresh_.both(yes, fresh_.either(negate(no), fresh_.value(choice, 0)));
    }

    // Makes all gates again, beginning with determined ones, then coins.
    void rebuild() {
        std::vector<uint32_t> vertices;
        for (uint32_t g = 1; g < old_.size(); ++g) {
            const Gate &gate = old_.gates[g];
            if (gate.inner) continue;
            place_[g] =
                gate.kind == Kind::And ? conjunction(g) : fresh_.value(gate.first, gate.second);
        }
        std::vector<Lit> coins(old_.size(), TRUE_LIT);
        for (uint32_t g = 1; g < old_.size(); ++g)
            if (is_coin(g)) coins[g] = coin(g);
        for (uint32_t g = 1; g < old_.size(); ++g) {
            const Gate &gate = old_.gates[g];
            if (!gate.inner) continue;
            if (is_coin(g)) {
                place_[g] = coins[g];
            } else if (gate.kind == Kind::Guess) {
                place_[g] = fresh_.guess();
                vertices.push_back(problem_.graph.guess_vertex[gate.first]);
            } else {
                place_[g] = conjunction(g);
            }
        }
        problem_.graph.guess_vertex = std::move(vertices);
        finish();
    }

    void finish() {
        for (size_t i = 0; i < assertions_.size(); ++i)
            if (!of_coin_[i]) asserted_.push_back(rebuilt(assertions_[i]));
        asserted_.erase(std::remove(asserted_.begin(), asserted_.end(), TRUE_LIT), asserted_.end());
        problem_.asserted = std::move(asserted_);
        auto move = [&](std::vector<Lit> &lits) {
            for (Lit &lit : lits) lit = at(lit);
        };
        for (Question &question : problem_.questions) move(question.query), move(question.evidence);
        move(problem_.undefined);
        std::vector<uint8_t> named(fresh_.size(), 0);
        for (uint32_t g = 1; g < old_.size(); ++g) {
            uint8_t own = problem_.named[g];
            if (negated(place_[g])) own = uint8_t((own & 1) << 1 | own >> 1);
            named[gate_of(place_[g])] |= own;
        }
        problem_.named = std::move(named);
        problem_.gates = std::move(fresh_);
    }
};

}  // namespace

void toss(Problem &problem, Watch &watch) { Coins(problem, watch).toss(); }

}  // namespace dpasp
