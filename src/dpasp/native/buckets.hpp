// Tables over groups, multiplied and summed out one group after the other: with edges of the
// circuit as entries, or with numbers where the weights are known.
#pragma once

#include <cmath>
#include <iterator>

#include "network.hpp"

namespace dpasp {

// In which order groups are eliminated.
struct Sequence {
    std::vector<uint32_t> order;     // groups
    std::vector<uint32_t> position;  // by group, in the order
    std::vector<uint32_t> states;    // by group: how many are left
};

// Goes through all combinations of states, and where each lies in several tables.
class Odometer {
  public:
    explicit Odometer(std::vector<uint32_t> sizes) : sizes_(std::move(sizes)), at_(sizes_.size()) {}

    // Follow a table: how far each variable's next state lies from the one before.
    void follow(std::vector<size_t> steps) {
        places.push_back(0);
        steps_.push_back(std::move(steps));
    }

    std::vector<size_t> places;  // by table
    const std::vector<uint32_t> &states() const { return at_; }

    bool next() {
        for (size_t i = sizes_.size(); i-- > 0;) {
            if (++at_[i] < sizes_[i]) {
                for (size_t t = 0; t < places.size(); ++t) places[t] += steps_[t][i];
                return true;
            }
            for (size_t t = 0; t < places.size(); ++t) places[t] -= steps_[t][i] * (sizes_[i] - 1);
            at_[i] = 0;
        }
        return false;
    }

  private:
    std::vector<uint32_t> sizes_, at_;
    std::vector<std::vector<size_t>> steps_;
};

// For each variable, how far apart its states lie in a table over a scope.
inline std::vector<size_t> strides(const std::vector<uint32_t> &variables,
                                   const std::vector<uint32_t> &scope,
                                   const std::vector<uint32_t> &states) {
    std::vector<size_t> result(variables.size(), 0);
    size_t step = 1;
    for (size_t i = scope.size(); i-- > 0; step *= states[scope[i]])
        for (size_t j = 0; j < variables.size(); ++j)
            if (variables[j] == scope[i]) result[j] = step;
    return result;
}

inline std::vector<uint32_t> sizes_of(const std::vector<uint32_t> &scope,
                                      const std::vector<uint32_t> &states) {
    std::vector<uint32_t> result;
    for (uint32_t g : scope) result.push_back(states[g]);
    return result;
}

// The elimination of groups by buckets. In every table the group to be eliminated first is the last
// of the scope, so that its states lie side by side.
//
// A semiring has an Entry, its unit(), product(x, y), and inner(x, step_x, y, step_y, count): the
// sum of the products of `count` entries, so far apart. charge(entries) is told before each row,
// and trivial(table) says which tables need not be multiplied.
template <class Semiring> class Buckets {
  public:
    using Entry = typename Semiring::Entry;
    using Table = TableOver<Entry>;

    Buckets(Semiring &semiring, const Sequence &sequence, Watch &watch)
        : semiring_(semiring), states_(sequence.states), position_(sequence.position),
          buckets_(sequence.order.size()), watch_(watch) {}

    // The product of two tables, with the last group summed out where that is asked for.
    Table multiply(const Table &a, const Table &b, bool sum = false) {
        Table result{join(a.scope, b.scope), {}};
        uint32_t last = result.scope.back(), inner = states_[last];
        result.scope.pop_back();
        Odometer walk(sizes_of(result.scope, states_));
        for (const Table *table : {&a, &b})
            walk.follow(strides(result.scope, table->scope, states_));
        // A table that does not mention the last group has one entry for all of its states.
        size_t step_a = !a.scope.empty() && a.scope.back() == last;
        size_t step_b = !b.scope.empty() && b.scope.back() == last;
        double entries = size(result.scope) * (sum ? 1 : inner);
        watch_.reserve(entries * sizeof(Entry) / (1 << 20));
        result.entries.reserve(size_t(entries));
        do {
            watch_.check();
            semiring_.charge(inner);
            const Entry *x = a.entries.data() + walk.places[0];
            const Entry *y = b.entries.data() + walk.places[1];
            if (sum)
                result.entries.push_back(semiring_.inner(x, step_a, y, step_b, inner));
            else
                for (uint32_t s = 0; s < inner; ++s)
                    result.entries.push_back(semiring_.product(x[s * step_a], y[s * step_b]));
        } while (walk.next());
        if (!sum) result.scope.push_back(last);
        return result;
    }

    // The tables of a bucket multiplied, the smallest products first, and their last group summed.
    Table eliminate(std::vector<Table> &bucket) {
        while (bucket.size() > 2) {
            size_t first = 0, second = 1;
            double least = INFINITY;
            for (size_t i = 0; i < bucket.size(); ++i)
                for (size_t j = i + 1; j < bucket.size(); ++j)
                    if (double own = size(join(bucket[i].scope, bucket[j].scope)); own < least)
                        least = own, first = i, second = j;
            bucket[first] = multiply(bucket[first], bucket[second]);
            bucket.erase(bucket.begin() + ptrdiff_t(second));
        }
        const Table unit{{}, {Semiring::unit()}};
        return multiply(bucket[0], bucket.size() > 1 ? bucket[1] : unit, true);
    }

    void put(Table table) {
        if (semiring_.trivial(table)) return;
        if (table.scope.empty())
            result_ = semiring_.product(result_, table.entries[0]);
        else
            buckets_[position_[table.scope.back()]].push_back(std::move(table));
    }

    // What is put here with all groups summed out; `after` is called after each of them.
    template <class After> Entry run(const After &after) {
        for (auto &bucket : buckets_) {
            if (!bucket.empty()) put(eliminate(bucket));
            std::vector<Table>().swap(bucket);
            after();
        }
        return result_;
    }

  private:
    Semiring &semiring_;
    const std::vector<uint32_t> &states_, &position_;
    std::vector<std::vector<Table>> buckets_;  // by position of the group that goes first
    Entry result_ = Semiring::unit();
    Watch &watch_;

    double size(const std::vector<uint32_t> &scope) const {
        double product = 1;
        for (uint32_t g : scope) product *= states_[g];
        return product;
    }

    std::vector<uint32_t> join(const std::vector<uint32_t> &a,
                               const std::vector<uint32_t> &b) const {
        std::vector<uint32_t> both;
        std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both),
                       [&](uint32_t x, uint32_t y) { return position_[x] > position_[y]; });
        return both;
    }
};

// What all tables sum to, and what each state of each group contributes to it.
template <class Number> struct Marginals {
    Number total = 1;
    int64_t exponent = 0;  // all numbers are to be multiplied by this power of 2
    std::vector<std::vector<Number>> groups;  // by group and state; empty if it has one state
};

// Elimination with numbers in place of edges: where tables are large, most of its work is to make
// nodes that nobody asks for again. Under weights that are given no node is made. With `Number`
// double, or Scaled where doubles end.
template <class Number> class Summing {
  public:
    // `channel` says which of its two numbers a leaf is worth.
    Summing(const Builder &builder, const std::vector<double> &weights, double Value::*channel);

    // The product of all tables with all groups summed out.
    Number eliminate(const std::vector<Factor> &factors, const Sequence &sequence,
                     Watch &watch) const;
    // The same, and the way back: the derivative by every entry gives the marginals.
    Marginals<Number> marginals(const std::vector<Factor> &factors, const Sequence &sequence,
                                Watch &watch) const;

  private:
    const std::vector<double> &weights_;
    std::vector<Number> worth_;  // by node

    TableOver<Number> table(const Factor &factor) const;
    Number worth(const Edge &edge) const {
        return edge.weight == ONE ? worth_[edge.child]
                                  : Number(weights_[size_t(edge.weight)]) * worth_[edge.child];
    }
};

}  // namespace dpasp
