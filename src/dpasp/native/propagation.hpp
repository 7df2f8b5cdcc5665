// Unit propagation over clauses, and the clauses that conflicts teach.
#pragma once

#include <cstdint>
#include <vector>

#include "clauses.hpp"

namespace dpasp {

class Propagation {
  public:
    Propagation(size_t variables, const std::vector<Clause> &clauses);

    // 1 true, -1 false, 0 open.
    int value(Lit lit) const { return values_[lit]; }
    bool open(uint32_t variable) const { return !values_[2 * variable]; }
    uint32_t level() const { return uint32_t(starts_.size()); }
    const std::vector<Lit> &trail() const { return trail_; }
    double activity(uint32_t variable) const { return activity_[variable] / step_; }

    void decide(Lit lit) {
        starts_.push_back(uint32_t(trail_.size()));
        enqueue(lit, NO_REASON);
    }
    // False at a conflict; then `learn` before anything else is done.
    bool propagate();
    // Takes a clause from the last conflict and goes back one level, or gives false if there is
    // none left. The clause has one open literal then, which `settle` makes true.
    bool learn();
    // What was learnt, at the level where the search is now; false at a conflict.
    bool settle();
    void back();

    uint64_t work = 0;       // literals and clauses that were looked at
    uint64_t conflicts = 0;  // so far
    bool contradictory = false;

  private:
    static constexpr uint32_t NO_REASON = UINT32_MAX, BINARY = uint32_t(1) << 31;
    struct Watcher {
        uint32_t clause;
        Lit blocker;
    };
    struct Learnt {
        uint32_t clause;  // where its literals start
        uint32_t levels;  // how many different ones it had
    };

    std::vector<int8_t> values_;
    std::vector<uint32_t> levels_, reasons_;  // by variable; a reason is a clause or a literal
    std::vector<Lit> trail_;
    std::vector<uint32_t> starts_;  // by level
    size_t head_ = 0;
    std::vector<Lit> pool_;  // clauses: the size, then the literals
    std::vector<std::vector<Lit>> implied_;
    std::vector<std::vector<Watcher>> watchers_;
    std::vector<Learnt> learnt_;
    size_t most_learnt_ = 4000;
    std::vector<Lit> units_;  // learnt ones
    std::vector<uint8_t> unit_;
    std::vector<Lit> conflict_, clause_;
    Lit asserting_ = TRUE_LIT;
    uint32_t asserting_reason_ = NO_REASON;
    bool waiting_ = false;  // a learnt literal is not asserted yet
    std::vector<uint8_t> seen_;
    std::vector<double> activity_;
    double step_ = 1;

    void enqueue(Lit lit, uint32_t reason) {
        uint32_t variable = gate_of(lit);
        values_[lit] = 1, values_[negate(lit)] = -1;
        levels_[variable] = level();
        reasons_[variable] = reason;
        trail_.push_back(lit);
    }
    uint32_t add(const Clause &clause);
    void bump(uint32_t variable);
    bool redundant(Lit lit) const;
    template <class Visit> void antecedents(uint32_t reason, Lit implied, Visit visit) const;
    void forget();
};

}  // namespace dpasp
