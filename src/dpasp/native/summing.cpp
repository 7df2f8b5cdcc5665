
#include "elimination.hpp"
#include "tuning.hpp"

namespace dpasp {
namespace {

// The tables that are multiplied to sum out one group, which is the last of each scope. Some of
// them are the messages of earlier buckets.
template <class Number> struct Bucket {
    std::vector<TableOver<Number>> tables;
    std::vector<size_t> from;     // by table: the bucket that left it, or FIRST
    std::vector<uint32_t> scope;  // of the message: all groups of the tables but the last
    std::vector<Number> slopes;   // by entry of the message: the derivative of the total
    int64_t exponent = 0;         // by which power of 2 the message was divided
    uint32_t group = 0, states = 0;
    bool summed = false;  // where others take the maximum
};

// The sum (or maximum) over the states of a group.
template <class Number> Number together(const Number *products, uint32_t states, bool) {
    Number total(0);
    for (uint32_t s = 0; s < states; ++s) total += products[s];
    return total;
}
template <> Largest together(const Largest *products, uint32_t states, bool summed) {
    Largest total(0);
    for (uint32_t s = 0; s < states; ++s) total += products[s];
    if (!summed || total.log == -INFINITY) return total;
    double shares = 0;
    for (uint32_t s = 0; s < states; ++s) shares += std::exp(products[s].log - total.log);
    total.log += std::log(shares);
    return total;
}

// The entries of a bucket's product, block by block. Within a block, the last groups of the scope
// and the group that is summed out take all their states.
struct Blocks {
    Odometer walk;                             // over the other groups, with the tables' places
    size_t size = 1;                           // entries of the message in a block
    std::vector<std::vector<uint32_t>> index;  // by table and entry: how far it lies from its place
    std::vector<uint8_t> dense;                // by table: the entries lie side by side
};

// The least number of entries in a block, if there are that many.
constexpr size_t BLOCK = 256;

constexpr size_t FIRST = SIZE_MAX;

// Multiplies numbers by a power of 2.
void raise(std::vector<double> &numbers, int64_t exponent) {
    if (!exponent) return;
    int half = int(exponent / 2);
    double scale = std::ldexp(1.0, half), rest = std::ldexp(1.0, int(exponent) - half);
    for (double &number : numbers) number = number * scale * rest;
}
template <class Number> void raise(std::vector<Number> &, int64_t) {}

// Divides numbers by a power of 2, so that the largest is near 1; returns its exponent. Then
// doubles need only the range of one table, not that of all together.
int64_t level(std::vector<double> &numbers) {
    double most = 0;
    for (double number : numbers) most = std::max(most, number);
    if (most == 0 || !std::isfinite(most)) return 0;
    int64_t exponent = std::ilogb(most);
    raise(numbers, -exponent);
    return exponent;
}
template <class Number> int64_t level(std::vector<Number> &) { return 0; }

// The forward pass of elimination, and the backward pass, for which all tables are kept.
template <class Number> class Passes {
    using Table = TableOver<Number>;
    using Numbers = std::vector<Number>;

  public:
    Passes(const Sequence &sequence, Watch &watch, const Goal &goal = {})
        : position_(sequence.position), states_(sequence.states), watch_(watch), goal_(goal),
          buckets_(sequence.order.size()) {
        for (size_t i = 0; i < buckets_.size(); ++i) {
            buckets_[i].group = sequence.order[i];
            buckets_[i].states = states_[sequence.order[i]];
            buckets_[i].summed = goal.sums && !goal.late[sequence.order[i]];
        }
    }

    // No entry is above 2, so a product that underflows is negligible compared with the total,
    // unless only such products remain in a later sum (see `Marginals::lossy`).
    void put(Table table, size_t from) {
        if (from == FIRST) exponent_ += level(table.entries);
        if (table.scope.empty()) {
            ends_.push_back({from, table.entries[0]});
            return;
        }
        Bucket<Number> &bucket = buckets_[position_[table.scope.back()]];
        bucket.tables.push_back(std::move(table));
        bucket.from.push_back(from);
    }

    // All sums, or only the total.
    Marginals<Number> run(bool all) {
        Marginals<Number> result;
        forwards(all);
        for (Bucket<Number> &bucket : buckets_)
            if (all && !bucket.tables.empty())
                bucket.slopes.assign(size_t(size(bucket.scope)), Number(0));
        result.groups.resize(states_.size());
        end(result, all);
        result.lossy = std::is_same_v<Number, double> && DoublesEnd::met();
        for (size_t i = buckets_.size(); all && i-- > 0;)
            if (!buckets_[i].tables.empty()) result.groups[buckets_[i].group] = back(buckets_[i]);
        return result;
    }

    // With maxima instead of sums: beginning with the last group, each takes the states that attain
    // the maximum. For groups that are summed out, only a bound needs the states.
    Maximum maximum(size_t most) {
        struct Partial {
            std::vector<uint32_t> states;
            double lost;  // the logarithm of the share of the largest product that is missed
        };
        forwards(true);
        Maximum result{0, 0, {}};
        for (const End &end : ends_) result.log += end.number.log;
        if (result.log == -INFINITY) return result;
        std::vector<Partial> kept{{std::vector<uint32_t>(states_.size(), 0), 0}};
        for (size_t i = buckets_.size(); i-- > 0;) {
            if (buckets_[i].summed && !goal_.bounded) break;
            std::vector<Partial> next;
            for (Partial &partial : kept) {
                watch_.check();
                std::vector<Number> products = row(buckets_[i], partial.states);
                Number best(0);
                for (const Number &product : products) best += product;
                std::vector<std::pair<uint32_t, double>> taken;
                // only if tables were divided, so that no state fits
                if (best.log == -INFINITY) taken.emplace_back(0, partial.lost);
                for (uint32_t s = 0; s < products.size(); ++s)
                    if (double lost = partial.lost + best.log - products[s].log;
                        lost <= tuning::CLOSE)
                        taken.emplace_back(s, lost);
                for (auto [state, lost] : taken) {
                    partial.states[buckets_[i].group] = state;
                    bool last = state == taken.back().first;
                    next.push_back({last ? std::move(partial.states) : partial.states, lost});
                }
            }
            if (next.size() > most) {
                std::stable_sort(next.begin(), next.end(), [](const Partial &a, const Partial &b) {
                    return a.lost < b.lost;
                });
                next.resize(most);
            }
            kept = std::move(next);
        }
        for (Partial &partial : kept) result.ties.push_back(std::move(partial.states));
        return result;
    }

  private:
    // A table without a scope is a number, a factor of the total.
    struct End {
        size_t from;
        Number number;
    };

    const std::vector<uint32_t> &position_, &states_;
    Watch &watch_;
    const Goal goal_;
    std::vector<Bucket<Number>> buckets_;
    std::vector<End> ends_;
    int64_t exponent_ = 0;

    // Eliminates all groups; with `keep`, tables are kept for the backward pass.
    void forwards(bool keep) {
        for (size_t i = 0; i < buckets_.size(); ++i)
            if (Bucket<Number> &bucket = buckets_[i]; !bucket.tables.empty()) {
                if (whole(bucket.tables) > goal_.room)
                    divide(i);
                else
                    put(message(bucket), i);
                if (!keep) std::vector<Table>().swap(bucket.tables);
            }
    }

    // The number of entries of the product of some tables.
    double whole(const std::vector<Table> &tables) const {
        std::vector<uint32_t> scope;
        for (const Table &table : tables) scope = join(scope, table.scope);
        return size(scope);
    }

    // Divides the tables into groups with small products, each with its own message; their product
    // is an upper bound on the message of all. Only one of them sums, the others take the maximum.
    void divide(size_t place) {
        Bucket<Number> &bucket = buckets_[place];
        std::vector<Bucket<Number>> parts;
        std::stable_sort(bucket.tables.begin(), bucket.tables.end(),
                         [](const Table &a, const Table &b) {
                             return a.entries.size() > b.entries.size();
                         });
        for (Table &table : bucket.tables) {
            auto fits = [&](const Bucket<Number> &part) {
                std::vector<uint32_t> scope = table.scope;
                for (const Table &other : part.tables) scope = join(scope, other.scope);
                return size(scope) <= goal_.room;
            };
            auto part = std::find_if(parts.begin(), parts.end(), fits);
            if (part == parts.end()) {
                part = parts.insert(part, Bucket<Number>());
                part->group = bucket.group, part->states = bucket.states;
                part->summed = bucket.summed && parts.size() == 1;
            }
            part->tables.push_back(std::move(table));
            part->from.push_back(FIRST);
        }
        bucket.tables.clear();
        for (Bucket<Number> &part : parts) {
            put(message(part), place);
            for (Table &table : part.tables) bucket.tables.push_back(std::move(table));
        }
    }

    // The products of a bucket's tables for each state of its group, given the states of the
    // others.
    Numbers row(const Bucket<Number> &bucket, const std::vector<uint32_t> &states) const {
        Numbers products(bucket.states, Number(1));
        for (const Table &table : bucket.tables) {
            size_t place = 0;  // the group is the last of the scope
            for (uint32_t g : table.scope)
                place = place * states_[g] + (g == bucket.group ? 0 : states[g]);
            for (uint32_t s = 0; s < bucket.states; ++s) products[s] *= table.entries[place + s];
        }
        return products;
    }

    Blocks blocks(const Bucket<Number> &bucket) const {
        size_t outer = bucket.scope.size(), size = 1;
        while (outer > 0 && size * bucket.states < BLOCK) size *= states_[bucket.scope[--outer]];
        std::vector<uint32_t> first(bucket.scope.begin(), bucket.scope.begin() + ptrdiff_t(outer));
        std::vector<uint32_t> last(bucket.scope.begin() + ptrdiff_t(outer), bucket.scope.end());
        last.push_back(bucket.group);
        Blocks result{Odometer(sizes_of(first, states_)), size, {}, {}};
        for (const Table &table : bucket.tables) {
            result.walk.follow(strides(first, table.scope, states_));
            Odometer inner(sizes_of(last, states_));
            inner.follow(strides(last, table.scope, states_));
            auto &index = result.index.emplace_back();
            bool dense = true;
            do {
                dense = dense && inner.places[0] == index.size();
                index.push_back(uint32_t(inner.places[0]));
            } while (inner.next());
            result.dense.push_back(dense);
        }
        return result;
    }

    double size(const std::vector<uint32_t> &scope) const { return entries_over(scope, states_); }
    std::vector<uint32_t> join(const std::vector<uint32_t> &a,
                               const std::vector<uint32_t> &b) const {
        return join_scopes(a, b, position_);
    }

    Table product(const Table &a, const Table &b) {
        Table result{join(a.scope, b.scope), {}};
        result.entries.reserve(size_t(size(result.scope)));
        Odometer walk(sizes_of(result.scope, states_));
        for (const Table *table : {&a, &b})
            walk.follow(strides(result.scope, table->scope, states_));
        do {
            watch_.check();
            result.entries.push_back(a.entries[walk.places[0]] * b.entries[walk.places[1]]);
        } while (walk.next());
        exponent_ += level(result.entries);
        return result;
    }

    // Multiplies small tables that are not messages as long as their products are small compared
    // with that of all, since every table costs time at every entry of that.
    void condense(Bucket<Number> &bucket, double whole) {
        double most = std::max(tuning::SMALL_TABLE, whole / tuning::SMALL_SHARE);
        std::vector<Table> first, rest;
        std::vector<size_t> from;
        for (size_t t = 0; t < bucket.tables.size(); ++t) {
            if (bucket.from[t] == FIRST) {
                first.push_back(std::move(bucket.tables[t]));
            } else {
                rest.push_back(std::move(bucket.tables[t]));
                from.push_back(bucket.from[t]);
            }
        }
        std::stable_sort(first.begin(), first.end(), [](const Table &a, const Table &b) {
            return a.entries.size() > b.entries.size();
        });
        size_t messages = rest.size();
        for (Table &table : first) {
            size_t best = rest.size();
            double least = most;
            for (size_t t = messages; t < rest.size(); ++t) {
                double joint = size(join(rest[t].scope, table.scope));
                if (joint <= std::max(least, double(rest[t].entries.size())))
                    best = t, least = std::min(least, joint);
            }
            if (best < rest.size())
                rest[best] = product(rest[best], table);
            else
                rest.push_back(std::move(table));
        }
        from.resize(rest.size(), FIRST);
        bucket.tables = std::move(rest);
        bucket.from = std::move(from);
    }

    // The product of the tables with the group summed out.
    Table message(Bucket<Number> &bucket) {
        for (const Table &table : bucket.tables)
            bucket.scope.insert(bucket.scope.end(), table.scope.begin(), table.scope.end() - 1);
        std::sort(bucket.scope.begin(), bucket.scope.end(),
                  [&](uint32_t a, uint32_t b) { return position_[a] > position_[b]; });
        bucket.scope.erase(std::unique(bucket.scope.begin(), bucket.scope.end()),
                           bucket.scope.end());
        double size = this->size(bucket.scope);
        if (bucket.tables.size() > 2) condense(bucket, size * bucket.states);
        watch_.reserve(2 * size * sizeof(Number) / (1 << 20));
        Table result{bucket.scope, {}};
        result.entries.reserve(size_t(size));
        Blocks blocks = this->blocks(bucket);
        Numbers products(blocks.size * bucket.states);
        do {
            watch_.check();
            std::fill(products.begin(), products.end(), Number(1));
            for (size_t t = 0; t < bucket.tables.size(); ++t) multiply(bucket, blocks, t, products);
            for (size_t i = 0; i < blocks.size; ++i)
                result.entries.push_back(
                    together(products.data() + i * bucket.states, bucket.states, bucket.summed));
        } while (blocks.walk.next());
        exponent_ += bucket.exponent = level(result.entries);
        return result;
    }

    // Multiplies the products of a block by the entries of a table.
    static void multiply(const Bucket<Number> &bucket, const Blocks &blocks, size_t t,
                         Numbers &products) {
        const Number *entries = bucket.tables[t].entries.data() + blocks.walk.places[t];
        const uint32_t *index = blocks.index[t].data();
        size_t length = products.size();
        if (blocks.dense[t])
            for (size_t j = 0; j < length; ++j) products[j] *= entries[j];
        else
            for (size_t j = 0; j < length; ++j) products[j] *= entries[index[j]];
    }

    // The total, and its derivatives by the last messages: the products of all others.
    void end(Marginals<Number> &result, bool all) {
        Numbers after(ends_.size() + 1, Number(1));
        for (size_t i = ends_.size(); i-- > 0;) after[i] = ends_[i].number * after[i + 1];
        Number before(1);
        for (size_t i = 0; i < ends_.size(); ++i) {
            if (all && ends_[i].from != FIRST)
                buckets_[ends_[i].from].slopes[0] = before * after[i + 1];
            before *= ends_[i].number;
        }
        result.total = after[0];
        result.exponent = exponent_;
    }

    // The contribution of each state of the group to the total; also adds to the slopes of the
    // bucket's incoming messages.
    Numbers back(Bucket<Number> &bucket) {
        raise(bucket.slopes, -bucket.exponent);
        Blocks blocks = this->blocks(bucket);
        size_t count = bucket.tables.size(), length = blocks.size * bucket.states, place = 0;
        Numbers found(bucket.states, Number(0)), before(length);
        std::vector<Numbers> after(count, Numbers(length));  // the tables behind each multiplied
        do {
            watch_.check();
            const Number *slopes = bucket.slopes.data() + place;
            place += blocks.size;
            if (std::all_of(slopes, slopes + blocks.size,
                            [](const Number &slope) { return slope == Number(0); }))
                continue;
            for (size_t t = count; t-- > 0;) {
                if (t + 1 == count) {
                    std::fill(after[t].begin(), after[t].end(), Number(1));
                } else {
                    after[t] = after[t + 1];
                    multiply(bucket, blocks, t + 1, after[t]);
                }
            }
            for (size_t i = 0; i < blocks.size; ++i)
                std::fill_n(before.begin() + ptrdiff_t(i * bucket.states), bucket.states,
                            slopes[i]);
            for (size_t t = 0; t < count; ++t) {
                if (bucket.from[t] != FIRST) {
                    Number *own = buckets_[bucket.from[t]].slopes.data() + blocks.walk.places[t];
                    const uint32_t *index = blocks.index[t].data();
                    for (size_t j = 0; j < length; ++j) own[index[j]] += before[j] * after[t][j];
                }
                multiply(bucket, blocks, t, before);
            }
            const Number *product = before.data();
            for (size_t i = 0; i < blocks.size; ++i)
                for (uint32_t s = 0; s < bucket.states; ++s) found[s] += *product++;
        } while (blocks.walk.next());
        return found;
    }
};

// Improves states one group at a time, and repeats that after random changes.
class Ascent {
  public:
    Ascent(const std::vector<TableOver<Largest>> &tables, const std::vector<uint32_t> &states,
           const Goal &goal, Watch &watch)
        : tables_(tables), states_(states), goal_(goal), watch_(watch), of_group_(states.size()) {
        for (size_t t = 0; t < tables.size(); ++t)
            for (uint32_t g : tables[t].scope) of_group_[g].push_back(t);
    }

    // Replaces the states by the best ones, and returns the logarithm of their product.
    double run(std::vector<uint32_t> &best) {
        at_ = best;
        std::set<uint32_t> all;
        for (uint32_t g = 0; g < states_.size(); ++g)
            if (!of_group_[g].empty()) all.insert(g);
        if (goal_.sums) return product();
        climb(all);
        best = at_;
        double most = product();
        std::minstd_rand random(1);
        for (size_t i = 0; i < tuning::ASCENTS && !tables_.empty(); ++i) {
            std::set<uint32_t> near;
            double before = 0, after = 0;
            const TableOver<Largest> &moved = tables_[random() % tables_.size()];
            for (uint32_t g : moved.scope) at_[g] = uint32_t(random() % states_[g]);
            for (uint32_t g : moved.scope)
                for (size_t t : of_group_[g])
                    near.insert(tables_[t].scope.begin(), tables_[t].scope.end());
            for (uint32_t g : moved.scope) near.erase(g);
            climb(near);
            after = product(), before = most;
            if (after >= before)
                best = at_, most = after;
            else
                at_ = best;
        }
        return most;
    }

  private:
    const std::vector<TableOver<Largest>> &tables_;
    const std::vector<uint32_t> &states_;
    const Goal &goal_;
    Watch &watch_;
    std::vector<std::vector<size_t>> of_group_;  // tables
    std::vector<uint32_t> at_;                   // by group: its state

    double entry(const TableOver<Largest> &table) const {
        size_t place = 0;
        for (uint32_t g : table.scope) place = place * states_[g] + at_[g];
        return table.entries[place].log;
    }

    double product() const {
        double total = 0;
        for (const auto &table : tables_) total += entry(table);
        return total;
    }

    // Zeros count as very small numbers, so that fewer zeros are better.
    void climb(std::set<uint32_t> todo) {
        while (!todo.empty()) {
            watch_.check();
            uint32_t g = *todo.begin(), before = at_[g], best = before;
            todo.erase(todo.begin());
            double most = -INFINITY;
            for (uint32_t i = 0; i < states_[g]; ++i) {
                at_[g] = (before + i) % states_[g];
                double own = 0;
                for (size_t t : of_group_[g]) own += std::max(entry(tables_[t]), -1e6);
                if (own > most + tuning::CLOSE || i == 0) most = own, best = at_[g];
            }
            at_[g] = best;
            if (best != before)
                for (size_t t : of_group_[g])
                    for (uint32_t other : tables_[t].scope)
                        if (other != g) todo.insert(other);
        }
    }
};

}  // namespace

template <class Number>
Summing<Number>::Summing(const Builder &builder, const std::vector<double> &weights,
                         double Value::*channel)
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

template <class Number> TableOver<Number> Summing<Number>::table(const Factor &factor) const {
    TableOver<Number> table{factor.scope, {}};
    table.entries.reserve(factor.entries.size());
    for (const Edge &edge : factor.entries) table.entries.push_back(worth(edge));
    return table;
}

template <class Number>
Marginals<Number> Summing<Number>::marginals(const std::vector<Factor> &factors,
                                             const Sequence &sequence, bool all, Watch &watch,
                                             const std::vector<std::vector<double>> &more) const {
    Passes<Number> passes(sequence, watch);
    for (const Factor &factor : factors) passes.put(table(factor), FIRST);
    for (uint32_t g = 0; g < more.size(); ++g)
        if (!more[g].empty()) passes.put({{g}, {more[g].begin(), more[g].end()}}, FIRST);
    return passes.run(all);
}

Maximum maximum(const std::vector<TableOver<Largest>> &tables, const Sequence &sequence,
                const Goal &goal, Watch &watch) {
    Passes<Largest> passes(sequence, watch, goal);
    for (const TableOver<Largest> &table : tables) passes.put(table, FIRST);
    Maximum best = passes.maximum(goal.bounded ? 1 : goal.ties);
    best.found = best.log;
    if (goal.bounded && !best.ties.empty())
        best.found = Ascent(tables, sequence.states, goal, watch).run(best.ties[0]);
    return best;
}

template class Summing<double>;
template class Summing<Scaled>;
template class Summing<Possible>;
template class Summing<Largest>;

}  // namespace dpasp
