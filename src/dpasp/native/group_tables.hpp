// The tables of groups: what rows come to under the states of the groups that they depend on.
#pragma once

#include <deque>
#include <map>

#include "network.hpp"

namespace dpasp {

// A row with its body read: for each group that it names, the states in which it holds.
struct Clause {
    std::vector<const Reading *> body;  // by group, each once
    bool possible = true;
    uint32_t choice = NONE;
    std::vector<std::vector<uint32_t>> heads;  // by value of the choice; without one, a single list
};

// The groups that clauses depend on, in order.
std::vector<uint32_t> parents(const std::vector<Clause> &clauses);
// Whether some clause draws a value of a choice.
bool drawn(const std::vector<Clause> &clauses);

// For every combination of the parents' states, the sets of heads that the choices of the clauses
// can draw, each with its weight.
struct Draws {
    using Set = std::vector<uint32_t>;  // heads that hold, in order

    std::vector<uint32_t> over;                      // the parents
    std::map<Set, uint32_t> states;                  // the sets that occur, numbered
    std::vector<std::pair<uint32_t, Edge>> entries;  // state and weight
    std::vector<uint32_t> ends;                      // by combination: where its entries end
    bool complete = true;                            // false: more sets occur than were allowed
};

// The network while its groups are being found: it reads literals, and makes groups of clauses.
class GroupTables {
  public:
    GroupTables(const Job &job, Arithmetic &arithmetic)
        : job_(job), gates_(job.problem.gates), arithmetic_(arithmetic),
          literals_(2 * job.part.gates.size(), nullptr) {}

    Network network;
    std::vector<uint32_t> choice_of;  // by group: the choice that it is, or NONE

    // Literals must be defined before they are read, but for those of choices.
    void define(Lit lit, const Reading *reading);
    const Reading *read(Lit lit);
    const Reading *value(uint32_t choice, uint32_t value);
    // Bodies as clauses, and one more literal of a body.
    Clause clause(const std::vector<Lit> &body);
    void add(Clause &clause, const Reading *reading);

    // Whether a table over these groups is little more than what the rows need one by one.
    bool compact(const std::vector<uint32_t> &over, const std::vector<Clause> &rows,
                 double few) const;
    Draws draw(const std::vector<Clause> &clauses, size_t most) const;
    // A new group with the states that were found, and where a head holds in it.
    uint32_t group(const Draws &found);
    const Reading *holding(const Draws &found, uint32_t group, uint32_t head);

    // The reading under which some clause holds, with groups between where there are too many
    // parents.
    const Reading *any(std::vector<Clause> rows);
    // A body that must not hold.
    void exclude(const std::vector<Lit> &body);
    // A table of weights as one over the groups of its literals.
    void weigh(const WeightTable &table);

  private:
    const Job &job_;
    const Gates &gates_;
    Arithmetic &arithmetic_;
    std::deque<Reading> pool_;
    std::vector<const Reading *> literals_;  // by place and sign
    std::unordered_map<uint32_t, uint32_t> choice_group_;

    const Reading *keep(Reading reading);
    const Reading *opposite(const Reading &reading);
    uint32_t new_group(uint32_t states, Factor table, uint32_t choice = NONE);
    uint32_t group_of(uint32_t choice);
    double combinations(const std::vector<uint32_t> &groups) const;
    const Reading *of_one(const std::vector<Clause> &rows, uint32_t group);
    const Reading *in_turn(std::vector<Clause> rows);
    const Reading *all(Clause row);
};

}  // namespace dpasp
