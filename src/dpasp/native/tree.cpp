#include "tree.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <random>
#include <set>

namespace dpasp {
namespace {

constexpr double NEAR = 16;      // more attempts may make an order so many times better
constexpr double PATIENCE = 10;  // steps that looking for an order may take, for each entry
constexpr double LARGE = 1e7;    // entries, above which orders are rehearsed
constexpr double SPREAD = 2;     // orders with so many times the least entries are of interest
constexpr double REHEARSED = 4;  // entries of all rehearsals, for each of the smallest order

enum class Rule { Fill, WeightedFill, Size };

class Greedy {
  public:
    Greedy(const std::vector<uint32_t> &states, std::vector<std::vector<uint32_t>> neighbours,
           Rule rule, uint32_t seed, Watch &watch)
        : states_(states), near_(std::move(neighbours)), rule_(rule), random_(seed),
          noisy_(seed != 0), watch_(watch), score_(states.size(), 0) {
        for (uint32_t count : states_) logs_.push_back(std::log2(double(count)));
    }

    // Stops early, with an infinite cost, when it is worse than what is known, or takes more steps
    // than it is worth.
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

  private:
    const std::vector<uint32_t> &states_;
    std::vector<double> logs_;
    std::vector<std::vector<uint32_t>> near_;  // sorted
    Rule rule_;
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
        if (rule_ == Rule::Size) {
            result = bits(v);
        } else {
            const auto &near = near_[v];
            steps_ += double(near.size()) * double(near.size()) / 2;
            for (size_t i = 0; i < near.size(); ++i)
                for (size_t j = i + 1; j < near.size(); ++j)
                    if (!linked(near[i], near[j]))
                        result += rule_ == Rule::Fill
                                      ? 1
                                      : double(states_[near[i]]) * double(states_[near[j]]);
            result += bits(v) / 1024;  // among equals, the smallest table
        }
        if (noisy_) result *= 1 + 0.2 * double(random_() % 1024) / 1024;
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
        if (filled && rule_ != Rule::Size)
            for (uint32_t u : near) changed.insert(changed.end(), near_[u].begin(), near_[u].end());
        std::sort(changed.begin(), changed.end());
        changed.erase(std::unique(changed.begin(), changed.end()), changed.end());
        for (uint32_t u : changed) {
            watch_.look();
            rescore(u);
        }
    }
};

// The order among these that makes the fewest nodes, as far as that can be found out with little
// work beside that of making them.
EliminationOrder fewest_nodes(std::vector<EliminationOrder> orders, const Outline &outline,
                              Watch &watch) {
    std::stable_sort(orders.begin(), orders.end(),
                     [](const auto &a, const auto &b) { return a.cost < b.cost; });
    size_t best = 0;
    double least = INFINITY, steps = 0, most = REHEARSED * orders[0].cost;
    for (size_t i = 0; i < orders.size() && (steps += orders[i].cost) <= most; ++i) {
        double nodes = rehearse(outline, orders[i].variables, least, watch);
        if (nodes < least) least = nodes, best = i;
    }
    return std::move(orders[best]);
}

}  // namespace

EliminationOrder order_elimination(const Outline &outline, EntryKind kind, double most,
                                   Watch &watch) {
    const std::vector<uint32_t> &states = outline.states;
    std::vector<std::vector<uint32_t>> near(states.size());
    for (const NumberTable &table : outline.tables)
        for (uint32_t a : table.scope)
            for (uint32_t b : table.scope)
                if (a != b) near[a].push_back(b);
    for (auto &list : near) {
        std::sort(list.begin(), list.end());
        list.erase(std::unique(list.begin(), list.end()), list.end());
    }
    std::vector<EliminationOrder> orders;
    double least = INFINITY;
    bool rehearsed = kind == EntryKind::Nodes;
    auto attempt = [&](Rule rule, uint32_t seed) {
        // Larger tables may still make fewer nodes.
        double known = std::min(rehearsed && least > LARGE ? SPREAD * least : least, NEAR * most);
        EliminationOrder next = Greedy(states, near, rule, seed, watch).run(known, PATIENCE * most);
        least = std::min(least, next.cost);
        if (next.cost < INFINITY || orders.empty()) orders.push_back(std::move(next));
    };
    attempt(Rule::Fill, 0);
    if (least <= 4.0 * double(states.size())) return orders[0];
    bool uniform = std::adjacent_find(states.begin(), states.end(), std::not_equal_to<>()) ==
                   states.end();  // then both rules to fill say the same
    if (!uniform) attempt(Rule::WeightedFill, 0);
    attempt(Rule::Size, 0);
    // More attempts, as long as they cost little beside the tables.
    double work = 0, each = (rehearsed ? 20 : 400) * double(states.size());
    if (least < INFINITY)
        for (uint32_t seed = 1; seed <= 100 && (work += each) < least; ++seed)
            attempt(Rule(seed % 3), seed);
    if (rehearsed && least > LARGE && least <= most)
        return fewest_nodes(std::move(orders), outline, watch);
    return *std::min_element(orders.begin(), orders.end(),
                             [](const auto &a, const auto &b) { return a.cost < b.cost; });
}

}  // namespace dpasp
