
#include "network.hpp"
#include "tuning.hpp"

namespace dpasp {
namespace {

// Finds the groups, bottom up along the dependencies.
class Finder {
  public:
    Finder(const Job &job, const Heads &heads, Arithmetic &arithmetic)
        : job_(job), gates_(job.problem.gates), heads_(heads), tables_(job, arithmetic),
          done_(heads.heads.size(), 0) {}

    Network find() {
        index();
        for (const auto &some : clusters_in_order()) build(some);
        for (const auto &body : heads_.excluded) tables_.exclude(body);
        for (const WeightTable *table : job_.part.tables) tables_.weigh(*table);
        Network &network = tables_.network;
        for (Lit lit : heads_.asserted) network.asserted.push_back(*tables_.read(lit));
        for (const Ask &ask : job_.asks)
            for (const auto *lits : {&ask.query, &ask.evidence})
                for (Lit lit : *lits) network.readings.try_emplace(lit, *tables_.read(lit));
        return std::move(network);
    }

  private:
    const Job &job_;
    const Gates &gates_;
    const Heads &heads_;
    GroupTables tables_;
    std::vector<std::vector<uint32_t>> members_;  // by cluster: heads
    std::vector<std::vector<uint32_t>> users_;    // by head: heads whose bodies name it
    std::vector<std::vector<uint32_t>> readers_;  // by group: heads whose bodies name it
    std::unordered_map<uint32_t, std::vector<uint32_t>> choice_users_;  // by choice, likewise
    std::vector<uint8_t> done_;                                         // by head

    // --- what depends on what ---------------------------------------------------------------

    uint32_t head_of(Lit lit) const {
        return gates_.gates[gate_of(lit)].kind == Kind::And ? heads_.of_gate[job_.part.place(lit)]
                                                            : NONE;
    }

    void index() {
        members_.resize(heads_.clusters);
        users_.resize(heads_.heads.size());
        for (uint32_t h = 0; h < heads_.heads.size(); ++h) {
            members_[heads_.heads[h].cluster].push_back(h);
            for (const Row &row : heads_.heads[h].rows)
                for (Lit lit : row.body) {
                    const Gate &gate = gates_.gates[gate_of(lit)];
                    auto &users =
                        gate.kind == Kind::Value ? choice_users_[gate.first] : users_[head_of(lit)];
                    if (users.empty() || users.back() != h) users.push_back(h);
                }
        }
    }

    // Clusters that depend on each other form one list.
    std::vector<std::vector<uint32_t>> clusters_in_order() const {
        std::vector<std::pair<uint32_t, uint32_t>> pairs;
        for (uint32_t h = 0; h < heads_.heads.size(); ++h)
            for (uint32_t user : users_[h])
                pairs.emplace_back(heads_.heads[user].cluster, 2 * heads_.heads[h].cluster);
        sort_unique(pairs);
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

    std::vector<uint32_t> &readers(uint32_t group) {
        for (size_t g = readers_.size(); g <= group; ++g) {
            uint32_t choice = tables_.choice_of[g];
            readers_.push_back(choice == NONE ? std::vector<uint32_t>() : choice_users_[choice]);
        }
        return readers_[group];
    }

    void settle(uint32_t h, const Reading *reading) {
        tables_.define(heads_.heads[h].lit, reading);
        auto &readers = this->readers(reading->group);
        readers.insert(readers.end(), users_[h].begin(), users_[h].end());
        done_[h] = 1;
    }

    // --- heads ------------------------------------------------------------------------------

    // The groups in the bodies of some heads, as few as possible if literals have several readings.
    std::vector<uint32_t> named(const std::vector<uint32_t> &heads) {
        std::vector<uint32_t> groups;
        std::vector<std::vector<const Reading *>> open;
        for (uint32_t h : heads)
            for (const Row &row : heads_.heads[h].rows)
                for (Lit lit : row.body) {
                    auto all = tables_.readings(lit);
                    if (all.size() == 1)
                        groups.push_back(all[0]->group);
                    else
                        open.push_back(std::move(all));
                }
        sort_unique(groups);
        for (const auto &all : open)
            if (std::none_of(all.begin(), all.end(), [&](const Reading *reading) {
                    return std::binary_search(groups.begin(), groups.end(), reading->group);
                })) {
                groups.push_back(all.back()->group);
                sort_unique(groups);
            }
        return groups;
    }

    // The rows of heads that share private choices, as one clause for each choice.
    std::vector<Clause> clauses(const std::vector<uint32_t> &heads,
                                const std::vector<uint32_t> &over) {
        std::vector<Clause> result;
        std::unordered_map<uint32_t, size_t> by_choice;
        for (uint32_t i = 0; i < heads.size(); ++i)
            for (const Row &row : heads_.heads[heads[i]].rows) {
                if (row.choice == NONE) {
                    result.push_back(tables_.clause(row.body, over));
                    result.back().heads = {{i}};
                    continue;
                }
                auto [place, fresh] = by_choice.try_emplace(row.choice, result.size());
                if (fresh) {
                    result.push_back(tables_.clause(row.body, over));
                    result.back().choice = row.choice;
                    result.back().heads.resize(gates_.choices[row.choice].values);
                }
                auto &drawn = result[place->second].heads[row.value];
                if (drawn.empty() || drawn.back() != i) drawn.push_back(i);
            }
        return result;
    }

    // Makes one group for all heads of a cluster, and of others with the same parents that exclude
    // them, if that seems good.
    void together(uint32_t cluster) {
        std::vector<Clause> own = clauses(members_[cluster], named(members_[cluster]));
        std::vector<uint32_t> over = parents(own);
        if (!tables_.compact(over, own, tuning::FEW_FOR_CLUSTERS)) return;
        std::vector<uint32_t> units =
            over.empty() ? std::vector<uint32_t>{cluster} : siblings(cluster, over);
        std::vector<uint32_t> all;
        for (uint32_t unit : units)
            all.insert(all.end(), members_[unit].begin(), members_[unit].end());
        if (all.size() == 1 || (over.size() == 1 && !drawn(clauses(all, over)))) return;
        for (const auto &family : families(units, over)) gather(family, over);
    }

    // Makes one group for heads that exclude each other.
    void gather(const std::vector<uint32_t> &heads, const std::vector<uint32_t> &over) {
        if (heads.size() == 1) return alone(heads[0]);
        std::vector<Clause> own = clauses(heads, over);
        Draws found = tables_.draw(own, 4 * heads.size() + 4);
        if (!found.complete) return;
        uint32_t id = tables_.group(found);
        tables_.name_rest(found, id);
        for (uint32_t i = 0; i < heads.size(); ++i) settle(heads[i], tables_.holding(found, id, i));
        if (over.size() == 1) {  // what reads the parent may read this group in its place
            std::vector<uint32_t> more = readers(over[0]);
            auto &known = readers(id);
            known.insert(known.end(), more.begin(), more.end());
        }
    }

    // Makes a group for one head; its private choices become variables unless only it uses them.
    void alone(uint32_t h) {
        bool own_choices = members_[heads_.heads[h].cluster].size() == 1;
        std::vector<uint32_t> over = named({h});
        std::vector<Clause> rows;
        for (const Row &row : heads_.heads[h].rows) {
            rows.push_back(tables_.clause(row.body, over));
            Clause &last = rows.back();
            last.heads = {{0}};
            if (row.choice == NONE) continue;
            if (own_choices) {
                last.choice = row.choice;
                last.heads.assign(gates_.choices[row.choice].values, {});
                last.heads[row.value] = {0};
            } else {
                tables_.add(last, tables_.value(row.choice, row.value));
            }
        }
        if (own_choices) merge(rows);
        settle(h, tables_.any(std::move(rows)));
    }

    // Merges rows with the same private choice, which have the same body.
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

    // --- clusters under the same parents ----------------------------------------------------

    // Whether everything that a cluster depends on is known, and consists of just these groups.
    bool ready(uint32_t cluster, const std::vector<uint32_t> &over) {
        for (uint32_t h : members_[cluster]) {
            if (done_[h]) return false;
            for (const Row &row : heads_.heads[h].rows)
                for (Lit lit : row.body)
                    if (uint32_t other = head_of(lit); other != NONE && !done_[other]) return false;
        }
        return parents(clauses(members_[cluster], over)) == over;
    }

    // The clusters with the same parents, beginning with this one.
    std::vector<uint32_t> siblings(uint32_t cluster, const std::vector<uint32_t> &over) {
        uint32_t least = over[0];
        for (uint32_t g : over)
            if (readers(g).size() < readers(least).size()) least = g;
        auto &own = readers(least);
        sort_unique(own);
        std::vector<uint32_t> others;
        for (uint32_t h : own)
            if (heads_.heads[h].cluster != cluster) others.push_back(heads_.heads[h].cluster);
        sort_unique(others);
        std::vector<uint32_t> found{cluster};
        for (uint32_t other : others)
            if (ready(other, over)) found.push_back(other);
        return found;
    }

    // The heads of clusters in families; no two clusters of a family hold at the same time.
    std::vector<std::vector<uint32_t>> families(const std::vector<uint32_t> &units,
                                                const std::vector<uint32_t> &over) {
        std::vector<std::vector<Clause>> rows;
        for (uint32_t unit : units) rows.push_back(clauses(members_[unit], over));
        std::vector<std::vector<uint8_t>> meet = tables_.meeting(rows);
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
};

}  // namespace

Network find_groups(const Job &job, const Heads &heads, Arithmetic &arithmetic) {
    return Finder(job, heads, arithmetic).find();
}

}  // namespace dpasp
