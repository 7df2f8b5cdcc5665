// What evidence and constraints leave of a network.
#pragma once

#include "groups.hpp"
#include "hashing.hpp"
#include "odometer.hpp"
#include "rehearsal.hpp"

namespace dpasp {

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

    // NumberTable for what is left of a table, over groups that still have several states and the
    // variables that stand for them.
    NumberTable numbers(const Factor &table, const std::vector<uint32_t> &variable) const {
        NumberTable result;
        for (uint32_t g : table.scope)
            if (left(g) > 1) result.scope.push_back(variable[g]);
        std::vector<size_t> steps = strides(table.scope, table.scope, network_.states);
        visit(table.scope, steps, 0, 0,
              [&](size_t at) { result.entries.push_back(number(table.entries[at])); });
        return result;
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

    static uint64_t number(const Edge &edge) {
        if (zero(edge) || edge == UNIT) return !zero(edge);
        return combine(uint64_t(uint32_t(edge.weight)), edge.child) | 1;
    }

    void settle() {
        places_.assign(allowed.size(), {});
        for (uint32_t g = 0; g < allowed.size(); ++g)
            for (uint32_t s = 0; s < allowed[g].size(); ++s)
                if (allowed[g][s]) places_[g].push_back(s);
    }

    // Where the combinations of the states that are left lie in a table.
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

}  // namespace dpasp
