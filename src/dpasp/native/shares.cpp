#include "compile.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "graphs.hpp"
#include "tuning.hpp"

namespace dpasp {
namespace {

// A part: what is asked of it, each literal once, its elimination, and what came out.
struct Asked {
    std::vector<Ask> asks;  // by literal; the last has no query
    Builder builder;
    Budget budget;
    std::unique_ptr<Elimination> way;
    std::vector<Share> found;

    const Scaled &evidence() const { return found.back().holds; }
    const Share &share(Lit lit) const {
        auto at = std::lower_bound(asks.begin(), asks.end() - 1, lit,
                                   [](const Ask &ask, Lit other) { return ask.query[0] < other; });
        return found[size_t(at - asks.begin())];
    }
};

void check(const Problem &problem) {
    for (const Question &question : problem.questions)
        if (question.query.size() > 1 || question.evidence != problem.questions[0].evidence)
            throw std::invalid_argument("questions about several atoms, or of different evidence");
}

std::vector<Asked> by_part(const Problem &problem, const std::vector<Part> &parts,
                           const std::vector<uint32_t> &home) {
    std::vector<std::vector<Lit>> evidence(parts.size()), queries(parts.size());
    for (const Question &question : problem.questions)
        for (Lit lit : question.query)
            if (gate_of(lit)) queries[home[gate_of(lit)]].push_back(lit);
    for (Lit lit : problem.questions[0].evidence)
        if (gate_of(lit)) evidence[home[gate_of(lit)]].push_back(lit);
    std::vector<Asked> asked(parts.size());
    for (size_t p = 0; p < parts.size(); ++p) {
        sort_unique(evidence[p]), sort_unique(queries[p]);
        for (Lit lit : queries[p]) asked[p].asks.push_back({{lit}, evidence[p]});
        asked[p].asks.push_back({{}, evidence[p]});
    }
    return asked;
}

// The weights of tables whose literals are all known.
Scaled known_weight(const Problem &problem, const std::vector<double> &weights) {
    Scaled product(1);
    for (const WeightTable &table : problem.tables) {
        std::vector<size_t> found{table.first};
        size_t step = 1;
        bool known = true;
        for (size_t i = table.sets.size(); i-- > 0 && known; step *= table.sets[i].size()) {
            std::vector<size_t> next;
            for (size_t v = 0; v < table.sets[i].size(); ++v) {
                known = known && !gate_of(table.sets[i][v]);
                if (table.sets[i][v] == TRUE_LIT)
                    for (size_t index : found) next.push_back(index + v * step);
            }
            found = std::move(next);
        }
        if (known)
            for (size_t index : found) product *= weights[index];
    }
    return product;
}

// What the evidence of all other parts weighs, for each of them.
std::vector<Scaled> others(const std::vector<Asked> &asked) {
    std::vector<Scaled> products(asked.size(), Scaled(1));
    Scaled before(1), after(1);
    for (size_t p = 0; p < asked.size(); ++p) products[p] = before, before *= asked[p].evidence();
    for (size_t p = asked.size(); p-- > 0;) products[p] *= after, after *= asked[p].evidence();
    return products;
}

}  // namespace

std::optional<Shares> shares(const Ground &ground, const Options &options, double least,
                             Watch &watch) {
    Shares result;
    Problem problem = read_problem(ground, watch);
    check(problem);
    problem.check_weights(options.weights);
    result.questions.resize(problem.questions.size());
    // Constraints take something away from the total, which only weights may do.
    bool weighed = !problem.tables.empty();
    if (problem.gates.guesses || problem.questions.empty()) return {};
    if (!problem.asserted.empty() && !weighed) return {};
    for (Lit lit : problem.asserted)
        if (lit == FALSE_LIT) return result;
    for (Lit lit : problem.questions[0].evidence)
        if (lit == FALSE_LIT) return result;
    std::vector<Part> parts = split(problem);
    std::vector<uint32_t> home = homes(problem, parts);
    std::vector<Asked> asked = by_part(problem, parts, home);
    double most = double(options.work);
    for (size_t p = 0; p < parts.size(); ++p) {
        Asked &own = asked[p];
        own.way =
            std::make_unique<Elimination>(Job{problem, parts[p], own.asks, options.mode, own.budget,
                                              own.builder, watch, &options.weights});
        bool wide = own.way->grouped() || weighed;
        double allowed = wide ? most : tuning::UNGROUPED_ENTRIES;
        if (allowed < least) return {};
        own.way->prepare_together(allowed);
        result.entries += own.way->cost();
        result.width = std::max(result.width, own.way->width());
        if (own.way->cost() > allowed || result.entries > most)
            throw Stopped(Reason::Size, "elimination would make tables of too many entries");
    }
    if (result.entries < least) return {};
    for (Asked &own : asked) own.found = own.way->shares();
    Scaled total = known_weight(problem, options.weights);
    std::vector<Scaled> beside = others(asked);
    for (Scaled &scale : beside) scale *= total;
    for (const Asked &own : asked) total *= own.evidence();
    for (size_t i = 0; i < result.questions.size(); ++i) {
        const std::vector<Lit> &query = problem.questions[i].query;
        Share &share = result.questions[i];
        if (query.empty() || !gate_of(query[0])) {
            (query.empty() || query[0] == TRUE_LIT ? share.holds : share.fails) = total;
        } else {
            uint32_t p = home[gate_of(query[0])];
            const Share &own = asked[p].share(query[0]);
            share = {own.holds * beside[p], own.fails * beside[p]};
        }
    }
    return result;
}

}  // namespace dpasp
