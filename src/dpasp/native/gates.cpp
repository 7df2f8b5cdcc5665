#include "gates.hpp"

#include "collections.hpp"
#include "tuning.hpp"

namespace dpasp {

Gates::Gates(std::vector<ChoiceShape> shapes)
    : choices(std::move(shapes)), most(tuning::MOST_GATES) {
    gates.push_back({Kind::True, false, 0, 0});
    for (uint32_t c = 0; c < choices.size(); ++c)
        choice_of.insert(choice_of.end(), choices[c].values, c);
}

uint32_t Gates::add_choice() {
    auto choice = uint32_t(choices.size());
    choices.push_back({2, uint32_t(choice_of.size())});
    choice_of.insert(choice_of.end(), 2, choice);
    return choice;
}

Lit Gates::value(uint32_t choice, uint32_t value) {
    uint32_t values = choices[choice].values;
    if (values == 1) return TRUE_LIT;
    bool flip = values == 2 && value == 1;  // one variable is enough for two values
    if (flip) value = 0;
    uint64_t key = (uint64_t(choice) << 32) | value;
    auto [place, fresh] = value_gates_.try_emplace(key, uint32_t(gates.size()));
    if (fresh) gates.push_back({Kind::Value, false, choice, value});
    return 2 * place->second + flip;
}

Lit Gates::guess() {
    gates.push_back({Kind::Guess, true, guesses++, 0});
    return 2 * uint32_t(gates.size() - 1);
}

Lit Gates::any(std::vector<Lit> inputs) {
    for (Lit &lit : inputs) lit = negate(lit);
    return negate(all(std::move(inputs)));
}

Lit Gates::all(std::vector<Lit> inputs) {
    sort_unique(inputs);
    if (!inputs.empty() && inputs[0] == TRUE_LIT) inputs.erase(inputs.begin());
    if (inputs.empty()) return TRUE_LIT;
    if (inputs[0] == FALSE_LIT) return FALSE_LIT;
    for (size_t i = 1; i < inputs.size(); ++i)
        if (inputs[i] == negate(inputs[i - 1])) return FALSE_LIT;
    // Values of one choice exclude each other.
    std::vector<std::pair<uint32_t, Lit>> chosen;
    for (Lit lit : inputs) {
        const Gate &gate = gates[gate_of(lit)];
        if (gate.kind == Kind::Value && !negated(lit)) {
            for (auto &[choice, other] : chosen)
                if (choice == gate.first) return FALSE_LIT;
            chosen.emplace_back(gate.first, lit);
        }
    }
    if (!chosen.empty()) {
        inputs.erase(std::remove_if(inputs.begin(), inputs.end(),
                                    [&](Lit lit) {
                                        const Gate &gate = gates[gate_of(lit)];
                                        if (gate.kind != Kind::Value || !negated(lit)) return false;
                                        for (auto &[choice, other] : chosen)
                                            if (choice == gate.first) return true;
                                        return false;
                                    }),
                     inputs.end());
    }
    if (inputs.size() == 1) return inputs[0];
    return 2 * find(inputs);
}

uint32_t Gates::find(const std::vector<Lit> &inputs) {
    uint64_t hash = inputs.size();
    for (Lit lit : inputs) hash = combine(hash, lit);
    auto [from, to] = and_gates_.equal_range(hash);
    for (; from != to; ++from) {
        uint32_t gate = from->second;
        if (std::equal(begin(gate), end(gate), inputs.begin(), inputs.end())) return gate;
    }
    if (gates.size() >= most || pool.size() + inputs.size() > most_inputs)
        throw Stopped(Reason::Size, "the logic of this program takes more than " +
                                        std::to_string(most) + " gates");
    bool inner = false;
    for (Lit lit : inputs) inner = inner || gates[gate_of(lit)].inner;
    uint32_t start = uint32_t(pool.size());
    pool.insert(pool.end(), inputs.begin(), inputs.end());
    gates.push_back({Kind::And, inner, start, uint32_t(pool.size())});
    and_gates_.emplace(hash, uint32_t(gates.size() - 1));
    return uint32_t(gates.size() - 1);
}

namespace {

struct Counter {
    Gates &gates;
    Watch &watch;
    std::vector<std::pair<int64_t, Lit>> items;  // heaviest first
    std::vector<int64_t> rest;                   // weight of the items from here on
    std::map<std::pair<size_t, int64_t>, Lit> known;

    Lit reach(size_t i, int64_t bound) {
        if (bound <= 0) return TRUE_LIT;
        if (rest[i] < bound) return FALSE_LIT;
        auto found = known.find({i, bound});
        if (found != known.end()) return found->second;
        watch.descend();
        Lit without = reach(i + 1, bound);
        Lit with = reach(i + 1, bound - items[i].first);
        Lit result = gates.either(without, gates.both(items[i].second, with));
        known.emplace(std::make_pair(i, bound), result);
        return result;
    }
};

}  // namespace

Lit at_least(Gates &gates, const std::vector<Lit> &lits, const std::vector<int64_t> &weights,
             int64_t bound, Watch &watch) {
    // Equal literals are merged; a literal and its negation contribute at least the smaller weight.
    std::map<Lit, int64_t> total;
    for (size_t i = 0; i < lits.size(); ++i) {
        if (weights[i] == 0 || lits[i] == FALSE_LIT) continue;
        if (weights[i] < 0) {  // w * l = w + (-w) * not l
            bound -= weights[i];
            total[negate(lits[i])] -= weights[i];
        } else {
            total[lits[i]] += weights[i];
        }
    }
    Counter counter{gates, watch, {}, {}, {}};
    for (auto &[lit, weight] : total) {
        if (lit == FALSE_LIT) continue;
        if (lit == TRUE_LIT) {
            bound -= weight;
            continue;
        }
        counter.items.emplace_back(weight, lit);
    }
    std::stable_sort(counter.items.begin(), counter.items.end(),
                     [](auto &a, auto &b) { return a.first > b.first; });
    counter.rest.assign(counter.items.size() + 1, 0);
    for (size_t i = counter.items.size(); i-- > 0;)
        counter.rest[i] = counter.rest[i + 1] + counter.items[i].first;
    return counter.reach(0, bound);
}

void LinearSystem::join(uint32_t i, uint32_t j, Lit factor) {
    auto [place, fresh] = rows_[i].try_emplace(j, factor);
    if (!fresh) place->second = gates_.either(place->second, factor);
    columns_[j].insert(i);
}

void LinearSystem::eliminate(uint32_t v, Watch &watch) {
    Lit external = gates_.any(external_[v]);
    external_[v] = {external};
    for (uint32_t u : columns_[v]) {
        Lit factor = rows_[u].at(v);
        if (external != FALSE_LIT) external_[u].push_back(gates_.both(factor, external));
        for (auto &[w, next] : rows_[v])
            if (w != u) watch.check(), join(u, w, gates_.both(factor, next));
        rows_[u].erase(v);
    }
    for (auto &[w, _] : rows_[v]) columns_[w].erase(v);
}

std::vector<Lit> LinearSystem::solve(const std::vector<uint8_t> &late, Watch &watch) {
    uint32_t size = uint32_t(external_.size());
    std::vector<uint32_t> order;
    std::vector<size_t> cost(size);
    std::set<std::pair<size_t, uint32_t>> queue;
    auto price = [&](uint32_t v) {  // how many factors it may add
        return rows_[v].size() * columns_[v].size() + (late[v] ? (size_t(1) << 40) : 0);
    };
    for (uint32_t v = 0; v < size; ++v) queue.insert({cost[v] = price(v), v});
    std::vector<uint8_t> gone(size, 0);
    while (!queue.empty()) {
        watch.look();
        uint32_t v = queue.begin()->second;
        queue.erase(queue.begin());
        std::set<uint32_t> touched(columns_[v].begin(), columns_[v].end());
        for (auto &[w, _] : rows_[v]) touched.insert(w);
        eliminate(v, watch);
        gone[v] = 1;
        order.push_back(v);
        for (uint32_t u : touched) {
            if (gone[u]) continue;
            auto now = price(u);
            if (now == cost[u]) continue;
            queue.erase({cost[u], u});
            queue.insert({cost[u] = now, u});
        }
    }
    std::vector<Lit> values(size, FALSE_LIT);
    for (size_t i = size; i-- > 0;) {
        uint32_t v = order[i];
        std::vector<Lit> ways = external_[v];
        for (auto &[w, factor] : rows_[v]) ways.push_back(gates_.both(factor, values[w]));
        values[v] = gates_.any(std::move(ways));
    }
    return values;
}

GeneralSystem::GeneralSystem(Gates &gates, uint32_t size)
    : gates_(gates), base_(uint32_t(gates.size())), ways_(size) {
    uint32_t before = gates.guesses;
    for (uint32_t i = 0; i < size; ++i) {
        variables_.push_back(gates.guess());
        index_[gate_of(variables_.back())] = i;
    }
    gates.guesses = before;  // placeholders only: none is left in a solution
}

Lit GeneralSystem::substitute(Lit lit, Map &done, Watch &watch) {
    uint32_t gate = gate_of(lit);
    if (gate < base_) return lit;
    auto found = done.find(gate);
    if (found == done.end()) {
        watch.descend();
        Lit result = 2 * gate;
        if (gates_.gates[gate].kind == Kind::And) {
            std::vector<Lit> inputs(gates_.begin(gate), gates_.end(gate));
            bool changed = false;
            for (Lit &input : inputs) {
                Lit now = substitute(input, done, watch);
                changed = changed || now != input;
                input = now;
            }
            if (changed) result = gates_.all(std::move(inputs));
        }
        found = done.emplace(gate, result).first;
    }
    return found->second ^ (lit & 1u);
}

void GeneralSystem::support(Lit lit, std::set<uint32_t> &found) const {
    std::vector<uint32_t> todo{gate_of(lit)};
    std::set<uint32_t> seen;
    while (!todo.empty()) {
        uint32_t gate = todo.back();
        todo.pop_back();
        if (gate < base_ || !seen.insert(gate).second) continue;
        if (gates_.gates[gate].kind == Kind::And)
            for (const Lit *in = gates_.begin(gate); in != gates_.end(gate); ++in)
                todo.push_back(gate_of(*in));
        else if (auto at = index_.find(gate); at != index_.end())
            found.insert(at->second);
    }
}

std::vector<Lit> GeneralSystem::solve(Watch &watch) {
    uint32_t size = uint32_t(ways_.size());
    std::vector<Lit> equation(size);
    std::vector<std::set<uint32_t>> uses(size), users(size);
    for (uint32_t i = 0; i < size; ++i) {
        equation[i] = gates_.any(std::move(ways_[i]));
        support(equation[i], uses[i]);
        for (uint32_t j : uses[i]) users[j].insert(i);
    }
    std::vector<uint32_t> order;
    std::vector<uint8_t> gone(size, 0);
    for (uint32_t round = 0; round < size; ++round) {
        watch.look();
        uint32_t v = size;
        for (uint32_t i = 0; i < size; ++i)
            if (!gone[i] &&
                (v == size || users[i].size() * uses[i].size() < users[v].size() * uses[v].size()))
                v = i;
        Map self{{gate_of(variables_[v]), FALSE_LIT}};
        equation[v] = substitute(equation[v], self, watch);
        for (uint32_t j : uses[v]) users[j].erase(v);
        uses[v].clear();
        support(equation[v], uses[v]);
        Map map{{gate_of(variables_[v]), equation[v]}};
        for (uint32_t u : std::set<uint32_t>(users[v])) {
            if (u == v || gone[u]) continue;
            equation[u] = substitute(equation[u], map, watch);
            for (uint32_t j : uses[u]) users[j].erase(u);
            uses[u].clear();
            support(equation[u], uses[u]);
            for (uint32_t j : uses[u]) users[j].insert(u);
        }
        gone[v] = 1;
        order.push_back(v);
    }
    Map values;
    for (size_t i = size; i-- > 0;) {
        uint32_t v = order[i];
        Map map = values;
        equation[v] = substitute(equation[v], map, watch);
        values[gate_of(variables_[v])] = equation[v];
    }
    return equation;
}

std::vector<Lit> Iteration::solve(uint32_t size, Watch &watch) {
    std::vector<Lit> values(size, FALSE_LIT);
    for (uint32_t round = 0;; ++round) {
        watch.look();
        std::vector<Lit> before(values);
        for (uint32_t i = 0; i < size; ++i) {
            watch.check();
            values[i] = equation_(i, values);
        }
        bool same = true;
        std::vector<std::pair<Lit, Lit>> pairs;
        for (uint32_t i = 0; i < size && same; ++i) {
            if (values[i] == before[i]) continue;
            Sample now = sample(values[i]), then = sample(before[i]);
            for (size_t w = 0; w < now.size(); ++w) {
                uint64_t flip = negated(values[i]) != negated(before[i]) ? ~uint64_t(0) : 0;
                same = same && now[w] == (then[w] ^ flip);
            }
            pairs.emplace_back(values[i], before[i]);
        }
        // After `size` rounds, nothing can change; before that, equal samples must be proved equal.
        if (round >= size || (same && (pairs.empty() || equal_(pairs)))) return before;
    }
}

const Iteration::Sample &Iteration::sample(Lit lit) {
    while (samples_.size() <= gate_of(lit)) {
        const Gate &gate = gates_.gates[samples_.size()];
        Sample result;
        result.fill(~uint64_t(0));
        if (gate.kind == Kind::And) {
            for (uint32_t at = gate.first; at < gate.second; ++at) {
                const Sample &input = samples_[gate_of(gates_.pool[at])];
                uint64_t flip = negated(gates_.pool[at]) ? ~uint64_t(0) : 0;
                for (size_t w = 0; w < result.size(); ++w) result[w] &= input[w] ^ flip;
            }
        } else if (gate.kind != Kind::True) {
            result = draw(gate);
        }
        samples_.push_back(result);
    }
    return samples_[gate_of(lit)];
}

Iteration::Sample Iteration::draw(const Gate &gate) {
    Sample result;
    result.fill(0);
    std::vector<uint32_t> fresh, *lanes = &fresh;
    if (gate.kind == Kind::Value) lanes = &drawn_[gate.first];
    if (lanes->empty()) {
        uint32_t values = gate.kind == Kind::Value ? gates_.choices[gate.first].values : 2;
        for (size_t lane = 0; lane < 64 * result.size(); ++lane) {
            // From uniform values to almost always the first one; long chains need all of these.
            double first = 1 - 0.5 / double(1u << (lane / 64));
            bool take = std::uniform_real_distribution<double>(0, 1)(random_) < first;
            lanes->push_back(take ? 0 : uint32_t(random_() % values));
        }
    }
    uint32_t value = gate.kind == Kind::Value ? gate.second : 0;
    for (size_t lane = 0; lane < lanes->size(); ++lane)
        if ((*lanes)[lane] == value) result[lane / 64] |= uint64_t(1) << (lane % 64);
    return result;
}

}  // namespace dpasp
