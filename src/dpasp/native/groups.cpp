#include "groups.hpp"

#include <algorithm>
#include <deque>
#include <unordered_map>

#include "dependency.hpp"
#include "draws.hpp"

namespace dpasp {
namespace {

// Tables with so few combinations of parents' states are never taken apart into groups between;
// with so many they always are.
constexpr double FEW_COMBINATIONS = 16, FEW_FOR_CLUSTERS = 1024, MOST_COMBINATIONS = 1 << 21;

class Finder {
  public:
    Finder(const Job &job, const Heads &heads, Arithmetic &arithmetic)
        : job_(job), problem_(job.problem), part_(job.part), heads_(heads), arithmetic_(arithmetic),
          literals_(2 * job.part.gates.size(), nullptr), done_(heads.heads.size(), 0) {}

    Network find() {
        index();
        for (const auto &some : clusters_in_order()) build(some);
        for (const auto &body : heads_.excluded) exclude(body);
        for (Lit lit : heads_.asserted) network_.asserted.push_back(*read(lit));
        for (const Ask &ask : job_.asks)
            for (const auto *lits : {&ask.query, &ask.evidence})
                for (Lit lit : *lits) network_.readings.try_emplace(lit, *read(lit));
        return std::move(network_);
    }

  private:
    const Job &job_;
    const Problem &problem_;
    const Part &part_;
    const Heads &heads_;
    Arithmetic &arithmetic_;
    Network network_;
    std::deque<Reading> pool_;
    std::vector<const Reading *> literals_;  // by place and sign
    std::unordered_map<uint32_t, uint32_t> choice_group_;
    std::vector<std::vector<uint32_t>> members_;  // by cluster: heads
    std::vector<std::vector<uint32_t>> users_;    // by head: heads whose bodies name it
    std::vector<std::vector<uint32_t>> readers_;  // by group: heads whose bodies name it
    std::unordered_map<uint32_t, std::vector<uint32_t>> choice_users_;  // by choice, likewise
    std::vector<uint8_t> done_;                                         // by head

    // --- what depends on what ---------------------------------------------------------------

    uint32_t head_of(Lit lit) const {
        return problem_.gates.gates[gate_of(lit)].kind == Kind::And
                   ? heads_.of_gate[part_.place(lit)]
                   : NONE;
    }

    void index() {
        members_.resize(heads_.clusters);
        users_.resize(heads_.heads.size());
        for (uint32_t h = 0; h < heads_.heads.size(); ++h) {
            members_[heads_.heads[h].cluster].push_back(h);
            for (const Row &row : heads_.heads[h].rows)
                for (Lit lit : row.body) {
                    const Gate &gate = problem_.gates.gates[gate_of(lit)];
                    auto &users =
                        gate.kind == Kind::Value ? choice_users_[gate.first] : users_[head_of(lit)];
                    if (users.empty() || users.back() != h) users.push_back(h);
                }
        }
    }

    // Clusters that depend on each other in a circle come together.
    std::vector<std::vector<uint32_t>> clusters_in_order() const {
        std::vector<std::pair<uint32_t, uint32_t>> pairs;
        for (uint32_t h = 0; h < heads_.heads.size(); ++h)
            for (uint32_t user : users_[h])
                pairs.emplace_back(heads_.heads[user].cluster, 2 * heads_.heads[h].cluster);
        std::sort(pairs.begin(), pairs.end());
        pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
        Edges edges(heads_.clusters, pairs);
        std::vector<uint32_t> all(heads_.clusters), order(heads_.clusters), low(heads_.clusters);
        for (uint32_t c = 0; c < heads_.clusters; ++c) all[c] = c;
        return components(all, edges, order, low, [](uint32_t, uint32_t) { return true; });
    }

    void build(const std::vector<uint32_t> &clusters) {
        job_.watch.check();
        std::vector<uint32_t> heads;
        for (uint32_t c : clusters)
            heads.insert(heads.end(), members_[c].begin(), members_[c].end());
        std::sort(heads.begin(), heads.end());
        if (done_[heads[0]]) return;
        if (clusters.size() == 1 && !circular(clusters[0])) together(clusters[0]);
        for (uint32_t h : heads)
            if (!done_[h]) alone(h);
    }

    bool circular(uint32_t cluster) const {
        for (uint32_t h : members_[cluster])
            for (uint32_t user : users_[h])
                if (heads_.heads[user].cluster == cluster) return true;
        return false;
    }

    // --- reading ----------------------------------------------------------------------------

    uint32_t new_group(uint32_t states, Factor table) {
        network_.states.push_back(states);
        network_.tables.push_back(std::move(table));
        readers_.emplace_back();
        return uint32_t(network_.states.size() - 1);
    }

    const Reading *keep(Reading reading) {
        pool_.push_back(std::move(reading));
        return &pool_.back();
    }

    const Reading *opposite(const Reading &reading) {
        Reading other = reading;
        for (auto &holds : other.holds) holds = !holds;
        return keep(std::move(other));
    }

    void settle(uint32_t h, const Reading *reading) {
        Lit lit = heads_.heads[h].lit;
        size_t at = 2 * size_t(part_.place(lit));
        literals_[at + negated(lit)] = reading;
        literals_[at + !negated(lit)] = opposite(*reading);
        auto &readers = readers_[reading->group];
        readers.insert(readers.end(), users_[h].begin(), users_[h].end());
        done_[h] = 1;
    }

    const Reading *read(Lit lit) {
        const Gate &gate = problem_.gates.gates[gate_of(lit)];
        const Reading *&known = literals_[2 * size_t(part_.place(lit)) + negated(lit)];
        if (!known) {  // only of a choice that is a variable of its own
            uint32_t group = choice(gate.first);
            Reading reading{group, std::vector<uint8_t>(network_.states[group], negated(lit))};
            reading.holds[gate.second] = !negated(lit);
            known = keep(std::move(reading));
        }
        return known;
    }

    uint32_t choice(uint32_t c) {
        auto [place, fresh] = choice_group_.try_emplace(c, 0);
        if (fresh) {
            const ChoiceShape &shape = problem_.gates.choices[c];
            Factor table{{uint32_t(network_.states.size())}, {}};
            for (uint32_t v = 0; v < shape.values; ++v)
                table.entries.push_back({int32_t(shape.leaf + v), Builder::TRUE_NODE});
            place->second = new_group(shape.values, std::move(table));
            readers_.back() = choice_users_[c];
        }
        return place->second;
    }

    const Reading *value(uint32_t c, uint32_t v) {
        uint32_t group = choice(c);
        Reading reading{group, std::vector<uint8_t>(network_.states[group], 0)};
        reading.holds[v] = 1;
        return keep(std::move(reading));
    }

    // Add a literal to a body.
    void add(Clause &clause, const Reading *reading) {
        for (const Reading *&own : clause.body)
            if (own->group == reading->group) {
                Reading meet = *own;
                bool any = false;
                for (size_t s = 0; s < meet.holds.size(); ++s)
                    any = (meet.holds[s] &= reading->holds[s]) || any;
                clause.possible = clause.possible && any;
                own = keep(std::move(meet));
                return;
            }
        clause.body.push_back(reading);
    }

    Clause clause(const std::vector<Lit> &body) {
        Clause result;
        for (Lit lit : body) add(result, read(lit));
        return result;
    }

    // --- tables -----------------------------------------------------------------------------

    double combinations(const std::vector<uint32_t> &groups) const {
        double product = 1;
        for (uint32_t g : groups) product *= network_.states[g];
        return product;
    }

    // Whether a table over these groups is little more than what the rows need one by one.
    bool compact(const std::vector<uint32_t> &over, const std::vector<Clause> &rows,
                 double few) const {
        double many = combinations(over);
        if (many <= few || many > MOST_COMBINATIONS) return many <= few;
        double apart = 0;
        for (const Clause &row : rows) {
            double own = 1;
            for (const Reading *reading : row.body) own *= network_.states[reading->group];
            apart += own;
            if (apart >= many / 4) return true;
        }
        return false;
    }

    Draws draws(const std::vector<Clause> &clauses, size_t most) {
        std::vector<uint32_t> states;
        for (uint32_t g : parents(clauses)) states.push_back(network_.states[g]);
        return Draws(clauses, {parents(clauses), states}, {job_, arithmetic_}, most);
    }

    // A new group with the states that were found.
    uint32_t group(const Draws &found) {
        uint32_t size = uint32_t(found.states.size());
        Factor table{found.over.groups, std::vector<Edge>(found.ends.size() * size, ZERO)};
        table.scope.push_back(uint32_t(network_.states.size()));
        size_t at = 0;
        for (size_t i = 0; i < found.ends.size(); ++i)
            for (; at < found.ends[i]; ++at)
                table.entries[i * size + found.entries[at].first] = found.entries[at].second;
        return new_group(size, std::move(table));
    }

    const Reading *holding(const Draws &found, uint32_t group, uint32_t head) {
        Reading reading{group, std::vector<uint8_t>(found.states.size(), 0)};
        for (auto &[set, state] : found.states)
            reading.holds[state] = std::binary_search(set.begin(), set.end(), head);
        return keep(std::move(reading));
    }

    // --- heads ------------------------------------------------------------------------------

    // The rows of heads that share private choices; a choice is one clause.
    std::vector<Clause> clauses(const std::vector<uint32_t> &heads) {
        std::vector<Clause> result;
        std::unordered_map<uint32_t, size_t> by_choice;
        for (uint32_t i = 0; i < heads.size(); ++i)
            for (const Row &row : heads_.heads[heads[i]].rows) {
                if (row.choice == NONE) {
                    result.push_back(clause(row.body));
                    result.back().heads = {{i}};
                    continue;
                }
                auto [place, fresh] = by_choice.try_emplace(row.choice, result.size());
                if (fresh) {
                    result.push_back(clause(row.body));
                    result.back().choice = row.choice;
                    result.back().heads.resize(problem_.gates.choices[row.choice].values);
                }
                auto &drawn = result[place->second].heads[row.value];
                if (drawn.empty() || drawn.back() != i) drawn.push_back(i);
            }
        return result;
    }

    static bool drawn(const std::vector<Clause> &clauses) {
        for (const Clause &clause : clauses)
            if (clause.choice != NONE) return true;
        return false;
    }

    // One group for all heads of a cluster and of those that exclude them under the same parents,
    // if that is wise.
    void together(uint32_t cluster) {
        std::vector<Clause> own = clauses(members_[cluster]);
        std::vector<uint32_t> over = parents(own);
        if (!compact(over, own, FEW_FOR_CLUSTERS)) return;
        std::vector<uint32_t> units =
            over.empty() ? std::vector<uint32_t>{cluster} : siblings(cluster, over);
        std::vector<uint32_t> all;
        for (uint32_t unit : units)
            all.insert(all.end(), members_[unit].begin(), members_[unit].end());
        own = clauses(all);
        if (all.size() == 1 || (over.size() == 1 && !drawn(own))) return;
        Draws found = draws(own, 8 * all.size() + 64);
        if (!found.run()) units = {cluster}, found.states.clear();
        for (const auto &family : families(found, units)) gather(family);
    }

    // One group for heads that exclude each other.
    void gather(const std::vector<uint32_t> &heads) {
        if (heads.size() == 1) return alone(heads[0]);
        std::vector<Clause> own = clauses(heads);
        Draws found = draws(own, 4 * heads.size() + 4);
        if (!found.run()) return;
        uint32_t id = group(found);
        for (uint32_t i = 0; i < heads.size(); ++i) settle(heads[i], holding(found, id, i));
    }

    // A head on its own; its private choices become variables unless only it uses them.
    void alone(uint32_t h) {
        bool own_choices = members_[heads_.heads[h].cluster].size() == 1;
        std::vector<Clause> rows;
        for (const Row &row : heads_.heads[h].rows) {
            rows.push_back(clause(row.body));
            Clause &last = rows.back();
            last.heads = {{0}};
            if (row.choice == NONE) continue;
            if (own_choices) {
                last.choice = row.choice;
                last.heads.assign(problem_.gates.choices[row.choice].values, {});
                last.heads[row.value] = {0};
            } else {
                add(last, value(row.choice, row.value));
            }
        }
        if (own_choices) merge(rows);
        settle(h, any(std::move(rows)));
    }

    // Rows with the same private choice have the same body: they are one.
    static void merge(std::vector<Clause> &rows) {
        std::unordered_map<uint32_t, size_t> first;
        std::vector<Clause> result;
        for (Clause &row : rows) {
            if (row.choice != NONE) {
                auto [place, fresh] = first.try_emplace(row.choice, result.size());
                if (!fresh) {
                    Clause &known = result[place->second];
                    for (size_t v = 0; v < row.heads.size(); ++v)
                        if (!row.heads[v].empty()) known.heads[v] = row.heads[v];
                    continue;
                }
            }
            result.push_back(std::move(row));
        }
        rows = std::move(result);
    }

    // The reading under which some clause holds.
    const Reading *any(std::vector<Clause> rows) {
        rows.erase(std::remove_if(rows.begin(), rows.end(),
                                  [](const Clause &row) { return !row.possible; }),
                   rows.end());
        std::vector<uint32_t> over = parents(rows);
        if (over.size() == 1 && !drawn(rows)) return of_one(rows, over[0]);
        if (over.size() <= 1 || (over.size() == 2 && rows.size() <= 2) ||
            compact(over, rows, FEW_COMBINATIONS)) {
            Draws found = draws(rows, 2);
            found.run();
            return holding(found, group(found), 0);
        }
        return rows.size() > 1 ? in_turn(std::move(rows)) : all(std::move(rows[0]));
    }

    // A function of one group needs no group of its own.
    const Reading *of_one(const std::vector<Clause> &rows, uint32_t group) {
        Reading reading{group, std::vector<uint8_t>(network_.states[group], 0)};
        for (const Clause &row : rows)
            for (size_t s = 0; s < reading.holds.size(); ++s)
                reading.holds[s] |= row.body.empty() || row.body[0]->holds[s];
        return keep(std::move(reading));
    }

    // A disjunction over too many groups: one row after the other.
    const Reading *in_turn(std::vector<Clause> rows) {
        const Reading *so_far = nullptr;
        for (Clause &row : rows) {
            std::vector<Clause> one;
            one.push_back(std::move(row));
            const Reading *holds = any(std::move(one));
            so_far = so_far ? either(so_far, holds) : holds;
        }
        return so_far;
    }

    const Reading *either(const Reading *a, const Reading *b) {
        std::vector<Clause> rows(2);
        add(rows[0], a), add(rows[1], b);
        rows[0].heads = rows[1].heads = {{0}};
        return any(std::move(rows));
    }

    // A conjunction over too many groups: one literal after the other, the choice with the last.
    const Reading *all(Clause row) {
        const Reading *so_far = row.body[0];
        for (size_t i = 1; i < row.body.size(); ++i) {
            std::vector<Clause> one(1);
            one[0].heads = {{0}};
            if (i + 1 == row.body.size()) {
                one[0].choice = row.choice;
                one[0].heads = row.heads;
            }
            add(one[0], so_far), add(one[0], row.body[i]);
            so_far = any(std::move(one));
        }
        return so_far;
    }

    // --- clusters under the same parents ----------------------------------------------------

    // Whether all that a cluster depends on is known, and is just these groups.
    bool ready(uint32_t cluster, const std::vector<uint32_t> &over) {
        std::vector<uint32_t> groups;
        for (uint32_t h : members_[cluster]) {
            if (done_[h]) return false;
            for (const Row &row : heads_.heads[h].rows)
                for (Lit lit : row.body) {
                    uint32_t other = head_of(lit);
                    if (other != NONE && !done_[other]) return false;
                    groups.push_back(read(lit)->group);
                    if (!std::binary_search(over.begin(), over.end(), groups.back())) return false;
                }
        }
        std::sort(groups.begin(), groups.end());
        groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
        return groups == over;
    }

    // The clusters with these parents, this one first.
    std::vector<uint32_t> siblings(uint32_t cluster, const std::vector<uint32_t> &over) {
        uint32_t least = over[0];
        for (uint32_t g : over)
            if (readers_[g].size() < readers_[least].size()) least = g;
        auto &readers = readers_[least];
        std::sort(readers.begin(), readers.end());
        readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
        std::vector<uint32_t> others;
        for (uint32_t h : readers)
            if (heads_.heads[h].cluster != cluster) others.push_back(heads_.heads[h].cluster);
        std::sort(others.begin(), others.end());
        others.erase(std::unique(others.begin(), others.end()), others.end());
        std::vector<uint32_t> found{cluster};
        for (uint32_t other : others)
            if (ready(other, over)) found.push_back(other);
        return found;
    }

    // The heads of clusters in families; clusters of a family never hold together.
    std::vector<std::vector<uint32_t>> families(const Draws &found,
                                                const std::vector<uint32_t> &units) const {
        std::vector<uint32_t> unit_of;  // by head
        for (uint32_t u = 0; u < units.size(); ++u)
            unit_of.resize(unit_of.size() + members_[units[u]].size(), u);
        std::vector<std::vector<uint8_t>> meet(units.size(), std::vector<uint8_t>(units.size(), 0));
        for (auto &[set, state] : found.states)
            for (uint32_t a : set)
                for (uint32_t b : set) meet[unit_of[a]][unit_of[b]] = 1;
        std::vector<std::vector<uint32_t>> families, heads;
        for (uint32_t u = 0; u < units.size(); ++u) {
            size_t f = 0;
            auto fits = [&](uint32_t other) { return !meet[u][other]; };
            while (f < families.size() &&
                   !std::all_of(families[f].begin(), families[f].end(), fits))
                ++f;
            if (f == families.size()) families.emplace_back(), heads.emplace_back();
            families[f].push_back(u);
            heads[f].insert(heads[f].end(), members_[units[u]].begin(), members_[units[u]].end());
        }
        for (auto &own : heads) std::sort(own.begin(), own.end());
        return heads;
    }

    // --- constraints ------------------------------------------------------------------------

    void exclude(const std::vector<Lit> &body) {
        std::vector<Clause> one;
        one.push_back(clause(body));
        if (!one[0].possible) return;
        one[0].heads = {{0}};
        std::vector<uint32_t> over = parents(one);
        if (over.size() == 1 || combinations(over) > 4 * FEW_COMBINATIONS) {
            network_.asserted.push_back(*opposite(*any(std::move(one))));
            return;
        }
        Draws found = draws(one, 2);
        found.run();
        Factor table{over, {}};
        auto excluded = found.states.find({0});
        for (auto &[state, edge] : found.entries)
            table.entries.push_back(
                excluded != found.states.end() && state == excluded->second ? ZERO : UNIT);
        network_.constraints.push_back(std::move(table));
    }
};

}  // namespace

Network find_groups(const Job &job, const Heads &heads, Arithmetic &arithmetic) {
    return Finder(job, heads, arithmetic).find();
}

}  // namespace dpasp
