#include "diagram.hpp"

#include "tuning.hpp"

namespace dpasp {
namespace {

std::vector<ChoiceShape> shapes_of(const Gates &gates, const std::vector<Input> &order) {
    std::vector<ChoiceShape> result;
    for (const Input &input : order)
        result.push_back(input.choice ? gates.choices[input.id] : ChoiceShape{2, 0});
    return result;
}

std::vector<uint32_t> arities(const std::vector<ChoiceShape> &shapes) {
    std::vector<uint32_t> result;
    for (const ChoiceShape &shape : shapes) result.push_back(shape.values);
    return result;
}

}  // namespace

Functions::Functions(const Gates &gates, const Part &part, const std::vector<Input> &order,
                     Budget &budget, Watch &watch)
    : part_(part), shapes_(shapes_of(gates, order)), diagram_(arities(shapes_), budget, watch) {
    InputPlaces levels(order);
    for (uint32_t level = 0; level < order.size(); ++level)
        if (!order[level].choice) guesses_.push_back(level);
    double share = (part.guesses.empty() ? 0.8 : 0.2) / double(part.gates.size());
    known_.reserve(part.gates.size());
    for (uint32_t g : part.gates) {
        budget.advance(share);
        const Gate &gate = gates.gates[g];
        if (gate.kind == Kind::And)
            known_.push_back(all({gates.begin(g), gates.end(g)}));
        else  // the second number of a guess is 0
            known_.push_back(variable(levels.of(gates, g), gate.second));
    }
}

Dd Functions::variable(uint32_t level, uint32_t value) {
    std::vector<Dd> children(shapes_[level].values, DD_FALSE);
    children[value] = DD_TRUE;
    return diagram_.make(level, children.data());
}

Dd Functions::all(const std::vector<Lit> &lits) {
    std::vector<Dd> edges;
    for (Lit lit : lits) edges.push_back(of(lit));
    return diagram_.all(std::move(edges));
}

// Removes the guesses one by one, joining only the factors that depend on each.
void Functions::quantify(std::vector<Dd> &factors, std::vector<uint32_t> levels) {
    if (levels.empty()) return;
    std::vector<std::vector<uint8_t>> used;  // by factor: the levels that it depends on
    for (Dd factor : factors) used.push_back(diagram_.support(factor));
    while (!levels.empty()) {
        uint32_t best = cheapest(levels, used), level = levels[best];
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
        rest.push_back(diagram_.some(diagram_.all(std::move(joined)), level));
        rest_used.push_back(diagram_.support(rest.back()));
        factors = std::move(rest);
        used = std::move(rest_used);
    }
}

// The place of the level whose factors together depend on the fewest levels.
uint32_t Functions::cheapest(const std::vector<uint32_t> &levels,
                             const std::vector<std::vector<uint8_t>> &used) const {
    size_t best = 0, least = SIZE_MAX;
    for (size_t i = 0; i < levels.size(); ++i) {
        std::vector<uint8_t> joint(shapes_.size(), 0);
        for (auto &one : used)
            if (one[levels[i]])
                for (size_t l = 0; l < joint.size(); ++l) joint[l] = joint[l] || one[l];
        auto width = size_t(std::count(joint.begin(), joint.end(), 1));
        if (width < least) least = width, best = i;
    }
    return uint32_t(best);
}

namespace {

// All gates that some gates depend on, with the inputs in depth-first order.
class Cone {
  public:
    explicit Cone(const Gates &gates)
        : gates_(gates), seen_(gates.size(), 0), chosen_(gates.choices.size(), 0) {}

    Part part;
    std::vector<Input> order;

    void add(Lit root) {
        std::vector<uint32_t> todo{gate_of(root)};
        while (!todo.empty()) {
            uint32_t g = todo.back();
            todo.pop_back();
            if (!g || seen_[g]) continue;
            seen_[g] = 1;
            part.gates.push_back(g);
            const Gate &gate = gates_.gates[g];
            if (gate.kind == Kind::And)
                for (const Lit *in = gates_.end(g); in-- != gates_.begin(g);)
                    todo.push_back(gate_of(*in));
            else if (gate.kind == Kind::Guess)
                order.push_back({false, g});
            else if (!chosen_[gate.first])
                chosen_[gate.first] = 1, order.push_back({true, gate.first});
        }
    }

    void finish() {
        std::sort(part.gates.begin(), part.gates.end());
        auto places = std::make_shared<std::vector<uint32_t>>(gates_.size());
        for (uint32_t i = 0; i < part.gates.size(); ++i) (*places)[part.gates[i]] = i;
        part.places = places;
    }

  private:
    const Gates &gates_;
    std::vector<uint8_t> seen_, chosen_;
};

}  // namespace

bool same_functions(const Gates &gates, const std::vector<std::pair<Lit, Lit>> &pairs,
                    Watch &watch) {
    Cone cone(gates);
    for (auto &[a, b] : pairs) cone.add(a), cone.add(b);
    cone.finish();
    Budget budget;
    budget.nodes = tuning::PROOF_NODES;
    budget.work = tuning::PROOF_WORK;
    Functions functions(gates, cone.part, cone.order, budget, watch);
    return std::all_of(pairs.begin(), pairs.end(), [&](auto &pair) {
        return functions.of(pair.first) == functions.of(pair.second);
    });
}
// Functions of the choices as decision diagrams with one child per value. Guesses are variables,
// too. Under credal, they are quantified away, since only the existence of models matters. To count
// models, they come after all choices.

namespace {

// The answers to the questions of a part.
class Answers {
  public:
    Answers(const Job &job, const std::vector<Input> &order, bool counting)
        : job_(job), counting_(counting),
          functions_(job.problem.gates, job.part, order, job.budget, job.watch),
          diagram_(functions_.diagram()) {
        for (Lit lit : job.part.asserted) asserted_.push_back(functions_.of(lit));
    }

    std::vector<uint32_t> run() {
        for (const Ask &ask : job_.asks)
            asked_.push_back({functions_.all(ask.query), functions_.all(ask.evidence)});
        std::vector<uint8_t> kept = asked_levels();
        std::vector<uint32_t> early, late;
        if (!counting_)
            for (uint32_t level : functions_.guesses())
                (kept[level] ? late : early).push_back(level);
        functions_.quantify(asserted_, early);
        size_t counted = counting_ ? functions_.guesses().size() : 0;
        auto boundary = uint32_t(functions_.shapes().size() - counted);
        Copier copier(diagram_, functions_.shapes(), boundary, job_.builder, job_.watch);
        double share = (functions_.guesses().empty() ? 0.2 : 0.8) / double(job_.asks.size());
        std::vector<uint32_t> roots;
        for (auto &[query, evidence] : asked_) {
            Dd yes = models(diagram_.both(evidence, query), late);
            Dd no = models(diagram_.both(evidence, query ^ 1u), late);
            Dd other = models(evidence ^ 1u, late);
            roots.push_back(copier.copy(yes, no, other));
            job_.budget.advance(share);
        }
        return roots;
    }

  private:
    struct Asked {
        Dd query, evidence;
    };

    const Job &job_;
    bool counting_;
    Functions functions_;
    Diagram &diagram_;
    std::vector<Dd> asserted_;
    std::vector<Asked> asked_;

    // By level: whether a question depends on it.
    std::vector<uint8_t> asked_levels() const {
        std::vector<uint8_t> result(functions_.shapes().size(), 0);
        for (auto &[query, evidence] : asked_)
            for (Dd edge : {query, evidence}) {
                auto used = diagram_.support(edge);
                for (size_t l = 0; l < used.size(); ++l) result[l] = result[l] || used[l];
            }
        return result;
    }

    // For which total choices some model satisfies the condition.
    Dd models(Dd condition, const std::vector<uint32_t> &levels) {
        std::vector<Dd> factors(asserted_);
        factors.push_back(condition);
        functions_.quantify(factors, levels);
        return diagram_.all(std::move(factors));
    }
};

}  // namespace

std::vector<uint32_t> compile_diagram(const Job &job, std::vector<Input> order) {
    bool counting = job.mode != Mode::Bits && !job.part.guesses.empty();
    if (counting)
        std::stable_partition(order.begin(), order.end(),
                              [](const Input &input) { return input.choice; });
    return Answers(job, order, counting).run();
}

}  // namespace dpasp
