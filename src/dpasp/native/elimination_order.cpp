#include "elimination.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <random>
#include <set>
#include <unordered_set>

#include "collections.hpp"
#include "tuning.hpp"

namespace dpasp {
namespace {

// Counts different numbers by those among a 256th of them all.
class Sample {
  public:
    void add(uint64_t number) {
        if (number && number * 0x9e3779b97f4a7c15ULL < (uint64_t(1) << 56)) seen_.insert(number);
    }
    double count() const { return 256.0 * double(seen_.size()); }

  private:
    std::unordered_set<uint64_t> seen_;
};

// A rehearsal of an elimination: with one number an entry in place of a node.
//
// How many nodes an order makes depends on zeros and on equal entries as much as on the sizes
// of the tables. Here every weight is a random number, sums and products are those of 64-bit
// words, and how many different numbers come out is counted on a sample of them.
class Rehearsal {
  public:
    Rehearsal(const Outline &outline, const std::vector<uint32_t> &order, Watch &watch)
        : states_(outline.states), position_(outline.states.size(), 0), buckets_(order.size()),
          watch_(watch) {
        for (uint32_t i = 0; i < order.size(); ++i) position_[order[i]] = i;
        for (const NumberTable &table : outline.tables) put(arranged(table));
    }

    // About how many nodes the order makes; infinite if more than `most`.
    double run(double most) {
        for (auto &bucket : buckets_) {
            if (bucket.empty()) continue;
            put(sum_out(bucket, most));
            if (nodes_ > most) return INFINITY;
            std::vector<NumberTable>().swap(bucket);
        }
        return nodes_;
    }

  private:
    const std::vector<uint32_t> &states_;
    std::vector<uint32_t> position_;
    std::vector<std::vector<NumberTable>> buckets_;
    Watch &watch_;
    double nodes_ = 0;

    void put(NumberTable table) {
        if (!table.scope.empty())
            buckets_[position_[table.scope.back()]].push_back(std::move(table));
    }

    // The variable that is eliminated first is the last of every scope.
    void sort(std::vector<uint32_t> &scope) const {
        std::sort(scope.begin(), scope.end(),
                  [&](uint32_t a, uint32_t b) { return position_[a] > position_[b]; });
        scope.erase(std::unique(scope.begin(), scope.end()), scope.end());
    }

    NumberTable arranged(const NumberTable &table) const {
        NumberTable result{{table.scope, {}}, table.made};
        sort(result.scope);
        Odometer walk(sizes_of(result.scope, states_));
        walk.follow(strides(result.scope, table.scope, states_));
        result.entries.reserve(table.entries.size());
        do result.entries.push_back(table.entries[walk.places[0]]);
        while (walk.next());
        return result;
    }

    // A product of nodes is a node; one weight stays on its edge.
    static bool multiplies(const std::vector<NumberTable> &bucket) {
        size_t made = 0;
        for (const NumberTable &table : bucket) made += table.made;
        return made > 1 || (made == 1 && bucket.size() > 2);
    }

    // The product of the tables of a bucket with the last variable summed out.
    NumberTable sum_out(const std::vector<NumberTable> &bucket, double most) {
        NumberTable result{{}, true};
        for (const NumberTable &table : bucket)
            result.scope.insert(result.scope.end(), table.scope.begin(), table.scope.end());
        sort(result.scope);
        uint32_t states = states_[result.scope.back()];
        result.scope.pop_back();
        Odometer walk(sizes_of(result.scope, states_));
        for (const NumberTable &table : bucket)
            walk.follow(strides(result.scope, table.scope, states_));
        double size = 1;
        for (uint32_t v : result.scope) size *= states_[v];
        watch_.reserve(size * sizeof(uint64_t) / (1 << 20));
        result.entries.reserve(size_t(size));
        Sample products, sums;
        bool multiplied = multiplies(bucket);
        do {
            watch_.check();
            uint64_t sum = 0;
            for (uint32_t s = 0; s < states; ++s) {
                uint64_t product = bucket[0].entries[walk.places[0] + s];
                for (size_t t = 1; t < bucket.size() && product; ++t)
                    product *= bucket[t].entries[walk.places[t] + s];
                if (multiplied) products.add(product);
                sum += product;
            }
            sums.add(sum);
            result.entries.push_back(sum);
            if ((result.entries.size() & 0xffff) == 0 &&
                nodes_ + products.count() + sums.count() > most)
                break;
        } while (walk.next());
        nodes_ += products.count() + sums.count();
        return result;
    }
};

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
        if (noisy_) result *= 1 + 0.2 * double(random_() % 1024) / 1024;
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

// The order among these that makes the fewest nodes, as far as that can be found out with little
// work beside that of making them.
EliminationOrder fewest_nodes(std::vector<EliminationOrder> orders, const Outline &outline,
                              Watch &watch) {
    std::stable_sort(orders.begin(), orders.end(),
                     [](const auto &a, const auto &b) { return a.cost < b.cost; });
    size_t best = 0;
    double least = INFINITY, steps = 0, most = tuning::REHEARSALS * orders[0].cost;
    for (size_t i = 0; i < orders.size() && (steps += orders[i].cost) <= most; ++i) {
        double nodes = Rehearsal(outline, orders[i].variables, watch).run(least);
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
    for (auto &list : near) sort_unique(list);
    std::vector<EliminationOrder> orders;
    double least = INFINITY, steps = 0;
    bool rehearsed = kind == EntryKind::Nodes;
    auto attempt = [&](Prefer rule, uint32_t seed) {
        // Larger tables may still make fewer nodes.
        double known = std::min(
            rehearsed && least > tuning::REHEARSED_ENTRIES ? tuning::SPREAD * least : least,
            tuning::NEAR * most);
        Greedy greedy(outline, near, rule, seed, watch);
        EliminationOrder next = greedy.run(known, tuning::ORDER_STEPS * most);
        steps += greedy.steps();
        least = std::min(least, next.cost);
        if (next.cost < INFINITY || orders.empty()) orders.push_back(std::move(next));
    };
    attempt(Prefer::Fill, 0);
    if (least <= 4.0 * double(states.size())) return orders[0];
    bool uniform = std::adjacent_find(states.begin(), states.end(), std::not_equal_to<>()) ==
                   states.end();  // then both rules to fill say the same
    if (!uniform) attempt(Prefer::WeightedFill, 0);
    attempt(Prefer::Size, 0);
    // More attempts, as long as they cost little beside the tables. Where none is small enough yet,
    // a few with numbers as entries.
    double work = 0, each = (rehearsed ? tuning::NODE_ATTEMPT : tuning::NUMBER_ATTEMPT) *
                            double(states.size());
    auto worthwhile = [&] {
        return least < INFINITY || (!rehearsed && steps < tuning::HOPELESS_STEPS);
    };
    for (uint32_t seed = 1;
         seed <= tuning::ORDER_ATTEMPTS && (work += each) < least && worthwhile(); ++seed)
        attempt(Prefer(seed % 3), seed);
    if (rehearsed && least > tuning::REHEARSED_ENTRIES && least <= most)
        return fewest_nodes(std::move(orders), outline, watch);
    return *std::min_element(orders.begin(), orders.end(),
                             [](const auto &a, const auto &b) { return a.cost < b.cost; });
}

}  // namespace dpasp
