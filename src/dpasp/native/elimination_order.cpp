#include "elimination.hpp"

#include "tuning.hpp"

namespace dpasp {
namespace {

constexpr double LATE = 1e15;  // above every score

enum class Prefer { Fill, WeightedFill, Size };

class Greedy {
  public:
    Greedy(const Outline &outline, std::vector<std::vector<uint32_t>> neighbours, Prefer rule,
           uint32_t seed, Watch &watch)
        : states_(outline.states), late_(outline.late), near_(std::move(neighbours)), rule_(rule),
          random_(seed), noisy_(seed != 0), watch_(watch), score_(states_.size(), 0) {
        for (uint32_t count : states_) logs_.push_back(std::log2(double(count)));
    }

    // Stops early, with an infinite cost, if it is worse than the best known order, or takes too
    // many steps.
    EliminationOrder run(double known, double patience) {
        EliminationOrder result;
        for (uint32_t v = 0; v < near_.size(); ++v) queue_.insert({score_[v] = score(v), v});
        while (!queue_.empty()) {
            watch_.look();  // a step may take long
            uint32_t v = queue_.begin()->second;
            queue_.erase(queue_.begin());
            double size = std::exp2(bits(v));
            result.variables.push_back(v);
            result.cost += size;
            result.largest = std::max(result.largest, size);
            if (result.cost >= known || steps_ > patience) {
                result.cost = INFINITY;
                return result;
            }
            eliminate(v);
        }
        return result;
    }

    double steps() const { return steps_; }

  private:
    const std::vector<uint32_t> &states_;
    const std::vector<uint8_t> &late_;
    std::vector<double> logs_;
    std::vector<std::vector<uint32_t>> near_;  // sorted
    Prefer rule_;
    std::minstd_rand random_;
    bool noisy_;
    Watch &watch_;
    std::set<std::pair<double, uint32_t>> queue_;
    std::vector<double> score_;
    double steps_ = 0;  // pairs of neighbours that were looked at

    bool linked(uint32_t a, uint32_t b) const {
        return std::binary_search(near_[a].begin(), near_[a].end(), b);
    }

    double bits(uint32_t v) const {
        double sum = logs_[v];
        for (uint32_t u : near_[v]) sum += logs_[u];
        return sum;
    }

    double score(uint32_t v) {
        double result = 0;
        if (rule_ == Prefer::Size) {
            result = bits(v);
        } else {
            const auto &near = near_[v];
            steps_ += double(near.size()) * double(near.size()) / 2;
            for (size_t i = 0; i < near.size(); ++i)
                for (size_t j = i + 1; j < near.size(); ++j)
                    if (!linked(near[i], near[j]))
                        result += rule_ == Prefer::Fill
                                      ? 1
                                      : double(states_[near[i]]) * double(states_[near[j]]);
            result += bits(v) / 1024;  // among equals, the smallest table
        }
        if (noisy_) result *= 1 + tuning::ORDER_NOISE * double(random_() % 1024) / 1024;
        if (late_[v]) result += LATE;
        return result;
    }

    void rescore(uint32_t v) {
        queue_.erase({score_[v], v});
        queue_.insert({score_[v] = score(v), v});
    }

    void eliminate(uint32_t v) {
        const std::vector<uint32_t> near = std::move(near_[v]);
        near_[v].clear();
        bool filled = false;
        for (uint32_t u : near) {
            std::vector<uint32_t> joined;
            joined.reserve(near_[u].size() + near.size());
            std::set_union(near_[u].begin(), near_[u].end(), near.begin(), near.end(),
                           std::back_inserter(joined));
            joined.erase(std::remove_if(joined.begin(), joined.end(),
                                        [&](uint32_t w) { return w == u || w == v; }),
                         joined.end());
            filled = filled || joined.size() + 1 > near_[u].size();
            near_[u] = std::move(joined);
        }
        std::vector<uint32_t> changed = near;
        if (filled && rule_ != Prefer::Size)
            for (uint32_t u : near) changed.insert(changed.end(), near_[u].begin(), near_[u].end());
        sort_unique(changed);
        for (uint32_t u : changed) {
            watch_.look();
            rescore(u);
        }
    }
};

}  // namespace

EliminationOrder order_elimination(const Outline &outline, EntryKind kind, double most,
                                   Watch &watch) {
    const std::vector<uint32_t> &states = outline.states;
    std::vector<std::vector<uint32_t>> near(states.size());
    for (const auto &scope : outline.scopes)
        for (uint32_t a : scope)
            for (uint32_t b : scope)
                if (a != b) near[a].push_back(b);
    for (auto &list : near) sort_unique(list);
    EliminationOrder best;
    best.cost = INFINITY;
    double steps = 0;
    auto attempt = [&](Prefer rule, uint32_t seed) {
        Greedy greedy(outline, near, rule, seed, watch);
        EliminationOrder next = greedy.run(std::min(best.cost, tuning::NEAR * most),
                                           tuning::ORDER_STEPS * most);
        steps += greedy.steps();
        if (next.cost < best.cost || best.variables.empty()) best = std::move(next);
    };
    attempt(Prefer::Fill, 0);
    bool uniform = std::adjacent_find(states.begin(), states.end(), std::not_equal_to<>()) ==
                   states.end();  // then both rules to fill say the same
    if (!uniform) attempt(Prefer::WeightedFill, 0);
    attempt(Prefer::Size, 0);
    // There are more attempts as long as they cost little compared with the tables; with numbers as
    // entries, only a few while none is small enough.
    bool nodes = kind == EntryKind::Nodes;
    double work = 0, each = (nodes ? tuning::NODE_ATTEMPT : tuning::NUMBER_ATTEMPT) *
                            double(states.size());
    auto worthwhile = [&] {
        return best.cost < INFINITY || (!nodes && steps < tuning::HOPELESS_STEPS);
    };
    for (uint32_t seed = 1;
         seed <= tuning::ORDER_ATTEMPTS && (work += each) < best.cost && worthwhile(); ++seed)
        attempt(Prefer(seed % 3), seed);
    return best;
}

}  // namespace dpasp
