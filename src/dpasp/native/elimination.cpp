#include "elimination.hpp"

#include "tuning.hpp"

namespace dpasp {

// The states that evidence and constraints leave; others are removed from the tables.
class Restriction {
  public:
    Restriction(const Network &network, std::vector<uint8_t> needed, Watch &watch)
        : network_(network), needed_(std::move(needed)), watch_(watch) {
        for (uint32_t g = 0; g < network.states.size(); ++g)
            allowed.emplace_back(needed_[g] ? network.states[g] : 0, 1);
        for (uint32_t g = 0; g < network.states.size(); ++g)
            if (needed_[g]) tables.push_back(&network.tables[g]);
        for (const Factor &factor : network.constraints) tables.push_back(&factor);
    }

    std::vector<std::vector<uint8_t>> allowed;  // by group and state
    std::vector<const Factor *> tables;

    void require(const Reading &reading) {
        for (size_t s = 0; s < reading.holds.size(); ++s)
            allowed[reading.group][s] &= reading.holds[s];
    }

    // Removes states without support in some table until there are none; false if a group has no
    // state left.
    bool propagate() {
        std::vector<std::vector<uint32_t>> of_group(allowed.size());
        for (uint32_t t = 0; t < tables.size(); ++t)
            for (uint32_t g : tables[t]->scope) of_group[g].push_back(t);
        std::vector<uint32_t> todo;
        std::vector<uint8_t> waiting(tables.size(), 1);
        for (uint32_t t = uint32_t(tables.size()); t-- > 0;) todo.push_back(t);
        while (!todo.empty()) {
            watch_.check();
            uint32_t t = todo.back();
            todo.pop_back();
            waiting[t] = 0;
            for (uint32_t g : revise(*tables[t]))
                for (uint32_t other : of_group[g])
                    if (!waiting[other]) waiting[other] = 1, todo.push_back(other);
        }
        settle();
        for (uint32_t g = 0; g < allowed.size(); ++g)
            if (needed_[g] && !left(g)) return false;
        return true;
    }

    // A table restricted to the groups that still have several states, in the given order.
    Factor slice(const Factor &table, const std::vector<uint32_t> &position) const {
        Factor result;
        for (uint32_t g : table.scope)
            if (left(g) > 1) result.scope.push_back(g);
        std::sort(result.scope.begin(), result.scope.end(),
                  [&](uint32_t a, uint32_t b) { return position[a] > position[b]; });
        size_t size = 1, base = 0;
        std::vector<size_t> steps = strides(result.scope, table.scope, network_.states);
        std::vector<size_t> whole = strides(table.scope, table.scope, network_.states);
        for (size_t i = 0; i < table.scope.size(); ++i)
            if (left(table.scope[i]) == 1) base += whole[i] * places_[table.scope[i]][0];
        for (uint32_t g : result.scope) size *= left(g);
        result.entries.reserve(size);
        visit(result.scope, steps, 0, base,
              [&](size_t at) { result.entries.push_back(table.entries[at]); });
        return result;
    }

    uint32_t left(uint32_t group) const { return uint32_t(places_[group].size()); }
    const std::vector<uint32_t> &places(uint32_t group) const { return places_[group]; }

  private:
    const Network &network_;
    std::vector<uint8_t> needed_;
    Watch &watch_;
    std::vector<std::vector<uint32_t>> places_;  // by group: the states that are left

    void settle() {
        places_.assign(allowed.size(), {});
        for (uint32_t g = 0; g < allowed.size(); ++g)
            for (uint32_t s = 0; s < allowed[g].size(); ++s)
                if (allowed[g][s]) places_[g].push_back(s);
    }

    // Visits the places in a table of all combinations of the remaining states.
    template <class Function>
    void visit(const std::vector<uint32_t> &scope, const std::vector<size_t> &steps, size_t level,
               size_t base, const Function &function) const {
        if (level == scope.size()) return function(base);
        for (uint32_t s : places_[scope[level]])
            visit(scope, steps, level + 1, base + s * steps[level], function);
    }

    // The groups that lost states.
    std::vector<uint32_t> revise(const Factor &table) {
        const auto &scope = table.scope;
        std::vector<std::vector<uint8_t>> seen;
        for (uint32_t g : scope) seen.emplace_back(network_.states[g], 0);
        Odometer walk(sizes_of(scope, network_.states));
        for (size_t i = 0;; ++i) {
            bool holds = !zero(table.entries[i]);
            for (size_t j = 0; holds && j < scope.size(); ++j)
                holds = allowed[scope[j]][walk.states()[j]];
            if (holds)
                for (size_t j = 0; j < scope.size(); ++j) seen[j][walk.states()[j]] = 1;
            if (!walk.next()) break;
        }
        std::vector<uint32_t> changed;
        for (size_t j = 0; j < scope.size(); ++j) {
            bool fewer = false;
            for (size_t s = 0; s < seen[j].size(); ++s)
                if (allowed[scope[j]][s] && !seen[j][s]) allowed[scope[j]][s] = 0, fewer = true;
            if (fewer) changed.push_back(scope[j]);
        }
        return changed;
    }
};

namespace {

// Eliminates groups by buckets. In the scope of every table, the group to be eliminated first comes
// last, so that its states lie side by side.
class Buckets {
  public:
    Buckets(Arithmetic &arithmetic, Budget &budget, const Sequence &sequence, Watch &watch)
        : arithmetic_(arithmetic), budget_(budget), states_(sequence.states),
          position_(sequence.position), watch_(watch), buckets_(sequence.order.size()) {}

    void put(Factor table) {
        if (std::all_of(table.entries.begin(), table.entries.end(),
                        [](const Edge &edge) { return edge == UNIT; }))
            return;
        if (table.scope.empty())
            result_ = product(result_, table.entries[0]);
        else
            buckets_[position_[table.scope.back()]].push_back(std::move(table));
    }

    // Sums out all groups; `after` is called after each of them.
    template <class After> Edge run(const After &after) {
        for (auto &bucket : buckets_) {
            if (!bucket.empty()) put(eliminate(bucket));
            std::vector<Factor>().swap(bucket);
            after();
        }
        return result_;
    }

  private:
    Arithmetic &arithmetic_;
    Budget &budget_;
    const std::vector<uint32_t> &states_, &position_;
    Watch &watch_;
    std::vector<std::vector<Factor>> buckets_;  // by position of the group that goes first
    Edge result_ = UNIT;
    std::vector<Edge> terms_;

    // Multiplies the tables of a bucket, smallest products first, and sums out the last group.
    Factor eliminate(std::vector<Factor> &bucket) {
        while (bucket.size() > 2) {
            size_t first = 0, second = 1;
            double least = INFINITY;
            for (size_t i = 0; i < bucket.size(); ++i)
                for (size_t j = i + 1; j < bucket.size(); ++j) {
                    auto both = join_scopes(bucket[i].scope, bucket[j].scope, position_);
                    if (double own = entries_over(both, states_); own < least)
                        least = own, first = i, second = j;
                }
            bucket[first] = multiply(bucket[first], bucket[second], false);
            bucket.erase(bucket.begin() + ptrdiff_t(second));
        }
        const Factor unit{{}, {UNIT}};
        return multiply(bucket[0], bucket.size() > 1 ? bucket[1] : unit, true);
    }

    // The product of two tables; with `sum`, the last group is summed out.
    Factor multiply(const Factor &a, const Factor &b, bool sum) {
        Factor result{join_scopes(a.scope, b.scope, position_), {}};
        uint32_t last = result.scope.back(), inner = states_[last];
        result.scope.pop_back();
        Odometer walk(sizes_of(result.scope, states_));
        for (const Factor *table : {&a, &b})
            walk.follow(strides(result.scope, table->scope, states_));
        // A table without the last group has one entry for all of its states.
        size_t step_a = !a.scope.empty() && a.scope.back() == last;
        size_t step_b = !b.scope.empty() && b.scope.back() == last;
        double entries = entries_over(result.scope, states_) * (sum ? 1 : inner);
        watch_.reserve(entries * sizeof(Edge) / (1 << 20));
        result.entries.reserve(size_t(entries));
        do {
            watch_.check();
            charge(inner);
            const Edge *x = a.entries.data() + walk.places[0];
            const Edge *y = b.entries.data() + walk.places[1];
            terms_.clear();
            for (uint32_t s = 0; s < inner; ++s, x += step_a, y += step_b) {
                Edge both = product(*x, *y);
                if (!sum)
                    result.entries.push_back(both);
                else if (!zero(both))
                    terms_.push_back(both);
            }
            if (sum) result.entries.push_back(arithmetic_.sum(terms_));
        } while (walk.next());
        if (!sum) result.scope.push_back(last);
        return result;
    }

    Edge product(const Edge &x, const Edge &y) {
        return zero(x) || zero(y) ? ZERO : arithmetic_.product(x, y);
    }

    void charge(uint32_t entries) {
        budget_.charge(entries);
        budget_.size = arithmetic_.nodes();
        if (budget_.size > budget_.nodes)
            throw Stopped(Reason::Size, "a circuit of more nodes than were allowed");
    }
};

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
    // The groups that the ask and the constraints depend on; all other tables sum to 1.
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
    // If a literal of the query fails, at least the evidence holds.
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

void Elimination::prepare_together(double most, const Goal &goal) {
    network_ = find_groups(job_, heads_, arithmetic_);
    goal_ = goal;
    if (goal.sums) mark();
    Ask all{{}, job_.asks.front().evidence};
    for (const Ask &ask : job_.asks)
        all.query.insert(all.query.end(), ask.query.begin(), ask.query.end());
    Restriction restriction = this->restriction(all);
    Task &task = tasks_.emplace_back();
    task.possible = restriction.propagate();
    if (!task.possible) return;
    arrange(task, restriction, EntryKind::Numbers, most);
    if (goal.bounded && task.cost > most) {
        task = Task();
        cost_ = 0, width_ = 0;
        std::vector<uint8_t> late = std::exchange(goal_.late, {});
        arrange(task, restriction, EntryKind::Numbers, tuning::ANY_ORDER);
        goal_.late = std::move(late);
        if (task.cost > most) goal_.room = std::min(tuning::DIVIDED_BUCKET, most);
    } else {
        goal_.bounded = false;
    }
    for (const Ask &ask : job_.asks) {
        Reading &left = left_.emplace_back();
        if (ask.query.empty()) continue;
        const Reading &whole = network_.readings.at(ask.query[0]);
        left.group = whole.group;
        for (uint32_t s : restriction.places(whole.group)) left.holds.push_back(whole.holds[s]);
    }
}

std::vector<Scaled> Elimination::shares() {
    if (!tasks_[0].possible) return std::vector<Scaled>(job_.asks.size());
    DoublesEnd doubles_end;
    std::vector<Scaled> found = shares_in<double>();
    if (lossy_) return shares_in<Scaled>();
    bool doubt = std::any_of(doubtful_.begin(), doubtful_.end(), [](uint8_t one) { return one; });
    if (!doubles_end.met() || !doubt) return found;
    // This tells exact zeros from numbers that were too small.
    std::vector<Scaled> possible = shares_in<Possible>();
    for (size_t i = 0; i < found.size(); ++i)
        if (doubtful_[i] && !possible[i].zero()) return shares_in<Scaled>();
    return found;
}

template <class Number> std::vector<Scaled> Elimination::shares_in() {
    std::vector<Scaled> found(job_.asks.size());
    const Task &task = tasks_[0];
    Summing<Number> summing(builder_, *job_.weights, &Value::e);
    bool all = std::any_of(job_.asks.begin(), job_.asks.end(),
                           [](const Ask &ask) { return !ask.query.empty(); });
    Marginals<Number> marginals = summing.marginals(task.factors, task.sequence, all, watch_);
    for (size_t i = 0; i < found.size(); ++i) {
        Number holds(0);
        if (job_.asks[i].query.empty()) holds = marginals.total;
        const std::vector<Number> &own = marginals.groups[left_[i].group];
        for (size_t s = 0; s < left_[i].holds.size(); ++s)
            if (left_[i].holds[s]) holds += own.empty() ? marginals.total : own[s];
        found[i] = Scaled(holds) * Scaled::power(marginals.exponent);
        // Digits may be lost if a number is near the limits of doubles.
        if constexpr (std::is_same_v<Number, double>) doubtful_.push_back(doubtful(holds));
    }
    lossy_ = lossy_ || marginals.lossy;
    return found;
}

void Elimination::mark() {
    goal_.late.assign(network_.states.size(), 0);
    std::map<uint32_t, std::vector<Reading *>> marks;
    for (const Ask &ask : job_.asks)
        for (Lit lit : ask.query) {
            Reading &reading = network_.readings.at(lit);
            marks[reading.group].push_back(&reading);
        }
    for (auto &[group, readings] : marks) {
        std::map<std::vector<uint8_t>, uint32_t> classes;
        std::vector<uint32_t> own;  // by state: its class
        for (uint32_t s = 0; s < network_.states[group]; ++s) {
            std::vector<uint8_t> holds;
            for (const Reading *reading : readings) holds.push_back(reading->holds[s]);
            own.push_back(classes.emplace(holds, uint32_t(classes.size())).first->second);
        }
        goal_.late[group] = classes.size() == own.size();
        if (goal_.late[group]) continue;
        // Only the class matters: it becomes a group, which the whole group determines.
        Factor table{{group, uint32_t(network_.states.size())}, {}};
        for (uint32_t s = 0; s < own.size(); ++s)
            for (uint32_t c = 0; c < classes.size(); ++c)
                table.entries.push_back(own[s] == c ? UNIT : ZERO);
        for (size_t i = 0; i < readings.size(); ++i) {
            *readings[i] = {table.scope[1], std::vector<uint8_t>(classes.size())};
            for (const auto &[holds, c] : classes) readings[i]->holds[c] = holds[i];
        }
        network_.states.push_back(uint32_t(classes.size()));
        network_.tables.push_back(std::move(table));
        goal_.late.push_back(1);
    }
}

Maximum Elimination::largest() {
    const Task &task = tasks_[0];
    if (!task.possible) return {};
    Summing<Largest> largest(builder_, *job_.weights, &Value::e);
    Summing<Scaled> summing(builder_, *job_.weights, &Value::e);
    std::vector<TableOver<Largest>> tables;
    for (const Factor &factor : task.factors) {
        if (!goal_.sums) {
            tables.push_back(largest.table(factor));
            continue;
        }
        tables.push_back({factor.scope, {}});
        for (const Scaled &entry : summing.table(factor).entries)
            tables.back().entries.emplace_back().log = entry.log();
    }
    Maximum best = maximum(tables, task.sequence, goal_, watch_);
    if (goal_.bounded && goal_.sums && goal_.room == INFINITY) climb(best);
    for (std::vector<uint32_t> &states : best.ties) {
        std::vector<uint32_t> row;
        for (const Reading &left : left_)  // empty where nothing is asked
            row.push_back(left.holds.empty() || left.holds[states[left.group]]);
        states = std::move(row);
    }
    return best;
}

// Other states of a marked group get a very small weight. The contribution of such a state, divided
// by that weight, is the sum after this change alone; so one elimination and its backward pass
// evaluate all changes.
void Elimination::climb(Maximum &best) {
    const Task &task = tasks_[0];
    Summing<double> summing(builder_, *job_.weights, &Value::e);
    std::vector<uint32_t> states = best.ties.at(0);
    double most = 0;
    for (size_t step = 0; step < tuning::CLIMBS; ++step) {
        std::vector<std::vector<double>> fixed(states.size());
        for (uint32_t g = 0; g < states.size(); ++g)
            if (goal_.late[g] && task.sequence.states[g] > 1) {
                fixed[g].assign(task.sequence.states[g], tuning::LET_IN);
                fixed[g][states[g]] = 1;
            }
        Marginals<double> found =
            summing.marginals(task.factors, task.sequence, true, watch_, fixed);
        double total = found.total;
        double log = std::log(total) + double(found.exponent) * std::log(2.0);
        if (step > 0 && !(log > most)) return;
        best.ties[0] = states, most = log;
        uint32_t group = NONE, state = 0;
        double ratio = 1 + 1e-6;
        for (uint32_t g = 0; g < states.size(); ++g)
            for (uint32_t s = 0; s < fixed[g].size() && s < found.groups[g].size(); ++s)
                if (double own = found.groups[g][s] / (fixed[g][s] * total); own > ratio)
                    ratio = own, group = g, state = s;
        if (group == NONE) return;
        states[group] = state;
    }
}

void Elimination::arrange(Task &task, const Restriction &restriction, EntryKind kind, double most) {
    auto &[sequence, position, states] = task.sequence;
    states.resize(network_.states.size());
    position.assign(network_.states.size(), 0);
    Outline outline;
    std::vector<uint32_t> groups;  // those with several states left
    std::vector<uint32_t> variable(network_.states.size(), NONE);
    for (uint32_t g = 0; g < states.size(); ++g) {
        states[g] = restriction.left(g);
        if (states[g] <= 1) continue;
        variable[g] = uint32_t(groups.size());
        groups.push_back(g);
        outline.states.push_back(states[g]);
        outline.late.push_back(!goal_.late.empty() && goal_.late[g]);
    }
    for (const Factor *table : restriction.tables) {
        auto &scope = outline.scopes.emplace_back();
        for (uint32_t g : table->scope)
            if (states[g] > 1) scope.push_back(variable[g]);
    }
    EliminationOrder order = order_elimination(outline, kind, most, watch_);
    for (uint32_t v : order.variables) {
        position[groups[v]] = uint32_t(sequence.size());
        sequence.push_back(groups[v]);
    }
    task.cost = order.cost;
    cost_ += order.cost;
    if (task.cost < INFINITY)
        for (const Factor *table : restriction.tables)
            task.factors.push_back(restriction.slice(*table, position));
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
        auto total = [&](auto number) {
            Summing<decltype(number)> summing(builder_, *job_.weights, channels[i]);
            auto sum = summing.marginals(task.factors, task.sequence, false, watch_);
            return Scaled(sum.total) * Scaled::power(sum.exponent);
        };
        DoublesEnd doubles_end;
        found[i] = total(0.0);
        if (doubles_end.met()) found[i] = total(Scaled());
    }
    job_.budget.advance(1.0 / double(tasks_.size()));
    if (found[1].zero()) return {};
    numbered_ = true;
    // The value has two kinds, so that evaluation uses its numbers.
    Scaled qe = std::min(found[0], found[1]);
    return Edge{ONE, builder_.leaf(Value::QE | Value::E, qe, found[1])};
}

// Total choices that contradict the evidence count only for consistency.
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
    Buckets buckets(arithmetic_, job_.budget, task.sequence, watch_);
    for (Factor &factor : task.factors) buckets.put(std::move(factor));
    double share = 1.0 / double(tasks_.size() * task.sequence.order.size());
    return buckets.run([&] { job_.budget.advance(share); });
}

}  // namespace dpasp
