#include "elimination.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "summing.hpp"

namespace dpasp {
namespace {

// Multiplies tables and sums groups out. In every table the group to be eliminated first is the
// last of the scope, so that its states lie side by side.
class Tables {
  public:
    Tables(const std::vector<uint32_t> &states, const std::vector<uint32_t> &position,
           Arithmetic &arithmetic, Budget &budget, Watch &watch)
        : states_(states), position_(position), arithmetic_(arithmetic), budget_(budget),
          watch_(watch) {}

    Factor multiply(const Factor &a, const Factor &b) {
        Factor result;
        result.scope = join(a.scope, b.scope);
        reserve(result);
        Odometer walk = over(result.scope, {&a, &b});
        do {
            charge(1);
            const Edge &x = a.entries[walk.places[0]], &y = b.entries[walk.places[1]];
            result.entries.push_back(zero(x) || zero(y) ? ZERO : arithmetic_.product(x, y));
        } while (walk.next());
        return result;
    }

    // The product of one or two tables with the last group summed out.
    Factor sum_out(const Factor &a, const Factor *b) {
        Factor result;
        result.scope = b ? join(a.scope, b->scope) : a.scope;
        uint32_t states = states_[result.scope.back()];
        result.scope.pop_back();
        reserve(result);
        Odometer walk = over(
            result.scope, b ? std::vector<const Factor *>{&a, b} : std::vector<const Factor *>{&a});
        std::vector<Edge> terms;
        do {
            charge(states);
            terms.clear();
            const Edge *x = a.entries.data() + walk.places[0];
            const Edge *y = b ? b->entries.data() + walk.places[1] : nullptr;
            for (uint32_t s = 0; y && s < states; ++s) arithmetic_.expect(x[s], y[s]);
            for (uint32_t s = 0; s < states; ++s) {
                if (zero(x[s]) || (y && zero(y[s]))) continue;
                terms.push_back(y ? arithmetic_.product(x[s], y[s]) : x[s]);
            }
            result.entries.push_back(arithmetic_.sum(terms));
        } while (walk.next());
        return result;
    }

    // The tables of a bucket multiplied, the smallest products first, and their last group summed.
    Factor eliminate(std::vector<Factor> &bucket) {
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
        return sum_out(bucket[0], bucket.size() > 1 ? &bucket[1] : nullptr);
    }

  private:
    const std::vector<uint32_t> &states_, &position_;
    Arithmetic &arithmetic_;
    Budget &budget_;
    Watch &watch_;

    double size(const std::vector<uint32_t> &scope) const {
        double product = 1;
        for (uint32_t g : scope) product *= states_[g];
        return product;
    }

    void reserve(Factor &table) const {
        double entries = size(table.scope);
        watch_.reserve(entries * sizeof(Edge) / (1 << 20));
        table.entries.reserve(size_t(entries));
    }

    void charge(uint32_t entries) {
        watch_.check();
        budget_.charge(entries);
        budget_.size = arithmetic_.nodes();
        if (budget_.size > budget_.nodes)
            throw Stopped(Reason::Size, "a circuit of more nodes than were allowed");
    }

    std::vector<uint32_t> join(const std::vector<uint32_t> &a,
                               const std::vector<uint32_t> &b) const {
        std::vector<uint32_t> both;
        std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both),
                       [&](uint32_t x, uint32_t y) { return position_[x] > position_[y]; });
        return both;
    }

    Odometer over(const std::vector<uint32_t> &scope,
                  const std::vector<const Factor *> &tables) const {
        Odometer walk(sizes_of(scope, states_));
        for (const Factor *table : tables) walk.follow(strides(scope, table->scope, states_));
        return walk;
    }
};

// Sum out the groups that hang on one other group, before all that come earlier in the order.
void prune(std::vector<Factor> &factors, size_t groups, Tables &tables) {
    std::vector<std::vector<Factor>> hanging(groups);
    std::vector<uint32_t> on(groups, NONE);
    std::vector<uint8_t> stays(groups, 0);
    for (const Factor &factor : factors)
        for (uint32_t g : factor.scope) {
            stays[g] |= g != factor.scope.back();  // it comes after another in the order
            for (uint32_t other : factor.scope)
                if (other != g) stays[g] |= on[g] != NONE && on[g] != other, on[g] = other;
        }
    std::vector<Factor> rest;
    for (Factor &factor : factors) {
        bool hangs = !factor.scope.empty() && !stays[factor.scope.back()];
        (hangs ? hanging[factor.scope.back()] : rest).push_back(std::move(factor));
    }
    for (auto &bucket : hanging)
        if (!bucket.empty()) rest.push_back(tables.eliminate(bucket));
    factors = std::move(rest);
}

// Tables over one group join the smallest other table that mentions it: later there are only
// larger ones.
void absorb(std::vector<Factor> &factors, size_t groups, Tables &tables) {
    auto singles = std::stable_partition(factors.begin(), factors.end(), [](const Factor &factor) {
        return factor.scope.size() != 1;
    });
    std::vector<Factor *> smallest(groups, nullptr);
    for (auto factor = factors.begin(); factor != singles; ++factor)
        for (uint32_t g : factor->scope)
            if (!smallest[g] || factor->entries.size() < smallest[g]->entries.size())
                smallest[g] = &*factor;
    for (auto single = singles; single != factors.end(); ++single)
        if (Factor *table = smallest[single->scope[0]]) {
            *table = tables.multiply(*table, *single);
            *single = {{}, {UNIT}};
        }
}

}  // namespace

Elimination::Elimination(const Job &job)
    : job_(job), builder_(job.builder), watch_(job.watch),
      arithmetic_(job.builder, job.problem.gates, job.part.choices),
      heads_(read_heads(job.problem, job.part, job.asks)) {}

void Elimination::prepare(double most) {
    network_ = find_groups(job_, heads_, arithmetic_);
    for (const Ask &ask : job_.asks) {
        if (cost_ == INFINITY) return;
        tasks_.push_back(task(ask, most));
    }
    if (!job_.part.asserted.empty()) tasks_.push_back(task(Ask{}, most));
}

Restriction Elimination::restriction(const Ask &ask) const {
    // What the ask and the constraints depend on; the tables of all else sum to 1.
    std::vector<uint8_t> needed(network_.states.size(), 0);
    auto need = [&](uint32_t group) { needed[group] = 1; };
    for (const auto *lits : {&ask.query, &ask.evidence})
        for (Lit lit : *lits) need(network_.readings.at(lit).group);
    for (const Reading &reading : network_.asserted) need(reading.group);
    for (const Factor &factor : network_.constraints)
        for (uint32_t g : factor.scope) need(g);
    for (uint32_t g = uint32_t(needed.size()); g-- > 0;)  // parents have smaller numbers
        if (needed[g])
            for (uint32_t parent : network_.tables[g].scope) need(parent);
    Restriction restriction(network_, needed, watch_);
    for (Lit lit : ask.evidence) restriction.require(network_.readings.at(lit));
    for (const Reading &reading : network_.asserted) restriction.require(reading);
    return restriction;
}

Elimination::Task Elimination::task(const Ask &ask, double most) {
    Task task;
    Restriction restriction = this->restriction(ask);
    if (!restriction.propagate()) {
        task.possible = false;
        return task;
    }
    arrange(task, restriction, EntryKind::Nodes, most);
    if (task.cost == INFINITY) return task;
    // A literal of the query holds or not: what is left then satisfies the evidence, at least.
    uint32_t missed = builder_.leaf({Value::E, 0, 1});
    for (Lit lit : ask.query) {
        const Reading &reading = network_.readings.at(lit);
        Factor factor;
        if (restriction.left(reading.group) > 1) factor.scope.push_back(reading.group);
        for (uint32_t s : restriction.places(reading.group))
            factor.entries.push_back(reading.holds[s] ? UNIT : Edge{ONE, missed});
        task.factors.push_back(std::move(factor));
    }
    return task;
}

void Elimination::prepare_together(double most) {
    network_ = find_groups(job_, heads_, arithmetic_);
    Ask all{{}, job_.asks.front().evidence};
    for (const Ask &ask : job_.asks)
        all.query.insert(all.query.end(), ask.query.begin(), ask.query.end());
    Restriction restriction = this->restriction(all);
    Task &task = tasks_.emplace_back();
    task.possible = restriction.propagate();
    if (!task.possible) return;
    arrange(task, restriction, EntryKind::Numbers, most);
    for (const Ask &ask : job_.asks) {
        Reading &left = left_.emplace_back();
        if (ask.query.empty()) continue;
        const Reading &whole = network_.readings.at(ask.query[0]);
        left.group = whole.group;
        for (uint32_t s : restriction.places(whole.group)) left.holds.push_back(whole.holds[s]);
    }
}

std::vector<Share> Elimination::shares() {
    if (!tasks_[0].possible) return std::vector<Share>(job_.asks.size());
    DoublesEnd doubles_end;
    std::vector<Share> found = shares_in<double>();
    if (!doubles_end.met()) return found;
    for (const Share &share : found)
        if (doubtful(share.holds.value()) || doubtful(share.fails.value()))
            return shares_in<Scaled>();
    return found;
}

template <class Number> std::vector<Share> Elimination::shares_in() const {
    std::vector<Share> found(job_.asks.size());
    const Task &task = tasks_[0];
    Summing<Number> summing(builder_, *job_.weights, &Value::e);
    Marginals<Number> marginals =
        summing.marginals(task.factors, task.order, task.position, task.states, watch_);
    for (size_t i = 0; i < found.size(); ++i) {
        Number holds(0), fails(0);
        if (job_.asks[i].query.empty()) holds = marginals.total;
        const std::vector<Number> &own = marginals.groups[left_[i].group];
        for (size_t s = 0; s < left_[i].holds.size(); ++s)
            (left_[i].holds[s] ? holds : fails) += own.empty() ? marginals.total : own[s];
        found[i] = {holds, fails};
    }
    return found;
}

void Elimination::arrange(Task &task, const Restriction &restriction, EntryKind kind, double most) {
    task.states.resize(network_.states.size());
    task.position.assign(network_.states.size(), 0);
    Outline outline;
    std::vector<uint32_t> groups;  // those with several states left
    std::vector<uint32_t> variable(network_.states.size(), NONE);
    for (uint32_t g = 0; g < task.states.size(); ++g) {
        task.states[g] = restriction.left(g);
        if (task.states[g] <= 1) continue;
        variable[g] = uint32_t(groups.size());
        groups.push_back(g);
        outline.states.push_back(task.states[g]);
    }
    for (const Factor *table : restriction.tables)
        outline.tables.push_back(restriction.numbers(*table, variable));
    EliminationOrder order = order_elimination(outline, kind, most, watch_);
    for (uint32_t v : order.variables) {
        task.position[groups[v]] = uint32_t(task.order.size());
        task.order.push_back(groups[v]);
    }
    task.cost = order.cost;
    cost_ += order.cost;
    if (task.cost < INFINITY)
        for (const Factor *table : restriction.tables)
            task.factors.push_back(restriction.slice(*table, task.position));
    width_ = std::max(width_, uint32_t(std::ceil(std::log2(std::max(order.largest, 1.0)))));
}

std::vector<uint32_t> Elimination::run() {
    uint32_t consistent = Builder::TRUE_NODE;
    if (tasks_.size() > job_.asks.size()) consistent = arithmetic_.node(eliminate(tasks_.back()));
    std::vector<uint32_t> roots;
    for (size_t i = 0; i < job_.asks.size(); ++i) {
        std::optional<Edge> known = number(tasks_[i]);
        roots.push_back(root(job_.asks[i], known ? *known : eliminate(tasks_[i]), consistent));
    }
    return roots;
}

std::optional<Edge> Elimination::number(const Task &task) {
    bool alone = network_.constraints.empty() && job_.part.asserted.empty();
    if (!job_.weights || !task.possible || task.cost < job_.many || !alone) return {};
    double Value::*channels[] = {&Value::qe, &Value::e};
    Scaled found[2];
    for (int i = 0; i < 2; ++i) {
        DoublesEnd doubles_end;
        double plain = Summing<double>(builder_, *job_.weights, channels[i])
                           .eliminate(task.factors, task.order, task.position, task.states, watch_);
        found[i] = plain;
        if (doubles_end.met() && doubtful(plain))
            found[i] =
                Summing<Scaled>(builder_, *job_.weights, channels[i])
                    .eliminate(task.factors, task.order, task.position, task.states, watch_);
    }
    job_.budget.advance(1.0 / double(tasks_.size()));
    if (found[1].zero()) return {};
    numbered_ = true;
    // A value of two kinds, so that its numbers count and not its kind.
    Scaled qe = std::min(found[0], found[1]);
    return Edge{ONE, builder_.leaf(Value::QE | Value::E, qe, found[1])};
}

// Where there is evidence, the total choices that contradict it count for consistency alone.
uint32_t Elimination::root(const Ask &ask, Edge found, uint32_t consistent) {
    uint32_t node = arithmetic_.node(found);
    if (ask.evidence.empty()) return node;
    uint32_t uncounted = builder_.leaf({Value::QE, 1, 1, false});
    uint32_t other = builder_.leaf({Value::OTHER, 0, 0});
    return builder_.sum(
        {{ONE, builder_.product(uncounted, node)}, {ONE, builder_.product(other, consistent)}});
}

Edge Elimination::eliminate(Task &task) {
    if (!task.possible) return ZERO;
    Tables tables(task.states, task.position, arithmetic_, job_.budget, watch_);
    std::vector<std::vector<Factor>> buckets(task.order.size());
    Edge result = UNIT;
    auto put = [&](Factor factor) {
        bool nothing = true;
        for (const Edge &edge : factor.entries) nothing = nothing && edge == UNIT;
        if (nothing) return;
        if (factor.scope.empty())
            result = arithmetic_.product(result, factor.entries[0]);
        else
            buckets[task.position[factor.scope.back()]].push_back(std::move(factor));
    };
    // The leaves of observed atoms are constraints. Without any, this would only take tables apart
    // whose equal entries are shared.
    if (!network_.constraints.empty()) {
        prune(task.factors, task.states.size(), tables);
        absorb(task.factors, task.states.size(), tables);
    }
    for (Factor &factor : task.factors) put(std::move(factor));
    for (auto &bucket : buckets) {
        if (!bucket.empty()) put(tables.eliminate(bucket));
        std::vector<Factor>().swap(bucket);
        job_.budget.advance(1.0 / double(tasks_.size() * buckets.size()));
    }
    return result;
}

}  // namespace dpasp
