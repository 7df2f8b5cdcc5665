#include "search.hpp"

#include "tuning.hpp"

namespace dpasp {

Components::Components(const Formula &formula, const Propagation &assigned)
    : formula_(formula), assigned_(assigned) {
    size_t n = formula.variables.size();
    std::vector<std::vector<uint32_t>> pairs(n), triples(n), longer(n);
    for (const Clause &clause : formula.clauses) {
        if (clause.size() == 2) {
            pairs[gate_of(clause[0])].push_back(gate_of(clause[1]));
            pairs[gate_of(clause[1])].push_back(gate_of(clause[0]));
            continue;
        }
        auto number = uint32_t(clause_.size());
        literals_.push_back(uint32_t(clause.size()));
        clause_.push_back(uint32_t(literals_.size()));
        literals_.insert(literals_.end(), clause.begin(), clause.end());
        for (size_t i = 0; i < clause.size(); ++i)
            if (clause.size() == 3) {
                auto &own = triples[gate_of(clause[i])];
                own.insert(own.end(), {number, clause[(i + 1) % 3], clause[(i + 2) % 3]});
            } else {
                auto &own = longer[gate_of(clause[i])];
                own.insert(own.end(), {number, clause_.back()});
            }
    }
    for (uint32_t v = 0; v < n; ++v) {
        sort_unique(pairs[v]);
        Links links{};
        for (auto [list, start] : {std::pair{&pairs[v], &links.pairs},
                                   {&triples[v], &links.triples},
                                   {&longer[v], &links.longer}}) {
            *start = uint32_t(linked_.size());
            linked_.insert(linked_.end(), list->begin(), list->end());
        }
        links.end = uint32_t(linked_.size());
        links_.push_back(links);
    }
    variable_part_.resize(n), variable_round_.resize(n), count_.resize(n);
    clause_part_.resize(clause_.size()), clause_round_.resize(clause_.size());
}

Component Components::whole(const std::vector<uint8_t> &asked) {
    Component all{stack_.size(), 0, 0};
    for (uint32_t v = 1; v < links_.size(); ++v) {
        const Variable &variable = formula_.variables[v];
        bool linked = links_[v].end != links_[v].pairs;
        if (variable.gone || !(variable.kept || linked)) continue;
        stack_.push_back(v);
        all.outer = all.outer || variable.role == Role::Choice;
        all.asked = all.asked || asked[v];
    }
    all.clauses = stack_.size();
    for (uint32_t c = 0; c < clause_.size(); ++c) stack_.push_back(c);
    all.end = stack_.size();
    return all;
}

// Marks the component of a variable.
void Components::visit(uint32_t variable, uint32_t part, Size &size) {
    todo_.assign(1, variable);
    variable_round_[variable] = round_;
    auto meet = [&](uint32_t other) {
        if (variable_round_[other] == round_) return;
        variable_round_[other] = round_;
        todo_.push_back(other);
    };
    auto meet_literal = [&](Lit lit) {
        if (assigned_.value(lit) == 0) meet(gate_of(lit));
    };
    while (!todo_.empty()) {
        uint32_t v = todo_.back();
        todo_.pop_back();
        variable_part_[v] = part;
        ++size.variables;
        const Links &links = links_[v];
        work += 1 + (links.end - links.pairs) / 2;
        for (uint32_t at = links.pairs; at < links.triples; ++at)
            if (assigned_.open(linked_[at])) meet(linked_[at]);
        for (uint32_t at = links.triples; at < links.longer; at += 3) {
            uint32_t number = linked_[at];
            if (clause_round_[number] == round_) continue;
            clause_round_[number] = round_;
            Lit a = linked_[at + 1], b = linked_[at + 2];
            if (assigned_.value(a) > 0 || assigned_.value(b) > 0) {
                clause_part_[number] = UINT32_MAX;
                continue;
            }
            clause_part_[number] = part;
            ++size.clauses;
            meet_literal(a), meet_literal(b);
        }
        for (uint32_t at = links.longer; at < links.end; at += 2) {
            uint32_t number = linked_[at];
            if (clause_round_[number] == round_) continue;
            clause_round_[number] = round_;
            const Lit *lits = literals_.data() + linked_[at + 1], *end = lits + lits[-1];
            const Lit *lit = lits;
            while (lit != end && assigned_.value(*lit) <= 0) ++lit;
            work += size_t(lit - lits) / 2;
            if (lit != end) {
                clause_part_[number] = UINT32_MAX;
                continue;
            }
            clause_part_[number] = part;
            ++size.clauses;
            for (lit = lits; lit != end; ++lit) meet_literal(*lit);
        }
    }
}

// --- what is remembered

void Memory::describe(const Components &components, const Component &of, uint32_t kind) {
    bytes_.clear();
    auto put = [&](uint32_t number) {
        for (; number >= 128; number >>= 7) bytes_.push_back(uint8_t(number | 128u));
        bytes_.push_back(uint8_t(number));
    };
    put(kind);
    put(uint32_t(of.clauses - of.variables));
    uint32_t before = 0;
    for (size_t i = of.variables; i < of.end; ++i) {
        if (i == of.clauses) before = 0;
        uint32_t number = *components.at(i);
        put(number - before);
        before = number;
    }
    uint64_t hash = bytes_.size();
    for (size_t i = 0; i < bytes_.size(); i += 8) {
        uint64_t word = 0;
        for (size_t k = i; k < std::min(i + 8, bytes_.size()); ++k) word = word << 8 | bytes_[k];
        hash = combine(hash, word);
    }
    hash_ = hash;
}

uint32_t Memory::find() {
    for (uint32_t i = first_[hash_ & (first_.size() - 1)]; i != NONE; i = entries_[i].next) {
        Entry &entry = entries_[i];
        if (entry.hash != hash_ || entry.size != bytes_.size()) continue;
        if (!std::equal(bytes_.begin(), bytes_.end(), keys_.begin() + ptrdiff_t(entry.start)))
            continue;
        entry.used = clock_;
        return entry.value;
    }
    return NONE;
}

void Memory::store(const Described &key, uint32_t value) {
    if (keys_.size() + entries_.size() * sizeof(Entry) + key.bytes.size() > most_) shrink();
    if (2 * entries_.size() > first_.size()) rehash(2 * first_.size());
    uint32_t &first = first_[key.hash & (first_.size() - 1)];
    entries_.push_back(
        {key.hash, clock_, clock_, keys_.size(), uint32_t(key.bytes.size()), value, first});
    ++clock_;
    first = uint32_t(entries_.size() - 1);
    keys_.insert(keys_.end(), key.bytes.begin(), key.bytes.end());
}

void Memory::forget_since(uint64_t time) {
    while (!entries_.empty() && entries_.back().time >= time) {
        const Entry &last = entries_.back();
        // the last entry is the first of its slot
        first_[last.hash & (first_.size() - 1)] = last.next;
        keys_.resize(last.start);
        entries_.pop_back();
    }
}

// Keeps the half that was used last.
void Memory::shrink() {
    if (entries_.empty()) return;
    std::vector<uint64_t> used;
    for (const Entry &entry : entries_) used.push_back(entry.used);
    auto middle = used.begin() + ptrdiff_t(used.size() / 2);
    std::nth_element(used.begin(), middle, used.end());
    std::vector<Entry> kept;
    size_t to = 0;
    for (Entry entry : entries_) {
        if (entry.used <= *middle) continue;
        std::copy_n(keys_.begin() + ptrdiff_t(entry.start), entry.size,
                    keys_.begin() + ptrdiff_t(to));
        entry.start = to;
        to += entry.size;
        kept.push_back(entry);
    }
    keys_.resize(to);
    entries_ = std::move(kept);
    rehash(first_.size());
}

void Memory::rehash(size_t slots) {
    first_.assign(slots, NONE);
    for (uint32_t i = 0; i < entries_.size(); ++i) {
        uint32_t &first = first_[entries_[i].hash & (slots - 1)];
        entries_[i].next = first;
        first = i;
    }
}

// --- orders

namespace {

// Eliminates the vertices of a graph, always the one with the fewest missing edges between its
// neighbours; finds their bags.
class MinFill {
  public:
    MinFill(std::vector<std::vector<uint32_t>> neighbours, Budget &budget, Watch &watch)
        : neighbours_(std::move(neighbours)), gone_(neighbours_.size(), 0), budget_(budget),
          watch_(watch), mark_(neighbours_.size(), 0) {}

    std::vector<uint32_t> order;
    std::vector<std::vector<uint32_t>> bags;  // by vertex: its neighbours when it goes

    void run() {
        size_t n = neighbours_.size();
        bags.resize(n);
        std::vector<uint64_t> score(n);
        for (uint32_t v = 0; v < n; ++v) score[v] = scored(v), put(v, score[v]);
        while (!heap_.empty()) {
            watch_.check();
            auto [key, v] = heap_.front();
            std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
            heap_.pop_back();
            if (gone_[v] || key != score[v]) continue;
            std::vector<uint32_t> bag = neighbours_[v];
            gone_[v] = 1;
            order.push_back(v);
            for (uint32_t u : bag) {
                auto &list = neighbours_[u];
                list.erase(std::lower_bound(list.begin(), list.end(), v));
                budget_.charge(1 + bag.size() / 4);
                std::vector<uint32_t> joined;
                std::set_union(list.begin(), list.end(), bag.begin(), bag.end(),
                               std::back_inserter(joined));
                joined.erase(std::lower_bound(joined.begin(), joined.end(), u));
                list = std::move(joined);
            }
            for (uint32_t u : bag) score[u] = scored(u), put(u, score[u]);
            neighbours_[v].clear();
            bags[v] = std::move(bag);
        }
    }

  private:
    std::vector<std::vector<uint32_t>> neighbours_;  // sorted
    std::vector<uint8_t> gone_;
    Budget &budget_;
    Watch &watch_;
    std::vector<uint32_t> mark_;
    uint32_t round_ = 0;
    std::vector<std::pair<uint64_t, uint32_t>> heap_;

    void put(uint32_t v, uint64_t score) {
        heap_.emplace_back(score, v);
        std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
    }

    // The number of missing edges; with many neighbours, as if all were missing.
    uint64_t scored(uint32_t v) {
        const auto &own = neighbours_[v];
        uint64_t degree = own.size(), missing = degree * (degree - (degree > 0)) / 2;
        if (degree > tuning::SEARCH_FILL) return missing;
        ++round_;
        for (uint32_t u : own) mark_[u] = round_;
        uint64_t present = 0;
        for (uint32_t u : own) {
            for (uint32_t w : neighbours_[u]) present += mark_[w] == round_;
            budget_.charge(neighbours_[u].size() / 16 + 1);
        }
        return missing - present / 2;
    }
};

}  // namespace

TreeDepths tree_depths(const Formula &formula, Budget &budget, Watch &watch) {
    size_t n = formula.variables.size();
    std::vector<std::vector<uint32_t>> neighbours(n);
    for (const Clause &clause : formula.clauses) {
        if (clause.size() > tuning::SEARCH_FILL) continue;
        for (Lit a : clause)
            for (Lit b : clause)
                if (gate_of(a) != gate_of(b)) neighbours[gate_of(a)].push_back(gate_of(b));
    }
    for (auto &list : neighbours) sort_unique(list);
    MinFill fill(std::move(neighbours), budget, watch);
    fill.run();
    TreeDepths result;
    std::vector<uint32_t> position(n);
    for (uint32_t i = 0; i < n; ++i) position[fill.order[i]] = i;
    // The parent of a vertex is its neighbour that is eliminated first.
    std::vector<std::vector<uint32_t>> tree(n);
    std::vector<uint32_t> parent(n, UINT32_MAX), below(n, 1);
    for (uint32_t v : fill.order) {
        result.width = std::max(result.width, uint32_t(fill.bags[v].size()));
        for (uint32_t u : fill.bags[v])
            if (parent[v] == UINT32_MAX || position[u] < position[parent[v]]) parent[v] = u;
        if (parent[v] == UINT32_MAX) continue;
        below[parent[v]] += below[v];
        tree[v].push_back(parent[v]);
        tree[parent[v]].push_back(v);
    }
    // The middle of a tree is the vertex whose removal leaves the smallest largest rest.
    std::vector<uint32_t> total(n), distance(n, UINT32_MAX), middle(n), largest(n, 0);
    std::vector<uint32_t> root(n);
    for (size_t i = n; i-- > 0;) {
        uint32_t v = fill.order[i];
        root[v] = parent[v] == UINT32_MAX ? v : root[parent[v]];
    }
    for (uint32_t v : fill.order)
        if (parent[v] != UINT32_MAX) largest[parent[v]] = std::max(largest[parent[v]], below[v]);
    std::vector<uint32_t> best(n, UINT32_MAX);
    for (uint32_t v : fill.order) {
        largest[v] = std::max(largest[v], below[root[v]] - below[v]);
        uint32_t &own = best[root[v]];
        if (own == UINT32_MAX || largest[v] < largest[own]) own = v;
    }
    uint32_t deepest = 1;
    for (uint32_t r = 0; r < n; ++r) {
        if (parent[r] != UINT32_MAX) continue;
        std::vector<uint32_t> todo{best[r]};
        distance[best[r]] = 0;
        for (size_t i = 0; i < todo.size(); ++i)
            for (uint32_t u : tree[todo[i]])
                if (distance[u] == UINT32_MAX) {
                    distance[u] = distance[todo[i]] + 1;
                    deepest = std::max(deepest, distance[u]);
                    todo.push_back(u);
                }
    }
    std::vector<uint32_t> first(distance);
    for (uint32_t v = 0; v < n; ++v)
        for (uint32_t u : fill.bags[v]) first[u] = std::min(first[u], distance[v]);
    for (uint32_t v = 0; v < n; ++v) result.depth.push_back(double(first[v]) / double(deepest));
    return result;
}

}  // namespace dpasp
