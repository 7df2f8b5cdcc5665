#include "summing.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "restriction.hpp"

namespace dpasp {
namespace {

std::vector<uint32_t> join(const std::vector<uint32_t> &a, const std::vector<uint32_t> &b,
                           const std::vector<uint32_t> &position) {
    std::vector<uint32_t> both;
    std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both),
                   [&](uint32_t x, uint32_t y) { return position[x] > position[y]; });
    return both;
}

double size(const std::vector<uint32_t> &scope, const std::vector<uint32_t> &states) {
    double product = 1;
    for (uint32_t g : scope) product *= states[g];
    return product;
}

}  // namespace

template <class Number>
Summing<Number>::Summing(const Builder &builder, const std::vector<double> &weights, double Value::*channel)
    : weights_(weights), worth_(builder.nodes.size()) {
    for (size_t n = 0; n < builder.nodes.size(); ++n) {  // children come before parents
        const Node &node = builder.nodes[n];
        if (node.op == Op::Leaf) {
            worth_[n] = Number(builder.values[node.begin].*channel);
            continue;
        }
        Number total(node.op == Op::Sum ? 0 : 1);
        for (uint32_t e = node.begin; e < node.end; ++e) {
            Number own = worth(builder.edges[e]);
            total = node.op == Op::Sum ? total + own : total * own;
        }
        worth_[n] = total;
    }
}

template <class Number>
typename Summing<Number>::Table Summing<Number>::table(const Factor &factor) const {
    Table table{factor.scope, {}};
    table.entries.reserve(factor.entries.size());
    for (const Edge &edge : factor.entries) table.entries.push_back(worth(edge));
    return table;
}

// The product of two tables, with the last group summed out where that is asked for. In every
// table the group to be eliminated first is the last of the scope.
template <class Number>
typename Summing<Number>::Table
Summing<Number>::multiply(const Table &a, const Table &b, const std::vector<uint32_t> &position,
                          const std::vector<uint32_t> &states, bool sum, Watch &watch) {
    Table result;
    result.scope = join(a.scope, b.scope, position);
    uint32_t last = result.scope.back(), inner = states[last];
    result.scope.pop_back();
    Odometer walk(sizes_of(result.scope, states));
    for (const Table *table : {&a, &b}) walk.follow(strides(result.scope, table->scope, states));
    // A table that does not mention the last group has one number for all of its states.
    size_t step_a = !a.scope.empty() && a.scope.back() == last;
    size_t step_b = !b.scope.empty() && b.scope.back() == last;
    double entries = size(result.scope, states) * (sum ? 1 : inner);
    watch.reserve(entries * sizeof(Number) / (1 << 20));
    result.entries.reserve(size_t(entries));
    do {
        watch.check();
        const Number *x = a.entries.data() + walk.places[0];
        const Number *y = b.entries.data() + walk.places[1];
        Number total(0);
        for (uint32_t s = 0; s < inner; ++s) {
            Number own = x[s * step_a] * y[s * step_b];
            if (sum)
                total += own;
            else
                result.entries.push_back(own);
        }
        if (sum) result.entries.push_back(total);
    } while (walk.next());
    if (!sum) result.scope.push_back(last);
    return result;
}

template <class Number>
Number Summing<Number>::eliminate(const std::vector<Factor> &factors,
                                  const std::vector<uint32_t> &order,
                                  const std::vector<uint32_t> &position,
                                  const std::vector<uint32_t> &states, Watch &watch) {
    std::vector<std::vector<Table>> buckets(order.size());
    Number result(1);
    auto put = [&](Table table) {
        if (table.scope.empty())
            result *= table.entries[0];
        else
            buckets[position[table.scope.back()]].push_back(std::move(table));
    };
    for (const Factor &factor : factors) put(table(factor));
    const Table unit{{}, {Number(1)}};
    for (auto &bucket : buckets) {
        if (bucket.empty()) continue;
        while (bucket.size() > 2) {  // the smallest products first
            size_t first = 0, second = 1;
            double least = INFINITY;
            for (size_t i = 0; i < bucket.size(); ++i)
                for (size_t j = i + 1; j < bucket.size(); ++j) {
                    double own = size(join(bucket[i].scope, bucket[j].scope, position), states);
                    if (own < least) least = own, first = i, second = j;
                }
            bucket[first] = multiply(bucket[first], bucket[second], position, states, false, watch);
            bucket.erase(bucket.begin() + ptrdiff_t(second));
        }
        put(multiply(bucket[0], bucket.size() > 1 ? bucket[1] : unit, position, states, true,
                     watch));
        std::vector<Table>().swap(bucket);
    }
    return result;
}

template class Summing<double>;
template class Summing<Scaled>;

}  // namespace dpasp
