
#include "elimination.hpp"
#include "tuning.hpp"

namespace dpasp {
namespace {

Draws::Set join(const Draws::Set &a, const Draws::Set &b) {
    Draws::Set both;
    std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
    return both;
}

// All combinations of the states of the groups that some clauses depend on.
class Combinations {
  public:
    Combinations(const std::vector<Clause> &clauses, const std::vector<uint32_t> &states,
                 Watch &watch)
        : over(parents(clauses)), states_(states), watch_(watch) {
        for (uint32_t c = 0; c < clauses.size(); ++c)
            if (clauses[c].possible) possible_.push_back(c);
        for (uint32_t group : over) {
            auto &holds = holds_.emplace_back(clauses.size(), nullptr);
            for (size_t c = 0; c < clauses.size(); ++c)
                for (const Reading *reading : clauses[c].body)
                    if (reading->group == group) holds[c] = reading->holds.data();
        }
    }

    const std::vector<uint32_t> over;

    // Calls `found` with the clauses that hold in each combination, until it returns false.
    template <class Found> bool visit(const Found &found) const {
        return visit(0, possible_, found);
    }

  private:
    const std::vector<uint32_t> &states_;  // by group
    Watch &watch_;
    std::vector<uint32_t> possible_;
    std::vector<std::vector<const uint8_t *>> holds_;  // by parent and clause; null: always

    template <class Found>
    bool visit(size_t level, const std::vector<uint32_t> &active, const Found &found) const {
        watch_.check();
        if (level == over.size()) return found(active);
        std::vector<uint32_t> left;
        for (uint32_t s = 0; s < states_[over[level]]; ++s) {
            left.clear();
            for (uint32_t c : active) {
                const uint8_t *holds = holds_[level][c];
                if (!holds || holds[s]) left.push_back(c);
            }
            if (!visit(level + 1, left, found)) return false;
        }
        return true;
    }
};

class Drawing {
  public:
    Drawing(const std::vector<Clause> &clauses, const Gates &gates, Arithmetic &arithmetic,
            size_t most)
        : clauses_(clauses), gates_(gates), arithmetic_(arithmetic), most_(most) {}

    Draws found;

    // Draws the choices of the clauses that hold, one after another; false if there are too many
    // sets.
    bool draw(const std::vector<uint32_t> &active) {
        Draws::Set sure;
        for (uint32_t c : active)
            if (clauses_[c].choice == NONE) sure = join(sure, clauses_[c].heads[0]);
        std::map<Draws::Set, Edge> drawn{{sure, UNIT}};
        for (uint32_t c : active) {
            const Clause &clause = clauses_[c];
            if (clause.choice == NONE) continue;
            std::map<Draws::Set, std::vector<Edge>> next;
            const ChoiceShape &shape = gates_.choices[clause.choice];
            for (auto &[set, edge] : drawn) {
                uint32_t node = arithmetic_.node(edge);
                for (uint32_t v = 0; v < shape.values; ++v)
                    next[join(set, clause.heads[v])].push_back({int32_t(shape.leaf + v), node});
            }
            drawn.clear();
            for (auto &[set, edges] : next) drawn[set] = arithmetic_.sum(edges);
            if (drawn.size() > most_) return false;
        }
        for (auto &[set, edge] : drawn) {
            auto [place, fresh] = found.states.try_emplace(set, uint32_t(found.states.size()));
            found.entries.emplace_back(place->second, edge);
        }
        found.ends.push_back(uint32_t(found.entries.size()));
        return found.states.size() <= most_;
    }

  private:
    const std::vector<Clause> &clauses_;
    const Gates &gates_;
    Arithmetic &arithmetic_;
    size_t most_;
};

}  // namespace

std::vector<uint32_t> parents(const std::vector<Clause> &clauses) {
    std::vector<uint32_t> groups;
    for (const Clause &clause : clauses)
        for (const Reading *reading : clause.body) groups.push_back(reading->group);
    sort_unique(groups);
    return groups;
}

bool drawn(const std::vector<Clause> &clauses) {
    return std::any_of(clauses.begin(), clauses.end(),
                       [](const Clause &clause) { return clause.choice != NONE; });
}

// --- literals -----------------------------------------------------------------------------------

const Reading *GroupTables::keep(Reading reading) {
    pool_.push_back(std::move(reading));
    return &pool_.back();
}

const Reading *GroupTables::opposite(const Reading &reading) {
    Reading other = reading;
    for (auto &holds : other.holds) holds = !holds;
    return keep(std::move(other));
}

void GroupTables::define(Lit lit, const Reading *reading) {
    size_t at = 2 * size_t(job_.part.place(lit));
    literals_[at + negated(lit)] = reading;
    literals_[at + !negated(lit)] = opposite(*reading);
}

const Reading *GroupTables::read(Lit lit) {
    const Reading *&known = literals_[2 * size_t(job_.part.place(lit)) + negated(lit)];
    if (!known) {  // only of a choice that is a variable of its own
        const Gate &gate = gates_.gates[gate_of(lit)];
        known = value(gate.first, gate.second);
        if (negated(lit)) known = opposite(*known);
    }
    return known;
}

std::vector<const Reading *> GroupTables::readings(Lit lit) {
    const Reading *own = read(lit);
    std::vector<const Reading *> all{own};
    for (size_t i = 0; i < all.size(); ++i)
        if (auto same = same_.find({all[i]->group, all[i]->holds}); same != same_.end())
            all.insert(all.end(), same->second.begin(), same->second.end());
    return all;
}

const Reading *GroupTables::value(uint32_t choice, uint32_t value) {
    uint32_t group = group_of(choice);
    Reading reading{group, std::vector<uint8_t>(network.states[group], 0)};
    reading.holds[value] = 1;
    return keep(std::move(reading));
}

uint32_t GroupTables::group_of(uint32_t choice) {
    auto [place, fresh] = choice_group_.try_emplace(choice, uint32_t(network.states.size()));
    if (fresh) {
        const ChoiceShape &shape = gates_.choices[choice];
        Factor table{{place->second}, {}};
        for (uint32_t v = 0; v < shape.values; ++v)
            table.entries.push_back({int32_t(shape.leaf + v), Builder::TRUE_NODE});
        new_group(shape.values, std::move(table), choice);
    }
    return place->second;
}

uint32_t GroupTables::new_group(uint32_t states, Factor table, uint32_t choice) {
    network.states.push_back(states);
    network.tables.push_back(std::move(table));
    choice_of.push_back(choice);
    return uint32_t(network.states.size() - 1);
}

void GroupTables::add(Clause &clause, const Reading *reading) {
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

Clause GroupTables::clause(const std::vector<Lit> &body, const std::vector<uint32_t> &over) {
    Clause result;
    for (Lit lit : body) {
        std::vector<const Reading *> all = readings(lit);
        auto best = std::find_if(all.begin(), all.end(), [&](const Reading *reading) {
            return std::binary_search(over.begin(), over.end(), reading->group);
        });
        add(result, best == all.end() ? all[0] : *best);
    }
    return result;
}

// --- tables -------------------------------------------------------------------------------------

double GroupTables::combinations(const std::vector<uint32_t> &groups) const {
    double product = 1;
    for (uint32_t g : groups) product *= network.states[g];
    return product;
}

bool GroupTables::compact(const std::vector<uint32_t> &over, const std::vector<Clause> &rows,
                          double few) const {
    double many = combinations(over);
    if (many <= few || many > tuning::MOST_COMBINATIONS) return many <= few;
    double apart = 0;
    for (const Clause &row : rows) {
        double own = 1;
        for (const Reading *reading : row.body) own *= network.states[reading->group];
        apart += own;
        if (apart >= many / 4) return true;
    }
    return false;
}

Draws GroupTables::draw(const std::vector<Clause> &clauses, size_t most) const {
    Combinations combinations(clauses, network.states, job_.watch);
    Drawing drawing(clauses, gates_, arithmetic_, most);
    drawing.found.over = combinations.over;
    drawing.found.complete = combinations.visit(
        [&](const std::vector<uint32_t> &active) { return drawing.draw(active); });
    return std::move(drawing.found);
}

std::vector<std::vector<uint8_t>> GroupTables::meeting(
    const std::vector<std::vector<Clause>> &units) const {
    std::vector<Clause> clauses;
    std::vector<uint32_t> unit_of;  // by clause
    for (uint32_t u = 0; u < units.size(); ++u) {
        clauses.insert(clauses.end(), units[u].begin(), units[u].end());
        unit_of.resize(clauses.size(), u);
    }
    std::vector<std::vector<uint8_t>> meet(units.size(), std::vector<uint8_t>(units.size(), 0));
    std::vector<uint32_t> here;
    Combinations combinations(clauses, network.states, job_.watch);
    combinations.visit([&](const std::vector<uint32_t> &active) {
        here.clear();
        for (uint32_t c : active)
            if (here.empty() || here.back() != unit_of[c]) here.push_back(unit_of[c]);
        for (uint32_t a : here)
            for (uint32_t b : here) meet[a][b] = 1;
        return true;
    });
    return meet;
}

uint32_t GroupTables::group(const Draws &found) {
    uint32_t size = uint32_t(found.states.size());
    Factor table{found.over, std::vector<Edge>(found.ends.size() * size, ZERO)};
    table.scope.push_back(uint32_t(network.states.size()));
    size_t at = 0;
    for (size_t i = 0; i < found.ends.size(); ++i)
        for (; at < found.ends[i]; ++at)
            table.entries[i * size + found.entries[at].first] = found.entries[at].second;
    return new_group(size, std::move(table));
}

const Reading *GroupTables::holding(const Draws &found, uint32_t group, uint32_t head) {
    Reading reading{group, std::vector<uint8_t>(found.states.size(), 0)};
    for (auto &[set, state] : found.states)
        reading.holds[state] = std::binary_search(set.begin(), set.end(), head);
    return keep(std::move(reading));
}

void GroupTables::name_rest(const Draws &found, uint32_t group) {
    auto rest = found.states.find({});
    if (found.over.size() != 1 || rest == found.states.end()) return;
    Reading parent{found.over[0], {}}, own{group, std::vector<uint8_t>(found.states.size(), 0)};
    own.holds[rest->second] = 1;
    size_t at = 0;
    for (uint32_t end : found.ends) {
        bool single = end == at + 1, here = false;
        for (; at < end; ++at) here = here || found.entries[at].first == rest->second;
        if (here && !single) return;
        parent.holds.push_back(here);
    }
    same_[{parent.group, parent.holds}].push_back(keep(own));
    const Reading *other = opposite(own);
    for (auto &holds : parent.holds) holds = !holds;
    same_[{parent.group, parent.holds}].push_back(other);
}

const Reading *GroupTables::any(std::vector<Clause> rows) {
    rows.erase(
        std::remove_if(rows.begin(), rows.end(), [](const Clause &row) { return !row.possible; }),
        rows.end());
    std::vector<uint32_t> over = parents(rows);
    if (over.size() == 1 && !drawn(rows)) return of_one(rows, over[0]);
    if (over.size() <= 1 || (over.size() == 2 && rows.size() <= 2) ||
        compact(over, rows, tuning::FEW_COMBINATIONS)) {
        Draws found = draw(rows, 2);
        return holding(found, group(found), 0);
    }
    return rows.size() > 1 ? in_turn(std::move(rows)) : all(std::move(rows[0]));
}

// A function of one group needs no group of its own.
const Reading *GroupTables::of_one(const std::vector<Clause> &rows, uint32_t group) {
    Reading reading{group, std::vector<uint8_t>(network.states[group], 0)};
    for (const Clause &row : rows)
        for (size_t s = 0; s < reading.holds.size(); ++s)
            reading.holds[s] |= row.body.empty() || row.body[0]->holds[s];
    return keep(std::move(reading));
}

// A disjunction over too many groups, row by row.
const Reading *GroupTables::in_turn(std::vector<Clause> rows) {
    const Reading *so_far = nullptr;
    for (Clause &row : rows) {
        std::vector<Clause> one, either(2);
        one.push_back(std::move(row));
        const Reading *holds = any(std::move(one));
        if (so_far) {
            add(either[0], so_far), add(either[1], holds);
            either[0].heads = either[1].heads = {{0}};
            holds = any(std::move(either));
        }
        so_far = holds;
    }
    return so_far;
}

// A conjunction over too many groups, literal by literal; the choice is added to the last one.
const Reading *GroupTables::all(Clause row) {
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

void GroupTables::exclude(const std::vector<Lit> &body) {
    std::vector<Clause> one;
    one.push_back(clause(body));
    if (!one[0].possible) return;
    one[0].heads = {{0}};
    std::vector<uint32_t> over = parents(one);
    if (over.size() == 1 || combinations(over) > 4 * tuning::FEW_COMBINATIONS) {
        network.asserted.push_back(*opposite(*any(std::move(one))));
        return;
    }
    Draws found = draw(one, 2);
    Factor table{over, {}};
    auto excluded = found.states.find({0});
    for (auto &[state, edge] : found.entries)
        table.entries.push_back(excluded != found.states.end() && state == excluded->second ? ZERO
                                                                                            : UNIT);
    network.constraints.push_back(std::move(table));
}

void GroupTables::weigh(const WeightTable &table) {
    // By set: the values that can hold, and where each is read; null if it always holds.
    struct Option {
        size_t at;  // what it adds to the index of the weight
        const Reading *reading;
        size_t place;  // of its group in the scope
    };
    std::vector<std::vector<Option>> sets;
    std::vector<uint32_t> over;
    size_t step = 1;
    for (size_t i = table.sets.size(); i-- > 0; step *= table.sets[i].size()) {
        auto &values = sets.emplace_back();
        for (size_t v = 0; v < table.sets[i].size(); ++v) {
            Lit lit = table.sets[i][v];
            if (lit == FALSE_LIT) continue;
            const Reading *reading = lit == TRUE_LIT ? nullptr : read(lit);
            if (reading) over.push_back(reading->group);
            values.push_back({v * step, reading, 0});
        }
    }
    sort_unique(over);
    if (combinations(over) > tuning::MOST_TABLE)
        throw Stopped(Reason::Size, "a table of weights over too many groups");
    for (auto &values : sets)
        for (Option &value : values)
            if (value.reading)
                value.place =
                    size_t(std::lower_bound(over.begin(), over.end(), value.reading->group) -
                           over.begin());
    Factor factor{over, {}};
    factor.entries.reserve(size_t(combinations(over)));
    job_.watch.reserve(combinations(over) * sizeof(Edge) / (1 << 20));
    Odometer walk(sizes_of(over, network.states));
    std::vector<size_t> found, next;
    do {
        job_.watch.check();
        found.assign(1, table.first);
        for (const auto &values : sets) {
            next.clear();
            for (const Option &value : values)
                if (!value.reading || value.reading->holds[walk.states()[value.place]])
                    for (size_t index : found) next.push_back(index + value.at);
            found.swap(next);
        }
        Edge entry = UNIT;
        for (size_t index : found) {
            double weight = (*job_.weights)[index];
            if (weight == 0) entry = ZERO;
            if (weight != 1 && !zero(entry))
                entry = arithmetic_.product({int32_t(index), Builder::TRUE_NODE}, entry);
        }
        factor.entries.push_back(entry);
    } while (walk.next());
    network.constraints.push_back(std::move(factor));
}

}  // namespace dpasp
