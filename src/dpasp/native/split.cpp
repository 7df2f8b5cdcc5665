#include <algorithm>
#include <numeric>

#include "graphs.hpp"
#include "problem.hpp"

namespace dpasp {

std::vector<Lit> asserted_apart(const Problem &problem) {
    const Gates &gates = problem.gates;
    std::vector<Lit> todo = problem.asserted, result;
    while (!todo.empty()) {
        Lit lit = todo.back();
        todo.pop_back();
        if (!negated(lit) && gates.gates[gate_of(lit)].kind == Kind::And)
            todo.insert(todo.end(), gates.begin(gate_of(lit)), gates.end(gate_of(lit)));
        else
            result.push_back(lit);
    }
    sort_unique(result);
    return result;
}

std::vector<uint32_t> homes(const Problem &problem, const std::vector<Part> &parts) {
    std::vector<uint32_t> home(problem.gates.size(), 0);
    for (uint32_t p = 0; p < parts.size(); ++p)
        for (uint32_t g : parts[p].gates) home[g] = p;
    return home;
}

// Some gate of a table; 0 if its literals are all known.
static uint32_t home_gate(const WeightTable &table) {
    for (const auto &set : table.sets)
        for (Lit lit : set)
            if (gate_of(lit)) return gate_of(lit);
    return 0;
}

std::vector<Part> split(const Problem &problem) {
    const Gates &gates = problem.gates;
    size_t n = gates.size();
    std::vector<uint8_t> used(n, 0);
    std::vector<Lit> asserted = asserted_apart(problem);
    auto use = [&](const std::vector<Lit> &lits) {
        for (Lit lit : lits) used[gate_of(lit)] = 1;
    };
    use(asserted);
    use(problem.undefined);
    for (const Question &question : problem.questions) use(question.query), use(question.evidence);
    for (const WeightTable &table : problem.tables)
        for (const auto &set : table.sets) use(set);
    used[0] = 0;
    Forest forest(n);
    for (const WeightTable &table : problem.tables)
        for (const auto &set : table.sets)
            for (Lit lit : set)
                if (gate_of(lit)) forest.join(gate_of(lit), home_gate(table));
    std::vector<uint32_t> chosen(gates.choices.size(), UINT32_MAX);
    for (uint32_t g = uint32_t(n); g-- > 1;) {
        if (!used[g]) continue;
        const Gate &gate = gates.gates[g];
        if (gate.kind == Kind::And)
            for (const Lit *in = gates.begin(g); in != gates.end(g); ++in) {
                used[gate_of(*in)] = 1;
                forest.join(g, gate_of(*in));
            }
        if (gate.kind == Kind::Value) {
            if (chosen[gate.first] != UINT32_MAX) forest.join(g, chosen[gate.first]);
            chosen[gate.first] = g;
        }
    }
    std::vector<Part> parts;
    std::vector<uint32_t> home(n, UINT32_MAX);
    std::vector<uint8_t> listed(gates.choices.size(), 0);
    auto at = [&](uint32_t g) -> Part & {
        uint32_t root = forest.find(g);
        if (home[root] == UINT32_MAX) {
            home[root] = uint32_t(parts.size());
            parts.emplace_back();
        }
        return parts[home[root]];
    };
    auto places = std::make_shared<std::vector<uint32_t>>(n);
    for (uint32_t g = 1; g < n; ++g) {
        if (!used[g]) continue;
        Part &part = at(g);
        (*places)[g] = uint32_t(part.gates.size());
        part.gates.push_back(g);
        const Gate &gate = gates.gates[g];
        if (gate.kind == Kind::Guess) part.guesses.push_back(g);
        if (gate.kind == Kind::Value && !listed[gate.first]) {
            listed[gate.first] = 1;
            part.choices.push_back(gate.first);
        }
    }
    for (Lit lit : asserted)
        if (gate_of(lit)) at(gate_of(lit)).asserted.push_back(lit);
    for (Lit lit : problem.undefined)
        if (gate_of(lit)) at(gate_of(lit)).undefined.push_back(lit);
    for (const WeightTable &table : problem.tables)
        if (uint32_t g = home_gate(table)) at(g).tables.push_back(&table);
    for (Part &part : parts) part.places = places;
    return parts;
}

}  // namespace dpasp
