// What evidence and constraints leave of a network, and walks through its tables.
#pragma once

#include "groups.hpp"

namespace dpasp {

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

// The states that evidence and constraints leave; others are struck out of the tables.
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

    // Strike out states without support in some table, until there are none; false if a group
    // has no state left.
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

    // What is left of a table, over groups that still have several states, in the given order.
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
        pick(result.scope, steps, 0, base, table, result.entries);
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

    void pick(const std::vector<uint32_t> &scope, const std::vector<size_t> &steps, size_t level,
              size_t base, const Factor &table, std::vector<Edge> &out) const {
        if (level == scope.size()) {
            out.push_back(table.entries[base]);
            return;
        }
        for (uint32_t s : places_[scope[level]])
            pick(scope, steps, level + 1, base + s * steps[level], table, out);
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

}  // namespace dpasp
