#include "search.hpp"

namespace dpasp {

Propagation::Propagation(size_t variables, const std::vector<Clause> &clauses)
    : values_(2 * variables, 0), levels_(variables, 0), reasons_(variables, NO_REASON),
      implied_(2 * variables), watchers_(2 * variables), unit_(variables, 0), seen_(variables, 0),
      activity_(variables, 0) {
    pool_.push_back(0);  // no clause starts at 0
    for (const Clause &clause : clauses) {
        if (clause.empty()) contradictory = true;
        if (clause.size() > 1) add(clause);
        if (clause.size() != 1) continue;
        if (value(clause[0]) < 0) contradictory = true;
        if (value(clause[0]) == 0) enqueue(clause[0], NO_REASON);
    }
    if (!contradictory && !propagate()) contradictory = true;
}

// Adds a clause; returns where its literals start, or 0 for clauses of two, which are kept apart.
uint32_t Propagation::add(const Clause &clause) {
    if (clause.size() == 2) {
        implied_[negate(clause[0])].push_back(clause[1]);
        implied_[negate(clause[1])].push_back(clause[0]);
        return 0;
    }
    if (pool_.size() + clause.size() + 1 >= BINARY)
        throw Stopped(Reason::Size, "more clauses than can be numbered");
    pool_.push_back(Lit(clause.size()));
    auto start = uint32_t(pool_.size());
    pool_.insert(pool_.end(), clause.begin(), clause.end());
    watchers_[clause[0]].push_back({start, clause[1]});
    watchers_[clause[1]].push_back({start, clause[0]});
    return start;
}

bool Propagation::propagate() {
    while (head_ < trail_.size()) {
        Lit lit = trail_[head_++], gone = negate(lit);
        for (Lit other : implied_[lit]) {
            if (values_[other] > 0) continue;
            if (values_[other] < 0) {
                conflict_ = {gone, other};
                return false;
            }
            enqueue(other, BINARY | gone);
        }
        auto &list = watchers_[gone];
        work += 1 + implied_[lit].size() + 2 * list.size();
        size_t kept = 0, i = 0;
        for (; i < list.size(); ++i) {
            Watcher watcher = list[i];
            if (values_[watcher.blocker] > 0) {
                list[kept++] = watcher;
                continue;
            }
            Lit *lits = pool_.data() + watcher.clause;
            if (lits[0] == gone) std::swap(lits[0], lits[1]);
            Lit first = lits[0];
            if (values_[first] > 0) {
                list[kept++] = {watcher.clause, first};
                continue;
            }
            Lit *end = lits + lits[-1], *free = lits + 2;
            while (free != end && values_[*free] < 0) ++free;
            if (free != end) {
                std::swap(lits[1], *free);
                watchers_[lits[1]].push_back({watcher.clause, first});
                continue;
            }
            list[kept++] = watcher;
            if (values_[first] < 0) {
                conflict_.assign(lits, end);
                while (++i < list.size()) list[kept++] = list[i];
                list.resize(kept);
                return false;
            }
            enqueue(first, watcher.clause);
        }
        list.resize(kept);
    }
    return true;
}

void Propagation::back() {
    for (size_t i = trail_.size(); i-- > starts_.back();)
        values_[trail_[i]] = values_[negate(trail_[i])] = 0;
    trail_.resize(starts_.back());
    head_ = trail_.size();
    starts_.pop_back();
}

void Propagation::bump(uint32_t variable) {
    activity_[variable] += step_;
    if (activity_[variable] < 1e200) return;
    for (double &one : activity_) one *= 1e-200;
    step_ *= 1e-200;
}

// Visits the literals that made a literal true (all false).
template <class Visit>
void Propagation::antecedents(uint32_t reason, Lit implied, Visit visit) const {
    if (reason == NO_REASON) return;
    if (reason & BINARY) return visit(reason & ~BINARY);
    const Lit *lits = pool_.data() + reason;
    for (const Lit *lit = lits; lit != lits + lits[-1]; ++lit)
        if (*lit != implied) visit(*lit);
}

// Whether a literal of a clause is implied by the others.
bool Propagation::redundant(Lit lit) const {
    uint32_t reason = reasons_[gate_of(lit)];
    if (reason == NO_REASON) return false;
    bool all = true;
    antecedents(reason, negate(lit), [&](Lit other) {
        uint32_t variable = gate_of(other);
        all = all && (seen_[variable] || levels_[variable] == 0 || unit_[variable]);
    });
    return all;
}

bool Propagation::learn() {
    if (contradictory || level() == 0) {
        if (level()) back();
        contradictory = true;
        return false;
    }
    clause_.assign(1, 0);
    std::vector<uint32_t> marked;
    uint32_t open = 0;
    auto mark = [&](Lit lit) {
        uint32_t variable = gate_of(lit);
        if (seen_[variable] || levels_[variable] == 0 || unit_[variable]) return;
        seen_[variable] = 1;
        marked.push_back(variable);
        bump(variable);
        if (levels_[variable] == level())
            ++open;
        else
            clause_.push_back(lit);
    };
    for (Lit lit : conflict_) mark(lit);
    size_t at = trail_.size();
    Lit turn = FALSE_LIT;
    while (open) {
        do --at;
        while (!seen_[gate_of(trail_[at])]);
        turn = trail_[at];
        if (--open == 0) break;
        antecedents(reasons_[gate_of(turn)], turn, mark);
    }
    work += 4 * marked.size();
    if (turn != FALSE_LIT) {
        clause_[0] = negate(turn);
        size_t kept = 1;
        for (size_t i = 1; i < clause_.size(); ++i)
            if (!redundant(clause_[i])) clause_[kept++] = clause_[i];
        clause_.resize(kept);
    } else {  // units alone contradict each other, or lower levels do
        clause_.erase(clause_.begin());
    }
    for (uint32_t variable : marked) seen_[variable] = 0;
    step_ *= tuning::SEARCH_RECENT;
    if (turn == FALSE_LIT) {
        if (clause_.empty()) contradictory = true;
        back();
        waiting_ = false;
        return !contradictory;
    }
    waiting_ = true;
    asserting_ = clause_[0];
    asserting_reason_ = NO_REASON;
    if (clause_.size() == 1) {
        units_.push_back(asserting_);
        unit_[gate_of(asserting_)] = 1;
    } else {
        // the second literal is one of the highest level
        auto highest = std::max_element(clause_.begin() + 1, clause_.end(), [&](Lit a, Lit b) {
            return levels_[gate_of(a)] < levels_[gate_of(b)];
        });
        std::iter_swap(clause_.begin() + 1, highest);
        std::vector<uint32_t> different;
        for (Lit lit : clause_) different.push_back(levels_[gate_of(lit)]);
        std::sort(different.begin(), different.end());
        auto levels = std::unique(different.begin(), different.end()) - different.begin();
        uint32_t start = add(clause_);
        asserting_reason_ = start ? start : BINARY | clause_[1];
        if (start) learnt_.push_back({start, uint32_t(levels)});
    }
    back();
    return true;
}

bool Propagation::settle() {
    if (contradictory) return false;
    if (waiting_) {
        waiting_ = false;
        if (value(asserting_) < 0) {
            conflict_ = clause_;
            return false;
        }
        if (value(asserting_) == 0) enqueue(asserting_, asserting_reason_);
    }
    for (Lit unit : units_) {
        if (value(unit) < 0) {
            conflict_ = {unit};
            return false;
        }
        if (value(unit) == 0) enqueue(unit, NO_REASON);
    }
    if (!propagate()) return false;
    if (learnt_.size() > most_learnt_) forget();
    return true;
}

// Keeps the better half of the learnt clauses, and those that are reasons.
void Propagation::forget() {
    std::vector<uint8_t> reason(pool_.size(), 0);
    for (Lit lit : trail_) {
        uint32_t own = reasons_[gate_of(lit)];
        if (own != NO_REASON && !(own & BINARY)) reason[own] = 1;
    }
    std::vector<Learnt> order(learnt_);
    std::stable_sort(order.begin(), order.end(),
                     [](const Learnt &a, const Learnt &b) { return a.levels < b.levels; });
    std::vector<uint8_t> gone(pool_.size(), 0);
    for (size_t i = order.size() / 2; i < order.size(); ++i)
        if (order[i].levels > 2 && !reason[order[i].clause]) gone[order[i].clause] = 1;
    for (auto &list : watchers_)
        list.erase(std::remove_if(list.begin(), list.end(),
                                  [&](const Watcher &w) { return gone[w.clause]; }),
                   list.end());
    // Compacts the remaining clauses.
    std::vector<uint32_t> place(pool_.size(), 0);
    size_t to = 1;
    for (size_t from = 1; from < pool_.size();) {
        size_t size = pool_[from];
        if (!gone[from + 1]) {
            place[from + 1] = uint32_t(to + 1);
            std::copy(pool_.begin() + ptrdiff_t(from), pool_.begin() + ptrdiff_t(from + size + 1),
                      pool_.begin() + ptrdiff_t(to));
            to += size + 1;
        }
        from += size + 1;
    }
    pool_.resize(to);
    for (auto &list : watchers_)
        for (Watcher &w : list) w.clause = place[w.clause];
    for (Lit lit : trail_) {
        uint32_t &own = reasons_[gate_of(lit)];
        if (own != NO_REASON && !(own & BINARY)) own = place[own];
    }
    learnt_.erase(std::remove_if(learnt_.begin(), learnt_.end(),
                                 [&](const Learnt &one) { return gone[one.clause]; }),
                  learnt_.end());
    for (Learnt &one : learnt_) one.clause = place[one.clause];
    most_learnt_ += most_learnt_ / 10;
    work += place.size();
}

}  // namespace dpasp
