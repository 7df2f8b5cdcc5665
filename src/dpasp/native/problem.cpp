#include "problem.hpp"

#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <string>

#include "definitions.hpp"

namespace dpasp {
namespace {

// With more questions than that, no atom of them is special.
constexpr size_t FEW_QUESTIONS = 10;

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
        : ground_(ground), rules_(read_rules(ground)), guesses_(choose_guesses(rules_, watch)),
          problem_(shapes(ground)), definitions_(ground, rules_, guesses_, problem_.gates, watch) {}

    Problem read() {
        mark_needed();
        definitions_.define(needed_, late());
        problem_.asserted = std::move(definitions_.agreements);
        for (uint32_t r : rules_.constraints)
            problem_.asserted.push_back(negate(definitions_.body(rules_.all[r])));
        for (const GroundQuestion &question : ground_.questions)
            problem_.questions.push_back({literals(question.query), literals(question.evidence)});
        for (auto [atom, twin] : ground_.own)
            problem_.undefined.push_back(
                problem_.gates.both(definitions_.value(twin), negate(definitions_.value(atom))));
        problem_.graph = order_graph(ground_, rules_, guesses_, needed_);
        for (uint32_t atom : ground_.observed) observe(atom);
        count();
        return std::move(problem_);
    }

  private:
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

    // What is asked, asserted or guessed, and all that it depends on.
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
        while (!todo.empty()) {
            uint32_t atom = todo.back();
            todo.pop_back();
            for (uint32_t r : rules_.of[atom]) need_all(rules_.all[r].body.literals);
        }
    }

    // The atoms that are asked for, if they are few.
    std::vector<uint8_t> late() const {
        std::vector<uint8_t> result(rules_.atoms, 0);
        if (ground_.questions.size() > FEW_QUESTIONS) return result;
        for (const GroundQuestion &question : ground_.questions) {
            for (int32_t b : question.query) result[size_t(std::abs(b))] = 1;
            for (int32_t b : question.evidence) result[size_t(std::abs(b))] = 1;
        }
        return result;
    }

    // An observed atom gets a choice of its own that must agree with it: its two weights say
    // what was seen. For one total choice only one of its values is possible.
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

    // Which gates stand for atoms, and how many atoms of each class there are.
    void count() {
        problem_.named.assign(problem_.gates.size(), 0);
        for (uint32_t a = 1; a < rules_.atoms; ++a) {
            if (rules_.of[a].empty() || !needed_[a]) continue;
            Lit lit = definitions_.value(a);
            problem_.named[gate_of(lit)] |= uint8_t(negated(lit) ? 2 : 1);
            (guesses_.loose[a] ? problem_.inner : problem_.determined) += 1;
            problem_.guessed += guesses_.guessed[a];
        }
    }
};

}  // namespace

Problem read_problem(const Ground &ground, Watch &watch) {
    return ProblemReader(ground, watch).read();
}

uint32_t leaves(const Problem &problem) {
    uint32_t count = 0;
    for (const ChoiceShape &shape : problem.gates.choices) count += shape.values;
    return count;
}

void check_weights(const Problem &problem, const std::vector<double> &weights) {
    if (weights.size() != leaves(problem))
        throw std::invalid_argument(std::to_string(weights.size()) + " weights for " +
                                    std::to_string(leaves(problem)) + " leaves");
}

}  // namespace dpasp
