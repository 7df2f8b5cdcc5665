#include "draws.hpp"

#include <algorithm>

namespace dpasp {
namespace {

Draws::Set join(const Draws::Set &a, const Draws::Set &b) {
    Draws::Set both;
    std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
    return both;
}

}  // namespace

std::vector<uint32_t> parents(const std::vector<Clause> &clauses) {
    std::vector<uint32_t> groups;
    for (const Clause &clause : clauses)
        for (const Reading *reading : clause.body) groups.push_back(reading->group);
    std::sort(groups.begin(), groups.end());
    groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
    return groups;
}

Draws::Draws(const std::vector<Clause> &clauses, Parents parents, Tools tools, size_t most)
    : over(std::move(parents)), clauses_(clauses), tools_(tools), most_(most),
      holds_(over.groups.size()) {
    for (size_t i = 0; i < over.groups.size(); ++i) {
        holds_[i].assign(clauses.size(), nullptr);
        for (size_t c = 0; c < clauses.size(); ++c)
            for (const Reading *reading : clauses[c].body)
                if (reading->group == over.groups[i]) holds_[i][c] = reading->holds.data();
    }
}

bool Draws::run() {
    std::vector<uint32_t> all;
    for (uint32_t c = 0; c < clauses_.size(); ++c)
        if (clauses_[c].possible) all.push_back(c);
    return visit(0, all);
}

// The clauses that may still hold, given the states of the parents before this level.
bool Draws::visit(size_t level, const std::vector<uint32_t> &active) {
    tools_.job.watch.check();
    if (level == over.groups.size()) return draw(active);
    std::vector<uint32_t> left;
    for (uint32_t s = 0; s < over.states[level]; ++s) {
        left.clear();
        for (uint32_t c : active) {
            const uint8_t *holds = holds_[level][c];
            if (!holds || holds[s]) left.push_back(c);
        }
        if (!visit(level + 1, left)) return false;
    }
    return true;
}

// The choices of the clauses that hold draw one after the other.
bool Draws::draw(const std::vector<uint32_t> &active) {
    Set sure;
    for (uint32_t c : active)
        if (clauses_[c].choice == NONE) sure = join(sure, clauses_[c].heads[0]);
    std::map<Set, Edge> drawn{{sure, UNIT}};
    for (uint32_t c : active) {
        const Clause &clause = clauses_[c];
        if (clause.choice == NONE) continue;
        std::map<Set, std::vector<Edge>> next;
        const ChoiceShape &shape = tools_.job.problem.gates.choices[clause.choice];
        for (auto &[set, edge] : drawn) {
            uint32_t node = tools_.arithmetic.node(edge);
            for (uint32_t v = 0; v < shape.values; ++v)
                next[join(set, clause.heads[v])].push_back({int32_t(shape.leaf + v), node});
        }
        drawn.clear();
        for (auto &[set, edges] : next) drawn[set] = tools_.arithmetic.sum(edges);
        if (drawn.size() > most_) return false;
    }
    for (auto &[set, edge] : drawn) {
        auto [place, fresh] = states.try_emplace(set, uint32_t(states.size()));
        entries.emplace_back(place->second, edge);
    }
    ends.push_back(uint32_t(entries.size()));
    return states.size() <= most_;
}

}  // namespace dpasp
