#include "rehearsal.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "odometer.hpp"

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

class Rehearsal {
  public:
    Rehearsal(const Outline &outline, const std::vector<uint32_t> &order, Watch &watch)
        : states_(outline.states), position_(outline.states.size(), 0), buckets_(order.size()),
          watch_(watch) {
        for (uint32_t i = 0; i < order.size(); ++i) position_[order[i]] = i;
        for (const NumberTable &table : outline.tables) put(arranged(table));
    }

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
        NumberTable result{table.scope, {}, table.made};
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
        NumberTable result{{}, {}, true};
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

}  // namespace

double rehearse(const Outline &outline, const std::vector<uint32_t> &order, double most,
                Watch &watch) {
    return Rehearsal(outline, order, watch).run(most);
}

}  // namespace dpasp
