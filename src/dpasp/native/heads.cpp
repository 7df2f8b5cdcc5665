
#include "network.hpp"

namespace dpasp {
namespace {

class Reader {
  public:
    Reader(const Problem &problem, const Part &part, const std::vector<Ask> &asks)
        : problem_(problem), gates_(problem.gates), part_(part), asks_(asks) {}

    Heads read() {
        mark();
        collect();
        find_private();
        take_private();
        number_clusters();
        found_.grouped = grouped();
        return std::move(found_);
    }

  private:
    const Problem &problem_;
    const Gates &gates_;
    const Part &part_;
    const std::vector<Ask> &asks_;
    Heads found_;
    std::vector<uint32_t> uses_;    // by place
    std::vector<uint8_t> visible_;  // by place: needs a head (And) or a variable (Value)

    // For each choice, whether it is private, and the row where it was first seen.
    struct Seen {
        bool private_ = true;
        bool used = false;
        uint32_t head = 0, row = 0;
    };
    std::unordered_map<uint32_t, Seen> seen_;
    Forest joined_{0};  // heads, by cluster

    const Gate &gate(Lit lit) const { return gates_.gates[gate_of(lit)]; }
    bool is_and(Lit lit) const { return gate(lit).kind == Kind::And; }
    uint8_t named(Lit lit) const { return problem_.named[gate_of(lit)]; }

    void mark() {
        uses_.assign(part_.gates.size(), 0);
        visible_.assign(part_.gates.size(), 0);
        for (uint32_t g : part_.gates)
            if (gates_.gates[g].kind == Kind::And)
                for (const Lit *in = gates_.begin(g); in != gates_.end(g); ++in)
                    ++uses_[part_.place(*in)];
        for (const Ask &ask : asks_)
            for (const auto *lits : {&ask.query, &ask.evidence})
                for (Lit lit : *lits) visible_[part_.place(lit)] = 1;
        for (const WeightTable *table : part_.tables)
            for (const auto &set : table->sets)
                for (Lit lit : set)
                    if (gate_of(lit)) visible_[part_.place(lit)] = 1;
        for (Lit lit : part_.asserted) {
            uint32_t place = part_.place(lit);
            if (is_and(lit) && negated(lit) && !uses_[place] && !named(lit) && !visible_[place])
                continue;  // a constraint
            visible_[place] = 1;
            found_.asserted.push_back(lit);
        }
    }

    // Whether a gate can be read as part of the one that uses it.
    bool inside(Lit lit) const { return is_and(lit) && !named(lit) && !visible_[part_.place(lit)]; }

    // The inputs of a conjunction; those that are conjunctions which only it uses are flattened.
    std::vector<Lit> inputs(uint32_t gate) const {
        std::vector<Lit> result, todo(gates_.begin(gate), gates_.end(gate));
        while (!todo.empty()) {
            Lit lit = todo.back();
            todo.pop_back();
            if (!negated(lit) && inside(lit) && uses_[part_.place(lit)] == 1)
                todo.insert(todo.end(), gates_.begin(gate_of(lit)), gates_.end(gate_of(lit)));
            else
                result.push_back(lit);
        }
        std::sort(result.begin(), result.end());
        return result;
    }

    void show(const std::vector<Lit> &body) {
        for (Lit lit : body)
            if (is_and(lit)) visible_[part_.place(lit)] = 1;
    }

    void collect() {
        for (Lit lit : part_.asserted)
            if (!visible_[part_.place(lit)]) {
                found_.excluded.push_back(inputs(gate_of(lit)));
                show(found_.excluded.back());
            }
        for (size_t i = part_.gates.size(); i-- > 0;) {
            uint32_t g = part_.gates[i];
            if (gates_.gates[g].kind != Kind::And) continue;
            if (visible_[i]) found_.heads.push_back(head(g));
        }
        std::reverse(found_.heads.begin(), found_.heads.end());
        found_.of_gate.assign(part_.gates.size(), NONE);
        for (uint32_t h = 0; h < found_.heads.size(); ++h)
            found_.of_gate[part_.place(found_.heads[h].lit)] = h;
    }

    // A gate that is the negation of an atom with several rules is read as a disjunction.
    Head head(uint32_t g) {
        std::vector<Lit> own = inputs(g);
        bool opposite = problem_.named[g] & 2u;
        if (!problem_.named[g]) {
            opposite = true;
            for (Lit lit : own) opposite = opposite && negated(lit);
        }
        Head head{2 * g + opposite, {}, 0};
        if (!opposite) {
            head.rows.push_back({std::move(own)});
        } else {
            for (Lit lit : own) {
                if (negated(lit) && inside(lit))
                    head.rows.push_back({inputs(gate_of(lit))});
                else
                    head.rows.push_back({{negate(lit)}});
            }
        }
        for (const Row &row : head.rows) show(row.body);
        return head;
    }

    // The gate of the only value of a choice that a literal needs; NONE if there is none.
    uint32_t value_of(Lit lit) const {
        const Gate &own = gate(lit);
        if (own.kind != Kind::Value) return NONE;
        if (!negated(lit)) return own.second;
        return gates_.choices[own.first].values == 2 ? 1 - own.second : NONE;
    }

    void find_private() {
        joined_ = Forest(found_.heads.size());
        for (size_t i = 0; i < part_.gates.size(); ++i) {
            const Gate &own = gates_.gates[part_.gates[i]];
            if (own.kind == Kind::Value && visible_[i]) seen_[own.first].private_ = false;
        }
        for (const auto &body : found_.excluded) expose(body);
        for (uint32_t h = 0; h < found_.heads.size(); ++h)
            for (uint32_t r = 0; r < found_.heads[h].rows.size(); ++r) look(h, r);
    }

    void expose(const std::vector<Lit> &body) {
        for (Lit lit : body)
            if (gate(lit).kind == Kind::Value) seen_[gate(lit).first].private_ = false;
    }

    void look(uint32_t h, uint32_t r) {
        const std::vector<Lit> &body = found_.heads[h].rows[r].body;
        for (Lit lit : body) {
            if (gate(lit).kind != Kind::Value) continue;
            Seen &seen = seen_[gate(lit).first];
            if (!seen.used) {
                seen.used = true, seen.head = h, seen.row = r;
            } else if (seen.private_) {
                const Row &first = found_.heads[seen.head].rows[seen.row];
                seen.private_ = same_rest(first.body, body, gate(lit).first);
            }
            if (value_of(lit) == NONE) seen.private_ = false;
        }
    }

    // Whether two bodies are equal except for a choice.
    bool same_rest(const std::vector<Lit> &one, const std::vector<Lit> &other,
                   uint32_t choice) const {
        auto own = [&](Lit lit) {
            return gate(lit).kind == Kind::Value && gate(lit).first == choice;
        };
        size_t i = 0, j = 0;
        while (true) {
            while (i < one.size() && own(one[i])) ++i;
            while (j < other.size() && own(other[j])) ++j;
            if (i == one.size() || j == other.size()) return i == one.size() && j == other.size();
            if (one[i++] != other[j++]) return false;
        }
    }

    // Of the private choices in a body, one belongs to the row; others become variables.
    void take_private() {
        for (Head &head : found_.heads)
            for (Row &row : head.rows) {
                bool taken = false;
                for (Lit lit : row.body) {
                    if (gate(lit).kind != Kind::Value) continue;
                    Seen &seen = seen_[gate(lit).first];
                    if (taken) seen.private_ = false;
                    taken = taken || seen.private_;
                }
            }
        for (uint32_t h = 0; h < found_.heads.size(); ++h)
            for (Row &row : found_.heads[h].rows)
                for (size_t i = 0; i < row.body.size(); ++i) {
                    Lit lit = row.body[i];
                    if (gate(lit).kind != Kind::Value) continue;
                    const Seen &seen = seen_[gate(lit).first];
                    if (!seen.private_) continue;
                    row.choice = gate(lit).first;
                    row.value = value_of(lit);
                    row.body.erase(row.body.begin() + ptrdiff_t(i));
                    joined_.join(h, seen.head);
                    break;
                }
    }

    void number_clusters() {
        std::vector<uint32_t> number(found_.heads.size(), NONE);
        for (uint32_t h = 0; h < found_.heads.size(); ++h) {
            uint32_t &own = number[joined_.find(h)];
            if (own == NONE) own = found_.clusters++;
            found_.heads[h].cluster = own;
        }
    }

    // Whether two bodies of a cluster have different values of a choice, different heads of a
    // cluster, or an atom and its negation.
    bool grouped() const {
        std::vector<uint32_t> size(found_.clusters, 0);
        for (const Head &head : found_.heads) ++size[head.cluster];
        std::vector<std::unordered_map<uint64_t, Lit>> named(found_.clusters);
        for (const Head &head : found_.heads)
            for (const Row &row : head.rows) {
                if (row.choice == NONE) continue;
                for (Lit lit : row.body) {
                    auto [place, fresh] = named[head.cluster].try_emplace(subject(lit, size), lit);
                    if (!fresh && place->second != lit) return true;
                }
            }
        return false;
    }

    uint64_t subject(Lit lit, const std::vector<uint32_t> &size) const {
        const Gate &own = gate(lit);
        if (own.kind == Kind::Value) return 3 * uint64_t(own.first);
        uint32_t head = found_.of_gate[part_.place(lit)];
        if (head != NONE && size[found_.heads[head].cluster] > 1)
            return 3 * uint64_t(found_.heads[head].cluster) + 1;
        return 3 * uint64_t(gate_of(lit)) + 2;
    }
};

}  // namespace

Heads read_heads(const Problem &problem, const Part &part, const std::vector<Ask> &asks) {
    return Reader(problem, part, asks).read();
}

}  // namespace dpasp
