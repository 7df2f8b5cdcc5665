#include "sweep.hpp"

#include "tuning.hpp"

namespace dpasp {

Sweep::Sweep(const Job &job, const std::vector<Input> &order, const Ask &ask, Mode mode)
    : entries{mode}, gates_(job.problem.gates), part_(job.part), order_(order), watch_(job.watch) {
    prepare(ask);
}

uint64_t Sweep::work(const Table &result) {
    uint64_t units = 5 + result.words.size() / 3 + visits_ / 40;
    visits_ = 0;
    return units;
}

void Sweep::prepare(const Ask &ask) {
    local_.resize(part_.gates.size());
    for (Lit lit : part_.asserted) root(lit, {Role::Assert, negated(lit), 0});
    for (Lit lit : ask.query) root(lit, {Role::Query, negated(lit), 0});
    for (Lit lit : ask.evidence) root(lit, {Role::Evidence, negated(lit), 0});
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
    if (entries.words <= tuning::EAGER_WORDS) return;
    // If too many gates could become false early, they do so only when their inputs close.
    patient_ = true;
    time_gates();
    place_slots();
    if (64 * entries.words > tuning::WIDEST_TABLE)
        throw Stopped(Reason::Size, "tables that are too wide");
}

void Sweep::root(Lit lit, Consumer consumer) {
    LocalGate &gate = local_[part_.place(lit)];
    gate.relevant = true;
    gate.consumers.push_back(consumer);
}

void Sweep::time_gates() {
    InputPlaces steps(order_);
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
            time_conjunction(mine, g);
            closing_[mine.last].push_back(i);
            opening_[mine.first].push_back(i);
        } else {
            uint32_t s = mine.first = mine.last = steps.of(gates_, g);
            read_[s].emplace_back(i, gate.kind == Kind::Value ? gate.second : 0);
        }
        for (const Consumer &consumer : mine.consumers) {
            if (consumer.role == Role::Undefined) elements_[mine.last].push_back(consumer.target);
            if (gate.kind != Kind::And) continue;
            if (consumer.role == Role::Query) query_inputs_.push_back(i);
            if (consumer.role == Role::Evidence) evidence_inputs_.push_back(i);
        }
    }
}

// Finds the steps between which an AND gate is open, and its inputs that are AND gates.
void Sweep::time_conjunction(LocalGate &mine, uint32_t gate) {
    mine.conjunction = true;
    mine.first = UINT32_MAX;
    mine.last = 0;
    mine.inputs.clear();
    for (const Lit *in = gates_.begin(gate); in != gates_.end(gate); ++in) {
        uint32_t j = part_.place(*in);
        uint32_t told = patient_ ? local_[j].last : local_[j].first;
        mine.first = std::min(mine.first, told);
        mine.last = std::max(mine.last, local_[j].last);
        if (gates_.gates[gate_of(*in)].kind == Kind::And) mine.inputs.push_back(j);
    }
}

void Sweep::place_slots() {
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
    entries.words = (next + 63) / 64;
}

Table Sweep::follow(uint32_t s, const Table &table, uint32_t value) {
    Table result;
    begin(s, table, result);
    for (uint32_t i = 0; i < table.count; ++i) step(s, table, i, value, result);
    return result;
}

Table Sweep::guess(uint32_t s, const Table &table) {
    Table result;
    begin(s, table, result);
    for (uint32_t i = 0; i < table.count; ++i)
        for (uint32_t v = 0; v < 2; ++v) step(s, table, i, v, result);
    return result;
}

void Sweep::begin(uint32_t s, const Table &table, Table &result) const {
    result.elements = table.elements + uint32_t(elements_[s].size());
    result.words.reserve(size_t(table.count + 1) * entries.stride(result.elements));
}

void Sweep::step(uint32_t s, const Table &table, uint32_t entry, uint32_t value, Table &result) {
    watch_.check();
    uint32_t from = entries.stride(table.elements), to = entries.stride(result.elements);
    const Word *old = table.words.data() + size_t(entry) * from;
    size_t offset = result.words.size();
    result.words.resize(offset + to, 0);
    bits_ = result.words.data() + offset;
    std::copy_n(old, entries.words, bits_);
    if (entries.mode == Mode::Least)
        std::copy_n(old + entries.words, set_words(table.elements), bits_ + entries.words);
    if (entries.counting()) bits_[to - 1] = old[from - 1];
    raised_.clear();
    if (!run(s, value)) {
        result.words.resize(offset);
        return;
    }
    for (uint32_t element : raised_) {
        uint32_t column = 0;
        while (elements_[s][column] != element) ++column;
        column += table.elements;
        bits_[entries.words + column / 64] |= Word(1) << (column % 64);
    }
    if (++result.count == UINT32_MAX)  // entries are numbered
        throw Stopped(Reason::Size, "a table of more entries than were allowed");
}

// Feeds the value read at step s into an entry; false if the entry becomes impossible.
bool Sweep::run(uint32_t s, uint32_t value) {
    events_.clear();
    doubtful_.clear();
    now_ = s;
    for (auto &[gate, when] : read_[s]) {
        bool truth = order_[s].choice ? when == value : value == 1;
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

bool Sweep::drain() {
    while (!events_.empty()) {
        Event event = events_.back();
        events_.pop_back();
        if (!feed(event.gate, event.value)) return false;
    }
    return true;
}

bool Sweep::feed(uint32_t gate, bool value) {
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
            if (holds && (value || !local_[gate].conjunction)) raised_.push_back(consumer.target);
            break;
        }
    }
    return true;
}

// A false gate makes its element undefined only when it closes, at the same step for all entries.
void Sweep::raise(uint32_t gate) {
    for (const Consumer &consumer : local_[gate].consumers)
        if (consumer.role == Role::Undefined && consumer.negated)
            raised_.push_back(consumer.target);
}

// Marks open gates that do not matter any more, so that equal futures look equal.
void Sweep::forget(uint32_t s) {
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

bool Sweep::matters(const LocalGate &gate) const {
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

namespace {

constexpr uint32_t NOWHERE = UINT32_MAX;  // in place of a class: no model comes of it

// The distinct entries of a step, in the order of their first occurrence.
class EntrySet {
  public:
    explicit EntrySet(uint32_t width) : width_(width) {}

    uint32_t add(const Word *bits) {
        Key key{width_, 0x5bd1e995u};
        for (uint32_t w = 0; w < width_; ++w) key.mix_in(bits[w]);
        auto [number, fresh] = known_.find(key, count_, [&](uint32_t other) {
            return std::equal(bits, bits + width_, at(other));
        });
        if (fresh) {
            words_.insert(words_.end(), bits, bits + width_);
            ++count_;
        }
        return number;
    }
    const Word *at(uint32_t entry) const { return words_.data() + size_t(entry) * width_; }
    uint32_t size() const { return count_; }
    uint32_t width() const { return width_; }

  private:
    uint32_t width_, count_ = 0;
    std::vector<Word> words_;
    Catalogue known_;
};

// All entries as one table with their numbers in place of counts, to keep track of each of them.
Table numbered(const EntrySet &entries) {
    Table table;
    table.count = entries.size();
    table.words.reserve(size_t(entries.size()) * (entries.width() + 1));
    for (uint32_t e = 0; e < entries.size(); ++e) {
        table.words.insert(table.words.end(), entries.at(e), entries.at(e) + entries.width());
        table.words.push_back(0);
        put_count(&table.words.back(), e);
    }
    return table;
}

// Sorts the moves from `first` on, and merges those to the same class.
void gather(std::vector<Automaton::Move> &moves, size_t first) {
    auto begin = moves.begin() + ptrdiff_t(first), last = begin;
    std::sort(begin, moves.end(), [](const auto &a, const auto &b) { return a.to < b.to; });
    for (auto it = begin; it != moves.end(); ++it) {
        if (last != begin && last[-1].to == it->to)
            last[-1].count += it->count;
        else
            *last++ = *it;
    }
    moves.erase(last, moves.end());
}

}  // namespace

Automaton::Automaton(Sweep sweep, const StepWeights &weights, Budget &budget)
    : layers_(weights.size()) {
    std::vector<uint32_t> classes = read(sweep, weights, budget);
    for (size_t s = layers_.size(); s-- > 0;) {
        budget.charge(1 + layers_[s].moves.size() / 2);
        layers_[s] = merge(layers_[s], classes);
    }
}

// Reads layer after layer, where every entry is a class; returns the classes of the last one.
std::vector<uint32_t> Automaton::read(Sweep &sweep, const StepWeights &weights, Budget &budget) {
    uint32_t width = sweep.entries.words;
    EntrySet entries(width);
    entries.add(sweep.entries.first().words.data());
    for (size_t s = 0; s < layers_.size(); ++s) {
        EntrySet next(width);
        std::vector<std::vector<Found>> found;
        Table table = numbered(entries);
        for (uint32_t v = 0; v < weights[s].size(); ++v) {
            found.emplace_back();
            if (weights[s][v] == 0) continue;
            Table reached = sweep.next(uint32_t(s), table, v);
            budget.charge(sweep.work(reached) + 2 * reached.count);
            for (uint32_t i = 0; i < reached.count; ++i) {
                const Word *entry = reached.words.data() + size_t(i) * (width + 1);
                if (entry[0] >> Entries::EVIDENCE & 1) continue;
                found[v].push_back({uint32_t(get_count(entry + width)), next.add(entry)});
            }
        }
        if (next.size() > budget.nodes)
            throw Stopped(Reason::Size, "tables of more entries than were allowed");
        layers_[s] = arrange(entries.size(), found);
        entries = std::move(next);
    }
    std::vector<uint32_t> ends;
    for (uint32_t e = 0; e < entries.size(); ++e) {
        bool query = !(entries.at(e)[0] >> Entries::QUERY & 1);
        ends.push_back(query ? QUERY_HOLDS : QUERY_FAILS);
    }
    return ends;
}

// Sorts what was found by entry, then by value.
Automaton::Layer Automaton::arrange(uint32_t entries,
                                    const std::vector<std::vector<Found>> &found) {
    Layer layer;
    layer.classes = entries;
    layer.values = uint32_t(found.size());
    std::vector<size_t> next(found.size(), 0);
    for (uint32_t e = 0; e < entries; ++e)
        for (size_t v = 0; v < found.size(); ++v, layer.close())
            for (; next[v] < found[v].size() && found[v][next[v]].from == e; ++next[v])
                layer.moves.push_back({found[v][next[v]].to, 1.0});
    return layer;
}

// Appends the moves of an entry to a layer, as if it were a class.
Key Automaton::describe(const Layer &old, uint32_t entry, const std::vector<uint32_t> &next,
                        Layer &layer) {
    Key key{0, 0x5bd1e995u};
    for (uint32_t v = 0; v < layer.values; ++v, layer.close()) {
        size_t begin = layer.moves.size();
        for (const Move &move : old.span(entry, v))
            if (next[move.to] != NOWHERE) layer.moves.push_back({next[move.to], move.count});
        gather(layer.moves, begin);
        key.mix_in(layer.moves.size() - begin);
        for (size_t m = begin; m < layer.moves.size(); ++m) {
            Word count = 0;
            put_count(&count, layer.moves[m].count);
            key.mix_in(layer.moves[m].to), key.mix_in(count);
        }
    }
    return key;
}

// A step between classes. At first, `next` has the class of each entry after the step; then that of
// each entry before it.
Automaton::Layer Automaton::merge(const Layer &old, std::vector<uint32_t> &next) {
    Layer layer;
    layer.values = old.values;
    std::vector<uint32_t> classes(old.classes, NOWHERE);
    Catalogue known;
    auto same = [&](uint32_t other) {  // as the last one
        for (uint32_t v = 0; v < layer.values; ++v) {
            Span a = layer.span(layer.classes, v), b = layer.span(other, v);
            if (!std::equal(a.begin(), a.end(), b.begin(), b.end())) return false;
        }
        return true;
    };
    for (uint32_t entry = 0; entry < old.classes; ++entry) {
        size_t moves = layer.moves.size(), opened = layer.begin.size();
        Key key = describe(old, entry, next, layer);
        bool fresh = false;
        if (layer.moves.size() > moves)
            std::tie(classes[entry], fresh) = known.find(key, layer.classes, same);
        if (fresh) {
            ++layer.classes;
        } else {
            layer.moves.resize(moves);
            layer.begin.resize(opened);
        }
    }
    next = std::move(classes);
    return layer;
}

}  // namespace dpasp
