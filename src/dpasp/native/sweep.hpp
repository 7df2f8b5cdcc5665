// Reading the inputs of a part one by one, in an order, and what is remembered of them.
//
// A gate is open from when its first input is read until its last is; of an open gate only one
// bit matters: whether it is already false (or can no longer matter). An *entry* of a table is
// one assignment of the guesses read so far that is still possible: the bits of the open gates,
// whether query and evidence still hold, and (lstable) which atoms are undefined.
#pragma once

#include <vector>

#include "entries.hpp"
#include "ways.hpp"

namespace dpasp {

class Sweep {
  public:
    // Stopped(Size) if more gates are open at a time than a table may hold.
    Sweep(const Job &job, const std::vector<Input> &order, const Ask &ask, Mode mode);

    // What a table becomes when the input of step s takes a value (or, for a guess, either of
    // its two); not yet tidy, and empty where it becomes impossible.
    Table follow(uint32_t s, const Table &table, uint32_t value);
    Table guess(uint32_t s, const Table &table);
    Table next(uint32_t s, const Table &table, uint32_t value) {
        return order_[s].choice ? follow(s, table, value) : guess(s, table);
    }
    // How many ways on a step has: the values of a choice, or one for a guess.
    uint32_t values(uint32_t s) const {
        return order_[s].choice ? gates_.choices[order_[s].id].values : 1;
    }
    // Work that was done since this was asked last.
    uint64_t work(const Table &result);

    Entries entries;

  private:
    static constexpr uint32_t QUERY = Entries::QUERY, EVIDENCE = Entries::EVIDENCE;
    static constexpr uint32_t WIDE = 16;  // words

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
    bool patient_ = false;  // false gates are told to consumers that are open, the rest later

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

}  // namespace dpasp
