// A part without guesses as a network: heads with rows, groups with tables, and entries of tables.
#pragma once

#include <deque>

#include "ways.hpp"

namespace dpasp {

constexpr uint32_t NONE = UINT32_MAX;

struct Row {
    std::vector<Lit> body;
    uint32_t choice = NONE, value = 0;  // the value of a private choice that it needs, if any
};

// A literal that holds if one of the rows does.
struct Head {
    Lit lit;
    std::vector<Row> rows;
    uint32_t cluster;
};

// The gates of a part as heads with rows, which is how networks are written.
//
//     0.3::a(1); 0.7::a(2) :- b, c.          a(1) has a row with the body b, c and the first value
//     0.6::a(1); 0.4::a(2) :- b, not c.      of one choice, and one with that of another choice
//
// A choice that occurs only like this, with one body, is *private*: given the body it draws one of
// its heads, otherwise it does not matter. Heads that share private choices are a cluster.
struct Heads {
    std::vector<Head> heads;                 // in an order without forward dependencies
    std::vector<uint32_t> of_gate;           // by place of a gate: its head, or NONE
    std::vector<std::vector<Lit>> excluded;  // conjunctions that must not hold
    std::vector<Lit> asserted;               // literals that must hold
    uint32_t clusters = 0;
    bool grouped = false;  // whether the rows of a cluster seem to exclude each other
};

// The heads of a part without guesses, including one for each literal of the asks.
Heads read_heads(const Problem &problem, const Part &part, const std::vector<Ask> &asks);

constexpr Edge ZERO{ONE, Builder::FALSE_NODE}, UNIT{ONE, Builder::TRUE_NODE};
inline bool zero(const Edge &edge) { return edge.child == Builder::FALSE_NODE; }

// Entries are edges: a node times at most one leaf weight, which then needs no node of its own.
class Arithmetic {
  public:
    Arithmetic(Builder &builder, const Gates &gates, const std::vector<uint32_t> &choices)
        : builder_(builder), gates_(gates), before_(builder.nodes.size()) {
        for (uint32_t choice : choices) intervals_ = intervals_ || gates.choices[choice].interval;
    }

    // The number of nodes made since.
    size_t nodes() const { return builder_.nodes.size() - before_; }

    uint32_t node(const Edge &edge) {
        return edge.weight == ONE ? edge.child : builder_.sum(&edge, 1);
    }

    Edge product(const Edge &a, const Edge &b) {
        if (a.weight == ONE) return {b.weight, builder_.product(a.child, b.child)};
        if (b.weight == ONE) return {a.weight, builder_.product(a.child, b.child)};
        // A weight alone is shared by many.
        const Edge &one = b.child == Builder::TRUE_NODE ? a : b;
        const Edge &other = b.child == Builder::TRUE_NODE ? b : a;
        return {one.weight, builder_.product(one.child, node(other))};
    }

    // Changes the edges.
    Edge sum(std::vector<Edge> &edges) {
        if (edges.empty()) return ZERO;
        if (edges.size() == 1) return edges[0];
        if (complete(edges)) return {ONE, edges[0].child};
        if (intervals_) separate(edges);
        return {ONE, builder_.sum(edges.data(), edges.size())};
    }

  private:
    Builder &builder_;
    const Gates &gates_;
    size_t before_;
    bool intervals_ = false;  // whether some of the choices have intervals

    const ChoiceShape &shape(int32_t weight) const {
        return gates_.choices[gates_.choice_of[size_t(weight)]];
    }

    const ChoiceShape *interval(const Edge &edge) const {
        if (edge.weight == ONE) return nullptr;
        const ChoiceShape &own = shape(edge.weight);
        return own.interval ? &own : nullptr;
    }

    // A sum must have edges of at most one choice with intervals, as extremes are found choice by
    // choice; so each of them gets its own sum.
    void separate(std::vector<Edge> &edges) {
        std::map<uint32_t, std::vector<Edge>> by_choice;
        for (const Edge &edge : edges)
            if (const ChoiceShape *own = interval(edge)) by_choice[own->leaf].push_back(edge);
        if (by_choice.size() < 2) return;
        edges.erase(std::remove_if(edges.begin(), edges.end(),
                                   [&](const Edge &edge) { return interval(edge); }),
                    edges.end());
        for (auto &[_, own] : by_choice) edges.push_back({ONE, builder_.sum(own)});
    }

    // Whether all values of one choice lead to the same node: their weights sum to 1.
    bool complete(const std::vector<Edge> &edges) const {
        if (edges[0].weight == ONE) return false;
        const ChoiceShape &first = shape(edges[0].weight);
        if (first.values != edges.size()) return false;
        for (size_t i = 0; i < edges.size(); ++i) {
            uint32_t value = uint32_t(edges[i].weight) - first.leaf;  // large if below
            if (edges[i].child != edges[0].child || value >= first.values) return false;
            for (size_t j = 0; j < i; ++j)
                if (edges[j].weight == edges[i].weight) return false;
        }
        return true;
    }
};

// The states of a group in which a literal holds.
struct Reading {
    uint32_t group = 0;
    std::vector<uint8_t> holds;  // by state
};

// An entry for every combination of states; the states of the last group vary fastest.
template <class Entry> struct TableOver {
    std::vector<uint32_t> scope;  // groups, each once
    std::vector<Entry> entries;
};
using Factor = TableOver<Edge>;  // of the circuit

// A part of the program as a network of variables with many values, its groups.
//
// Atoms of which at most one holds (the values of a variable, a sum, a state) are the states of a
// group; any other atom is a group with two states. Groups are found in the order of dependencies.
// Candidates are heads that share a choice with one body, and functions of the same groups; the
// states are the combinations that can occur for some states of the groups that they depend on.
// Each group has a table over its parents and itself: sums of the weights of choices that only this
// group uses. Only the rows whose body holds matter; the weights of the others sum to 1.
struct Network {
    std::vector<uint32_t> states;     // by group: how many it has
    std::vector<Factor> tables;       // by group: over its parents and, last, itself
    std::vector<Factor> constraints;  // what else must hold, over several groups
    std::vector<Reading> asserted;    // or over one
    std::unordered_map<Lit, Reading> readings;  // of the literals of the asks
};

// The network of a part without guesses, with readings for the literals of the asks.
Network find_groups(const Job &job, const Heads &heads, Arithmetic &arithmetic);

// A row whose body is given by groups: for each group, the states in which it holds.
struct Clause {
    std::vector<const Reading *> body;  // by group, each once
    bool possible = true;
    uint32_t choice = NONE;
    std::vector<std::vector<uint32_t>> heads;  // by value of the choice; one list without a choice
};

// The groups that clauses depend on, in order.
std::vector<uint32_t> parents(const std::vector<Clause> &clauses);
// Whether some clause has a choice.
bool drawn(const std::vector<Clause> &clauses);

// For every combination of the parents' states: the sets of heads that the choices of the clauses
// can draw, with their weights.
struct Draws {
    using Set = std::vector<uint32_t>;  // heads that hold, in order

    std::vector<uint32_t> over;                      // the parents
    std::map<Set, uint32_t> states;                  // the sets that occur, numbered
    std::vector<std::pair<uint32_t, Edge>> entries;  // state and weight
    std::vector<uint32_t> ends;                      // by combination: where its entries end
    bool complete = true;                            // false: there are too many sets
};

// The network while its groups are being found: it reads literals, and turns clauses into groups.
class GroupTables {
  public:
    GroupTables(const Job &job, Arithmetic &arithmetic)
        : job_(job), gates_(job.problem.gates), arithmetic_(arithmetic),
          literals_(2 * job.part.gates.size(), nullptr) {}

    Network network;
    std::vector<uint32_t> choice_of;  // by group: the choice that it stands for, or NONE

    // Literals must be defined before they are read, except those of choices.
    void define(Lit lit, const Reading *reading);
    const Reading *read(Lit lit);
    // All equivalent readings; the first is that of `read`.
    std::vector<const Reading *> readings(Lit lit);
    const Reading *value(uint32_t choice, uint32_t value);
    // A body as a clause; if literals have several readings, those by the groups `over`.
    Clause clause(const std::vector<Lit> &body, const std::vector<uint32_t> &over = {});
    void add(Clause &clause, const Reading *reading);

    // Whether a table over these groups is hardly larger than tables for single rows.
    bool compact(const std::vector<uint32_t> &over, const std::vector<Clause> &rows,
                 double few) const;
    Draws draw(const std::vector<Clause> &clauses, size_t most) const;
    // For each two lists of clauses, whether a clause of each can hold at the same time.
    std::vector<std::vector<uint8_t>> meeting(const std::vector<std::vector<Clause>> &units) const;
    // A new group with the states that were found, and where a head holds in it.
    uint32_t group(const Draws &found);
    const Reading *holding(const Draws &found, uint32_t group, uint32_t head);
    // If no head holds exactly in certain states of the parent, literals for these states get
    // another reading.
    void name_rest(const Draws &found, uint32_t group);

    // The reading for "some clause holds", with additional groups if there are too many parents.
    const Reading *any(std::vector<Clause> rows);
    // Adds a constraint: the body must not hold.
    void exclude(const std::vector<Lit> &body);
    // Turns a table of weights into one over the groups of its literals.
    void weigh(const WeightTable &table);

  private:
    const Job &job_;
    const Gates &gates_;
    Arithmetic &arithmetic_;
    std::deque<Reading> pool_;
    std::vector<const Reading *> literals_;  // by place and sign
    std::unordered_map<uint32_t, uint32_t> choice_group_;
    std::map<std::pair<uint32_t, std::vector<uint8_t>>, std::vector<const Reading *>> same_;

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
