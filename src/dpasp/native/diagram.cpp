// Functions of the choices as decision diagrams with one child per value. Guesses are
// variables too. For the credal semantics they are quantified away: that some model exists is
// all it asks of them. To count models, they come after all choices.
#include <algorithm>

#include "copier.hpp"
#include "functions.hpp"
#include "ways.hpp"

namespace dpasp {
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
