// What rows come to: for every combination of their parents' states, the sets of heads that the
// choices of the rows can draw, each with its weight.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "edges.hpp"
#include "groups.hpp"

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

class Draws {
  public:
    using Set = std::vector<uint32_t>;  // heads that hold, in order

    struct Parents {
        std::vector<uint32_t> groups, states;  // how many states each group has
    };
    struct Tools {
        const Job &job;
        Arithmetic &arithmetic;
    };

    Draws(const std::vector<Clause> &clauses, Parents over, Tools tools, size_t most);

    Parents over;
    std::map<Set, uint32_t> states;                  // the sets that occur, numbered
    std::vector<std::pair<uint32_t, Edge>> entries;  // state and weight
    std::vector<uint32_t> ends;                      // by combination: where its entries end

    // False if more sets occur than were allowed.
    bool run();

  private:
    const std::vector<Clause> &clauses_;
    Tools tools_;
    size_t most_;
    std::vector<std::vector<const uint8_t *>> holds_;  // by parent and clause; null: always

    bool visit(size_t level, const std::vector<uint32_t> &active);
    bool draw(const std::vector<uint32_t> &active);
};

}  // namespace dpasp
