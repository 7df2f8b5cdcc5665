// The search: a part of a problem as clauses, their simplification, propagation and components.
//
// A literal is 2 * variable, plus 1 if negated, as for gates; variable 0 is true.
#pragma once

#include "tuning.hpp"
#include "ways.hpp"

namespace dpasp {

using Clause = std::vector<Lit>;

// A variable is a value of a choice, a determined gate, or one that models may disagree on.
enum class Role : uint8_t { Choice, Determined, Inner };

struct Variable {
    Role role = Role::Determined;
    bool kept = true;    // must not be eliminated: it has a weight, is counted or asked for
    bool whole = false;  // a choice of two values, whose weights sum to 1
    bool gone = false;   // fixed, or replaced by another
};

// The values of a choice with more than two, as literals of which exactly one holds.
struct Group {
    std::vector<Lit> values;
    int32_t first, end;  // the leaf weights of the choice
    bool whole = false;  // all values, with no other weights: they sum to 1
};

struct Formula {
    static constexpr uint32_t NO_GROUP = UINT32_MAX;

    std::vector<Variable> variables;
    std::vector<Clause> clauses;
    std::vector<std::vector<Edge>> weights;  // by literal: factors that apply if it holds
    std::vector<Group> groups;
    std::vector<uint32_t> group;  // by variable, once the formula is simplified
    bool possible = true;         // false: no assignment satisfies the clauses

    // The literal for one of the problem, perhaps TRUE_LIT or FALSE_LIT.
    Lit of(Lit lit) const {
        Lit own = place[gate_of(lit)];
        return negated(lit) ? negate(own) : own;
    }
    std::vector<Lit> place;  // by gate, or by variable while the formula is being simplified
};

// The clauses of the assertions, of `evidence`, which is asserted too, and of everything that they
// and `asked` depend on. Choices of more than two values have a variable for each that occurs.
Formula read_formula(const Job &job, const std::vector<Lit> &evidence,
                     const std::vector<Lit> &asked);

// Removes units, equivalent literals, subsumed clauses and literals, failed literals, and variables
// that are not kept, if resolution does not make more clauses. The weighted count stays the same.
void simplify(Formula &formula, Budget &budget, Watch &watch);

// Unit propagation over clauses, with clauses learnt from conflicts.
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
    // False at a conflict; then `learn` must be called next.
    bool propagate();
    // Learns a clause from the last conflict and goes back one level; false if there is none left.
    // The clause then has one open literal, which `settle` makes true.
    bool learn();
    // Asserts what was learnt at the present level; false at a conflict.
    bool settle();
    void back();

    uint64_t work = 0;  // literals and clauses that were visited
    bool contradictory = false;

  private:
    static constexpr uint32_t NO_REASON = UINT32_MAX, BINARY = uint32_t(1) << 31;
    struct Watcher {
        uint32_t clause;
        Lit blocker;
    };
    struct Learnt {
        uint32_t clause;  // where its literals start
        uint32_t levels;  // the number of levels of its literals
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
    size_t most_learnt_ = tuning::SEARCH_LEARNT;
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

// Open variables, and the unsatisfied clauses of three or more literals that contain some of them;
// both are sorted slices of one stack.
struct Component {
    size_t variables, clauses, end;
    bool outer = false;  // contains a choice
    bool asked = false;  // contains something that is asked for
};

// What remains of clauses under an assignment, in independent components.
class Components {
  public:
    Components(const Formula &formula, const Propagation &assigned);

    const uint32_t *at(size_t place) const { return stack_.data() + place; }
    size_t top() const { return stack_.size(); }
    void drop(size_t top) { stack_.resize(top); }

    // All variables that count.
    Component whole(const std::vector<uint8_t> &asked);
    // The components of what is still open in another one; `free` gets each variable that is in no
    // clause any more.
    template <class Free>
    void split(const Component &from, const std::vector<uint8_t> &asked,
               std::vector<Component> &found, Free free);
    // Visits each variable of a component with the number of clauses that contain it.
    template <class Visit> void frequencies(const Component &of, Visit visit);

    uint64_t work = 0;

  private:
    // The clauses of a variable. Those of two literals are the other variable, those of three are a
    // number and two literals, longer ones are a number and the place of the literals.
    struct Links {
        uint32_t pairs, triples, longer, end;
    };

    const Formula &formula_;
    const Propagation &assigned_;
    std::vector<Links> links_;      // by variable
    std::vector<uint32_t> linked_;  // their contents
    std::vector<Lit> literals_;     // of longer clauses: the size before them
    std::vector<uint32_t> clause_;  // by number: where its literals are in literals_
    std::vector<uint32_t> stack_;
    std::vector<uint32_t> variable_part_, clause_part_;  // which component, in this round
    std::vector<uint32_t> variable_round_, clause_round_;
    uint32_t round_ = 0;
    std::vector<uint32_t> todo_;
    std::vector<uint32_t> count_;  // by variable
    struct Size {
        size_t variables, clauses;
    };
    std::vector<Size> sizes_;
    std::vector<size_t> next_;

    void visit(uint32_t variable, uint32_t part, Size &size);
};

// Remembers the values of components; whole descriptions are compared.
class Memory {
  public:
    explicit Memory(size_t most) : most_(most), first_(1 << 12, NONE) {}

    // Makes the key of a component for the next calls. `kind` distinguishes what is asked of it.
    void describe(const Components &components, const Component &of, uint32_t kind);
    static constexpr uint32_t NONE = UINT32_MAX;
    // Its value; NONE if it is not known.
    uint32_t find();
    // The last key, to be stored later.
    struct Described {
        std::vector<uint8_t> bytes;
        uint64_t hash;
    };
    Described take() const { return {bytes_, hash_}; }
    void store(const Described &key, uint32_t value);

    // The time of storing: what was stored later can be forgotten.
    uint64_t now() const { return clock_; }
    void forget_since(uint64_t time);

  private:
    struct Entry {
        uint64_t hash, time, used;
        size_t start;
        uint32_t size, value, next;
    };

    size_t most_;
    std::vector<uint32_t> first_;  // by hash
    std::vector<Entry> entries_;
    std::vector<uint8_t> keys_;
    uint64_t clock_ = 0;
    std::vector<uint8_t> bytes_;
    uint64_t hash_ = 0;

    void shrink();
    void rehash(size_t slots);
};

// A tree decomposition of the clauses: for each variable, the distance from the middle of the tree
// at which it first occurs, from 0 to 1.
struct TreeDepths {
    std::vector<double> depth;
    uint32_t width = 0;
};
TreeDepths tree_depths(const Formula &formula, Budget &budget, Watch &watch);

template <class Free>
void Components::split(const Component &from, const std::vector<uint8_t> &asked,
                       std::vector<Component> &found, Free free) {
    if (++round_ == 0) {
        std::fill(variable_round_.begin(), variable_round_.end(), 0);
        std::fill(clause_round_.begin(), clause_round_.end(), 0);
        round_ = 1;
    }
    sizes_.clear();
    for (size_t i = from.variables; i < from.clauses; ++i) {
        uint32_t variable = stack_[i];
        if (!assigned_.open(variable) || variable_round_[variable] == round_) continue;
        Size size{0, 0};
        visit(variable, uint32_t(sizes_.size()), size);
        if (size.variables > 1) {
            sizes_.push_back(size);
        } else {
            variable_part_[variable] = UINT32_MAX;
            free(variable);
        }
    }
    size_t first = found.size(), end = stack_.size();
    for (const Size &size : sizes_) {
        found.push_back({end, end + size.variables, end + size.variables + size.clauses});
        end = found.back().end;
    }
    if (sizes_.empty()) return;
    stack_.resize(end);
    std::vector<size_t> &next = next_;
    next.clear();
    for (size_t i = first; i < found.size(); ++i) next.push_back(found[i].variables);
    for (size_t i = from.variables; i < from.clauses; ++i) {
        uint32_t variable = stack_[i];
        if (variable_round_[variable] != round_ || variable_part_[variable] == UINT32_MAX) continue;
        uint32_t part = variable_part_[variable];
        stack_[next[part]++] = variable;
        Component &own = found[first + part];
        own.outer = own.outer || formula_.variables[variable].role == Role::Choice;
        own.asked = own.asked || asked[variable];
    }
    for (size_t i = from.clauses; i < from.end; ++i)
        if (clause_round_[stack_[i]] == round_ && clause_part_[stack_[i]] != UINT32_MAX)
            stack_[next[clause_part_[stack_[i]]]++] = stack_[i];
    work += (from.end - from.variables) / 4;
}

template <class Visit> void Components::frequencies(const Component &of, Visit tell) {
    for (size_t i = of.variables; i < of.clauses; ++i) {
        const Links &links = links_[stack_[i]];
        uint32_t pairs = 0;
        for (uint32_t at = links.pairs; at < links.triples; ++at)
            pairs += assigned_.open(linked_[at]);
        count_[stack_[i]] = pairs;
        work += (links.triples - links.pairs) / 2 + 1;
    }
    for (size_t i = of.clauses; i < of.end; ++i) {
        const Lit *lits = literals_.data() + clause_[stack_[i]];
        for (uint32_t k = 0; k < lits[-1]; ++k) ++count_[gate_of(lits[k])];
        work += lits[-1] / 2;
    }
    for (size_t i = of.variables; i < of.clauses; ++i) tell(stack_[i], count_[stack_[i]]);
}

}  // namespace dpasp
