// Functions of the choices as decision diagrams with one child per value. Guesses are
// variables too. For the credal semantics they are quantified away: that some model exists is
// all it asks of them. To count models, they come after all choices.
#include <algorithm>

#include "functions.hpp"
#include "scaled.hpp"
#include "ways.hpp"

namespace dpasp {
namespace {

// Copies functions into the circuit: where (yes, no, other) say which kinds of models there are.
class Copier {
  public:
    // From the level `boundary` on there are only guesses, to be counted.
    Copier(const Diagram &diagram, const std::vector<ChoiceShape> &shapes, uint32_t boundary,
           Builder &builder, Watch &watch)
        : diagram_(diagram), shapes_(shapes), boundary_(boundary), builder_(builder),
          watch_(watch) {}

    uint32_t copy(Dd yes, Dd no, Dd other) {
        uint32_t top = std::min({diagram_.level(yes), diagram_.level(no), diagram_.level(other)});
        if (top >= boundary_) return leaf(count(yes), count(no), count(other));
        Key key{(uint64_t(yes) << 32) | no, other};
        auto found = done_.find(key);
        if (found != done_.end()) return found->second;
        watch_.descend();
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
        watch_.descend();
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
    Watch &watch_;
    std::unordered_map<Key, uint32_t, Hash> done_;
    std::unordered_map<Dd, Scaled> counted_;
};

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

    // For which choices some model satisfies the condition.
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
