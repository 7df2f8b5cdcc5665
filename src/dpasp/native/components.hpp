// What is left of clauses under an assignment, in independent components, and what is known of
// those that were met before.
#pragma once

#include <cstdint>
#include <vector>

#include "propagation.hpp"

namespace dpasp {

// Open variables, and the numbers of the clauses of three literals and more that hold some of them
// and are not satisfied; both in order, as slices of one stack.
struct Component {
    size_t variables, clauses, end;
    bool outer = false;  // it holds a choice
    bool asked = false;  // it holds something that is asked for
};

class Components {
  public:
    Components(const Formula &formula, const Propagation &assigned);

    const uint32_t *at(size_t place) const { return stack_.data() + place; }
    size_t top() const { return stack_.size(); }
    void drop(size_t top) { stack_.resize(top); }

    // All variables that count.
    Component whole(const std::vector<uint8_t> &asked);
    // The components of what is open of another one; variables that no clause mentions any more
    // are told one by one.
    template <class Free>
    void split(const Component &from, const std::vector<uint8_t> &asked,
               std::vector<Component> &found, Free free);
    // How many clauses mention each variable of a component, told one by one.
    template <class Visit> void frequencies(const Component &of, Visit visit);

    uint64_t work = 0;

  private:
    // The clauses of a variable: those of two literals as the other variable, of three as a number
    // and two literals, longer ones as a number and the place of the literals.
    struct Links {
        uint32_t pairs, triples, longer, end;
    };

    const Formula &formula_;
    const Propagation &assigned_;
    std::vector<Links> links_;      // by variable
    std::vector<uint32_t> linked_;  // what they say
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

// Remembers the values of components, by what they are: the whole of it is compared.
class Memory {
  public:
    explicit Memory(size_t most) : most_(most), first_(1 << 12, NONE) {}

    // The key of a component, for what follows. `kind` tells apart what is asked of it.
    void describe(const Components &components, const Component &of, uint32_t kind);
    static constexpr uint32_t NONE = UINT32_MAX;
    // Its value; NONE if it is not known.
    uint32_t find();
    // Keeps the key that was described last, to be stored later.
    struct Described {
        std::vector<uint8_t> bytes;
        uint64_t hash;
    };
    Described take() const { return {bytes_, hash_}; }
    void store(const Described &key, uint32_t value);

    // When things were stored: what came later can be forgotten.
    uint64_t now() const { return clock_; }
    void forget_since(uint64_t time);

    uint64_t hits = 0, misses = 0;

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

// A tree decomposition of the clauses: by variable, how far from the middle of the tree it is met
// first, from 0 to 1.
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
