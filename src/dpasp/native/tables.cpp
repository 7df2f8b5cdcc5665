// The second way: determinisation along an order of the inputs.
//
// Inputs are read one by one. A gate is open from when its first input is read until its last
// is; of an open gate only one bit matters: whether it is already false (or can no longer
// matter). A *table* holds one entry for every assignment of the guesses read so far that is
// still possible: the bits of the open gates, whether query and evidence still hold, and a
// count. Prefixes of choices with equal tables are one state; states and choices make a
// decision diagram, and the last table says which models there are.
#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "entries.hpp"
#include "ways.hpp"

namespace dpasp {
namespace {

enum class Role : uint8_t { Gate, Assert, Query, Evidence, Undefined };

struct Consumer {
    Role role;
    bool negated;
    uint32_t target;  // Gate: local number; Undefined: local number of its element
};

struct LocalGate {
    uint32_t first = UINT32_MAX, last = 0;  // steps between which it is open
    uint32_t slot = 0;
    bool relevant = false;
    bool conjunction = false;  // an AND gate, not an input
    std::vector<Consumer> consumers;
    std::vector<uint32_t> inputs;  // local numbers of the AND gates among its inputs
};

class Tables {
  public:
    Tables(const Job &job, const std::vector<Input> &order, const Ask &ask, Mode mode)
        : gates_(job.problem.gates), part_(job.part), order_(order), ask_(ask), entries_{mode},
          share_(1.0 / double(job.asks.size())), budget_(job.budget), builder_(job.builder),
          watch_(job.watch) {
        prepare();
    }

    uint32_t compile() {
        std::vector<Table> layer(1, entries_.first());
        std::vector<std::vector<uint32_t>> steps;  // children, `values` a state
        for (uint32_t s = 0; s < order_.size(); ++s) {
            steps.emplace_back();
            layer = advance(s, layer, steps.back());
            budget_.advance(share_ / double(order_.size()));
        }
        std::vector<uint32_t> nodes;
        for (const Table &table : layer) nodes.push_back(builder_.leaf(entries_.value(table)));
        for (uint32_t s = uint32_t(order_.size()); s-- > 0;) {
            uint32_t values = order_[s].choice ? gates_.choices[order_[s].id].values : 1;
            std::vector<uint32_t> before(steps[s].size() / values), children(values);
            for (size_t i = 0; i < before.size(); ++i) {
                for (uint32_t v = 0; v < values; ++v) {
                    uint32_t to = steps[s][i * values + v];
                    children[v] = to == UINT32_MAX ? Builder::FALSE_NODE : nodes[to];
                }
                before[i] = order_[s].choice
                                ? builder_.decision(gates_.choices[order_[s].id].leaf, children)
                                : children[0];
            }
            nodes = std::move(before);
        }
        return nodes[0];
    }

  private:
    static constexpr uint32_t QUERY = Entries::QUERY, EVIDENCE = Entries::EVIDENCE;
    static constexpr uint32_t WIDE = 16;  // words

    const Gates &gates_;
    const Part &part_;
    const std::vector<Input> &order_;
    const Ask &ask_;
    Entries entries_;
    double share_;  // of the whole attempt
    Budget &budget_;
    Builder &builder_;
    Watch &watch_;

    std::vector<LocalGate> local_;
    std::vector<std::vector<uint32_t>> closing_, opening_, elements_;  // by step
    std::vector<std::vector<std::pair<uint32_t, uint32_t>>> read_;     // by step: local, value
    std::vector<uint32_t> query_inputs_, evidence_inputs_;
    size_t visits_ = 0;     // of consumers, not yet charged
    bool patient_ = false;  // false gates are told to consumers that are open, the rest later
    uint32_t now_ = 0;      // the step

    // --- preparation ---------------------------------------------------------------------

    void prepare() {
        local_.resize(part_.gates.size());
        for (Lit lit : part_.asserted) root(lit, {Role::Assert, negated(lit), 0});
        for (Lit lit : ask_.query) root(lit, {Role::Query, negated(lit), 0});
        for (Lit lit : ask_.evidence) root(lit, {Role::Evidence, negated(lit), 0});
        for (uint32_t i = 0; i < part_.undefined.size(); ++i)
            root(part_.undefined[i], {Role::Undefined, negated(part_.undefined[i]), i});
        for (uint32_t i = uint32_t(local_.size()); i-- > 0;) {  // consumers before inputs
            uint32_t g = part_.gates[i];
            if (!local_[i].relevant || gates_.gates[g].kind != Kind::And) continue;
            for (const Lit *in = gates_.begin(g); in != gates_.end(g); ++in)
                root(*in, {Role::Gate, negated(*in), i});
        }
        time_gates();
        place_slots();
        if (entries_.words <= WIDE) return;
        // Too many gates that could become false early: tell them only when their inputs close.
        patient_ = true;
        time_gates();
        place_slots();
        if (64 * entries_.words > WIDEST_TABLE)
            throw Stopped(Reason::Size, "tables that are too wide");
    }

    void root(Lit lit, Consumer consumer) {
        LocalGate &gate = local_[part_.place(lit)];
        gate.relevant = true;
        gate.consumers.push_back(consumer);
    }

    void time_gates() {
        std::unordered_map<uint32_t, uint32_t> choice_step, guess_step;
        for (uint32_t s = 0; s < order_.size(); ++s)
            (order_[s].choice ? choice_step : guess_step)[order_[s].id] = s;
        for (auto *lists : {&closing_, &opening_, &elements_}) lists->assign(order_.size(), {});
        read_.assign(order_.size(), {});
        query_inputs_.clear();
        evidence_inputs_.clear();
        for (uint32_t i = 0; i < local_.size(); ++i) {
            LocalGate &mine = local_[i];
            if (!mine.relevant) continue;
            uint32_t g = part_.gates[i];
            const Gate &gate = gates_.gates[g];
            if (gate.kind == Kind::And) {
                mine.conjunction = true;
                mine.first = UINT32_MAX;
                mine.last = 0;
                mine.inputs.clear();
                for (const Lit *in = gates_.begin(g); in != gates_.end(g); ++in) {
                    uint32_t j = part_.place(*in);
                    uint32_t told = patient_ ? local_[j].last : local_[j].first;
                    mine.first = std::min(mine.first, told);
                    mine.last = std::max(mine.last, local_[j].last);
                    if (gates_.gates[gate_of(*in)].kind == Kind::And) mine.inputs.push_back(j);
                }
                closing_[mine.last].push_back(i);
                opening_[mine.first].push_back(i);
            } else {
                uint32_t s =
                    gate.kind == Kind::Value ? choice_step.at(gate.first) : guess_step.at(g);
                mine.first = mine.last = s;
                read_[s].emplace_back(i, gate.kind == Kind::Value ? gate.second : 0);
            }
            for (const Consumer &consumer : mine.consumers) {
                if (consumer.role == Role::Undefined)
                    elements_[mine.last].push_back(consumer.target);
                if (gate.kind != Kind::And) continue;
                if (consumer.role == Role::Query) query_inputs_.push_back(i);
                if (consumer.role == Role::Evidence) evidence_inputs_.push_back(i);
            }
        }
    }

    void place_slots() {
        std::vector<uint32_t> unused;
        uint32_t next = Entries::FIRST_SLOT;
        for (uint32_t s = 0; s < order_.size(); ++s) {
            for (uint32_t i : opening_[s]) {
                if (unused.empty()) {
                    local_[i].slot = next++;
                } else {
                    local_[i].slot = unused.back();
                    unused.pop_back();
                }
            }
            for (uint32_t i : closing_[s]) unused.push_back(local_[i].slot);
        }
        entries_.words = (next + 63) / 64;
    }

    // --- one step ------------------------------------------------------------------------

    std::vector<Table> advance(uint32_t s, const std::vector<Table> &layer,
                               std::vector<uint32_t> &edges) {
        std::unordered_map<Key, uint32_t, KeyHash> known;
        std::vector<Table> next;
        const Input &input = order_[s];
        uint32_t values = input.choice ? gates_.choices[input.id].values : 1;
        edges.reserve(layer.size() * values);
        size_t held = 0;  // words of this layer
        for (const Table &table : layer)
            for (uint32_t v = 0; v < values; ++v) {
                Table result = input.choice ? follow(s, table, v) : guess(s, table);
                budget_.charge(5 + result.words.size() / 3 + visits_ / 40);
                visits_ = 0;
                if (!result.count) {
                    edges.push_back(UINT32_MAX);
                    continue;
                }
                entries_.tidy(result);
                auto [place, fresh] =
                    known.try_emplace(entries_.hash(result), uint32_t(next.size()));
                // Different tables with one key: the next key that is free or right.
                for (Key key = place->first; !fresh && !next[place->second].same(result);) {
                    ++key.high;
                    std::tie(place, fresh) = known.try_emplace(key, uint32_t(next.size()));
                }
                edges.push_back(place->second);
                if (!fresh) continue;
                held += result.words.size();
                if (++budget_.size > budget_.nodes || held > 2 * budget_.nodes)
                    throw Stopped(Reason::Size, "tables of more entries than were allowed");
                next.push_back(std::move(result));
            }
        return next;
    }

    Table follow(uint32_t s, const Table &table, uint32_t value) {
        Table result;
        begin(s, table, result);
        for (uint32_t i = 0; i < table.count; ++i) step(s, table, i, value, true, result);
        return result;
    }

    Table guess(uint32_t s, const Table &table) {
        Table result;
        begin(s, table, result);
        for (uint32_t i = 0; i < table.count; ++i)
            for (uint32_t v = 0; v < 2; ++v) step(s, table, i, v, false, result);
        return result;
    }

    void begin(uint32_t s, const Table &table, Table &result) {
        result.elements = table.elements + uint32_t(elements_[s].size());
        result.words.reserve(size_t(table.count + 1) * entries_.stride(result.elements));
    }

    struct Event {
        uint32_t gate;
        bool value;
    };
    std::vector<Event> events_;
    std::vector<uint32_t> doubtful_;  // gates that may no longer matter
    Word *bits_ = nullptr;
    std::vector<uint32_t> raised_;  // elements found undefined in this step

    bool bit(uint32_t slot) const { return bits_[slot >> 6] >> (slot & 63) & 1; }
    void set(uint32_t slot) { bits_[slot >> 6] |= Word(1) << (slot & 63); }
    void clear(uint32_t slot) { bits_[slot >> 6] &= ~(Word(1) << (slot & 63)); }

    void step(uint32_t s, const Table &table, uint32_t entry, uint32_t value, bool choice,
              Table &result) {
        watch_.check();
        uint32_t from = entries_.stride(table.elements), to = entries_.stride(result.elements);
        const Word *old = table.words.data() + size_t(entry) * from;
        size_t offset = result.words.size();
        result.words.resize(offset + to, 0);
        bits_ = result.words.data() + offset;
        std::copy_n(old, entries_.words, bits_);
        if (entries_.mode == Mode::Least)
            std::copy_n(old + entries_.words, set_words(table.elements), bits_ + entries_.words);
        if (entries_.counting()) bits_[to - 1] = old[from - 1];
        raised_.clear();
        if (!run(s, value, choice)) {
            result.words.resize(offset);
            return;
        }
        for (uint32_t element : raised_) {
            uint32_t column = 0;
            while (elements_[s][column] != element) ++column;
            column += table.elements;
            bits_[entries_.words + column / 64] |= Word(1) << (column % 64);
        }
        if (++result.count == UINT32_MAX)  // entries are numbered
            throw Stopped(Reason::Size, "a table of more entries than were allowed");
    }

    // Feed the value read at step s into an entry; false when the entry becomes impossible.
    bool run(uint32_t s, uint32_t value, bool choice) {
        events_.clear();
        doubtful_.clear();
        now_ = s;
        for (auto &[gate, when] : read_[s]) {
            bool truth = choice ? when == value : value == 1;
            if (!feed(gate, truth)) return false;
        }
        if (!drain()) return false;
        for (uint32_t gate : closing_[s]) {
            bool dead = bit(local_[gate].slot);
            if (dead) raise(gate);
            if (!dead || patient_)
                if (!feed(gate, !dead) || !drain()) return false;
        }
        for (uint32_t gate : opening_[s]) doubtful_.push_back(gate);
        forget(s);
        for (uint32_t gate : closing_[s]) clear(local_[gate].slot);
        if (bit(EVIDENCE)) clear(QUERY);
        return true;
    }

    bool drain() {
        while (!events_.empty()) {
            Event event = events_.back();
            events_.pop_back();
            if (!feed(event.gate, event.value)) return false;
        }
        return true;
    }

    bool feed(uint32_t gate, bool value) {
        visits_ += local_[gate].consumers.size();
        for (const Consumer &consumer : local_[gate].consumers) {
            bool holds = value != consumer.negated;
            switch (consumer.role) {
            case Role::Gate: {
                if (holds || local_[consumer.target].first > now_) break;
                uint32_t slot = local_[consumer.target].slot;
                if (bit(slot)) break;
                set(slot);
                events_.push_back({consumer.target, false});
                for (uint32_t input : local_[consumer.target].inputs) doubtful_.push_back(input);
                break;
            }
            case Role::Assert:
                if (!holds) return false;
                break;
            case Role::Query:
                if (holds || bit(QUERY)) break;
                set(QUERY);
                doubtful_.insert(doubtful_.end(), query_inputs_.begin(), query_inputs_.end());
                break;
            case Role::Evidence:
                if (holds || bit(EVIDENCE)) break;
                set(EVIDENCE);
                doubtful_.insert(doubtful_.end(), query_inputs_.begin(), query_inputs_.end());
                doubtful_.insert(doubtful_.end(), evidence_inputs_.begin(), evidence_inputs_.end());
                break;
            case Role::Undefined:
                if (holds && (value || !local_[gate].conjunction))
                    raised_.push_back(consumer.target);
                break;
            }
        }
        return true;
    }

    // A false gate makes its element undefined only when it closes: one step for all entries.
    void raise(uint32_t gate) {
        for (const Consumer &consumer : local_[gate].consumers)
            if (consumer.role == Role::Undefined && consumer.negated)
                raised_.push_back(consumer.target);
    }

    // Mark open gates that nobody waits for any more, so that equal futures look equal.
    void forget(uint32_t s) {
        while (!doubtful_.empty()) {
            uint32_t gate = doubtful_.back();
            doubtful_.pop_back();
            const LocalGate &mine = local_[gate];
            visits_ += 1 + mine.consumers.size();
            if (mine.first > s || mine.last <= s || bit(mine.slot) || matters(mine)) continue;
            set(mine.slot);
            doubtful_.insert(doubtful_.end(), mine.inputs.begin(), mine.inputs.end());
        }
    }

    bool matters(const LocalGate &gate) const {
        for (const Consumer &consumer : gate.consumers) switch (consumer.role) {
            case Role::Gate:
                if (local_[consumer.target].first > now_ || !bit(local_[consumer.target].slot))
                    return true;
                break;
            case Role::Query:
                if (!bit(QUERY) && !bit(EVIDENCE)) return true;
                break;
            case Role::Evidence:
                if (!bit(EVIDENCE)) return true;
                break;
            default:
                return true;
            }
        return false;
    }
};

}  // namespace

std::vector<uint32_t> compile_tables(const Job &job, const std::vector<Input> &order) {
    // Without atoms that may be undefined all that is left of lstable is counting.
    bool least = job.mode == Mode::Least && !job.part.undefined.empty();
    Mode mode = job.mode == Mode::Least && !least ? Mode::Counts : job.mode;
    std::vector<uint32_t> roots;
    for (const Ask &ask : job.asks) roots.push_back(Tables(job, order, ask, mode).compile());
    return roots;
}

}  // namespace dpasp
