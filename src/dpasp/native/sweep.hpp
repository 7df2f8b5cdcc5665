// Reading the inputs of a part one by one, in an order, and what must be remembered of them.
//
// A gate is *open* after its first and before its last input is read; only one bit of an open gate
// matters: whether it is already false (or cannot matter any more). An *entry* of a table stands
// for assignments of the guesses read so far that are still possible: the bits of the open gates,
// whether query and evidence can still hold, and (lstable) which atoms are undefined.
#pragma once

#include <cstring>

#include "ways.hpp"

namespace dpasp {

using Word = uint64_t;

// Entries of equal width, one after the other: bits, then (lstable) an undefined set, then
// (maxent, lstable) a count.
struct Table {
    std::vector<Word> words;
    uint32_t count = 0;
    uint32_t elements = 0;  // lstable: how many elements undefined sets are made of

    bool same(const Table &o) const {
        return count == o.count && elements == o.elements && words == o.words;
    }
};

inline void put_count(Word *at, double count) { std::memcpy(at, &count, 8); }
inline double get_count(const Word *at) {
    double count = 0;
    std::memcpy(&count, at, 8);
    return count;
}
// Divides counts by a common factor, so that equal proportions become equal numbers. Returns the
// factor.
double to_one_scale(std::vector<double> &counts);

inline uint32_t set_words(uint32_t elements) { return (elements + 63) / 64; }

// The layout of entries, and the normal form of tables.
struct Entries {
    // The first bits of an entry say whether the query and the evidence are already violated.
    static constexpr uint32_t QUERY = 0, EVIDENCE = 1, FIRST_SLOT = 2;

    Mode mode;
    uint32_t words = 1;  // of bits

    bool counting() const { return mode != Mode::Bits; }
    uint32_t stride(uint32_t elements) const {
        return words + (mode == Mode::Least ? set_words(elements) : 0) + counting();
    }

    Table first() const;  // the table of the empty prefix
    // Brings a table to its normal form; returns what the counts were divided by.
    double tidy(Table &table) const;
    void sort(Table &table) const;  // merges equal entries, adding up their counts
    Key hash(const Table &table) const;
    Value value(const Table &table) const;  // which models there are, after all inputs

  private:
    void minimise(Table &table) const;
    void rename(Table &table) const;
    double rescale(Table &table) const;
};

class Sweep {
  public:
    // Throws Stopped(Size) if too many gates are open at a time.
    Sweep(const Job &job, const std::vector<Input> &order, const Ask &ask, Mode mode);

    // The table after the input of step s takes a value (or, for a guess, either value); it is not
    // yet tidy, and empty if nothing is possible.
    Table follow(uint32_t s, const Table &table, uint32_t value);
    Table guess(uint32_t s, const Table &table);
    Table next(uint32_t s, const Table &table, uint32_t value) {
        return order_[s].choice ? follow(s, table, value) : guess(s, table);
    }
    // The number of successors of a table: one for each value of a choice, or one for a guess.
    uint32_t values(uint32_t s) const {
        return order_[s].choice ? gates_.choices[order_[s].id].values : 1;
    }
    // The work since the last call.
    uint64_t work(const Table &result);

    Entries entries;

  private:
    static constexpr uint32_t QUERY = Entries::QUERY, EVIDENCE = Entries::EVIDENCE;

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
    struct Event {
        uint32_t gate;
        bool value;
    };

    const Gates &gates_;
    const Part &part_;
    const std::vector<Input> &order_;
    Watch &watch_;

    std::vector<LocalGate> local_;
    std::vector<std::vector<uint32_t>> closing_, opening_, elements_;  // by step
    std::vector<std::vector<std::pair<uint32_t, uint32_t>>> read_;     // by step: local, value
    std::vector<uint32_t> query_inputs_, evidence_inputs_;
    bool patient_ = false;  // whether only open consumers learn at once that a gate is false

    // Of the entry that is being read:
    uint32_t now_ = 0;  // the step
    std::vector<Event> events_;
    std::vector<uint32_t> doubtful_;  // gates that may no longer matter
    Word *bits_ = nullptr;
    std::vector<uint32_t> raised_;  // elements found undefined in this step
    size_t visits_ = 0;             // of consumers, not yet charged

    void prepare(const Ask &ask);
    void root(Lit lit, Consumer consumer);
    void time_gates();
    void time_conjunction(LocalGate &mine, uint32_t gate);
    void place_slots();

    void begin(uint32_t s, const Table &table, Table &result) const;
    void step(uint32_t s, const Table &table, uint32_t entry, uint32_t value, Table &result);
    bool run(uint32_t s, uint32_t value);
    bool drain();
    bool feed(uint32_t gate, bool value);
    void raise(uint32_t gate);
    void forget(uint32_t s);
    bool matters(const LocalGate &gate) const;

    bool bit(uint32_t slot) const { return bits_[slot >> 6] >> (slot & 63) & 1; }
    void set(uint32_t slot) { bits_[slot >> 6] |= Word(1) << (slot & 63); }
    void clear(uint32_t slot) { bits_[slot >> 6] &= ~(Word(1) << (slot & 63)); }
};

// By step and value: the probability of the value; 1 for a guess.
using StepWeights = std::vector<std::vector<double>>;

// The entries of all tables that a sweep can reach, step by step.
//
// Entries with the same future are one *class*: all values of later inputs lead from them to the
// same classes, equally often. For example, interchangeable colours are one class. A prefix of the
// choices is a vector of counts over classes, and so is a suffix: their product is the number of
// models with both.
class Automaton {
  public:
    struct Move {
        uint32_t to;   // a class of the next step
        double count;  // how often
        bool operator==(const Move &o) const { return to == o.to && count == o.count; }
    };
    struct Span {
        const Move *first, *last;
        const Move *begin() const { return first; }
        const Move *end() const { return last; }
    };
    // The classes at the end: query and evidence hold; only the evidence holds.
    static constexpr uint32_t QUERY_HOLDS = 0, QUERY_FAILS = 1, ENDS = 2;

    // Values of weight 0 lead nowhere.
    Automaton(Sweep sweep, const StepWeights &weights, Budget &budget);

    // Whether any total choice has a model with the evidence; then class 0 is the first one.
    bool possible() const { return classes(0) > 0; }
    uint32_t classes(size_t step) const {
        return step < layers_.size() ? layers_[step].classes : ENDS;
    }
    // The moves from a class by a value of a step.
    Span moves(size_t step, uint32_t from, uint32_t value) const {
        return layers_[step].span(from, value);
    }
    size_t moves(size_t step) const { return layers_[step].moves.size(); }

  private:
    struct Layer {
        uint32_t classes = 0, values = 1;
        std::vector<size_t> begin{0};  // by class and value: where the moves begin; and the end
        std::vector<Move> moves;

        Span span(uint32_t from, uint32_t value) const {
            const size_t *at = &begin[size_t(from) * values + value];
            return {moves.data() + at[0], moves.data() + at[1]};
        }
        void close() { begin.push_back(moves.size()); }
    };
    struct Found {
        uint32_t from, to;  // entries of two steps
    };
    std::vector<Layer> layers_;

    std::vector<uint32_t> read(Sweep &sweep, const StepWeights &weights, Budget &budget);
    static Layer arrange(uint32_t entries, const std::vector<std::vector<Found>> &found);
    static Key describe(const Layer &old, uint32_t entry, const std::vector<uint32_t> &next,
                        Layer &layer);
    static Layer merge(const Layer &old, std::vector<uint32_t> &next);
};

}  // namespace dpasp
