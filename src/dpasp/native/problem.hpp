// A ground program as gates: assertions, questions, and independent parts.
//
// The models of a total choice are the assignments of the guesses under which every literal of
// `asserted` holds; each model is counted once.
#pragma once

#include "gates.hpp"
#include "ground.hpp"

namespace dpasp {

struct Question {
    std::vector<Lit> query, evidence;  // conjunctions
};

// Vertices that occur in the same rule; good orders keep them close.
struct Scope {
    std::vector<uint32_t> members;  // vertices
    uint32_t head = UINT32_MAX;     // the member that the others define, if any
};

// The rules as a hypergraph, from which orders are made.
struct OrderGraph {
    uint32_t vertices = 0;
    std::vector<Scope> scopes;
    std::vector<uint32_t> choice_vertex;  // by choice; those of observed atoms last
    std::vector<uint32_t> guess_vertex;   // by number of the guess
};

// A weight for each combination of literals, one of each set; the last set varies fastest.
struct WeightTable {
    std::vector<std::vector<Lit>> sets;
    size_t first = 0;  // the index of its first weight, after those of the leaves
};

struct Problem {
    explicit Problem(std::vector<ChoiceShape> shapes) : gates(std::move(shapes)) {}

    Gates gates;
    std::vector<Lit> asserted;
    std::vector<Question> questions;
    std::vector<WeightTable> tables;
    size_t entries = 0;          // of all tables together
    std::vector<uint8_t> named;  // by gate: 1 if it is an atom, 2 if it is the negation of one
    std::vector<Lit> undefined;  // lstable: each says that an own atom is undefined
    OrderGraph graph;

    uint32_t coins = 0;  // the number of coins (see toss), which are the last choices
    uint32_t determined = 0, inner = 0, guessed = 0;  // statistics: atoms by class

    // The number of leaf weights. check_weights throws std::invalid_argument unless there is one
    // weight for each leaf and for each entry of the tables.
    uint32_t leaves() const { return uint32_t(gates.choice_of.size()); }
    void check_weights(const std::vector<double> &weights) const;
};

Problem read_problem(const Ground &ground, Watch &watch);

// `needed` says for each atom whether it matters.
OrderGraph order_graph(const Ground &ground, const Rules &rules, const Guesses &guesses,
                       const std::vector<uint8_t> &needed);

// Replaces guesses by fair coins.
//
// If everything that restricts a guess is determined by the choices, then either half of the models
// of a total choice have each value of the guess, or all have the same value. Under maxent, such a
// guess is a coin: a choice whose two weights are 1/2. If all guesses of a part are coins, the part
// is compiled as one with a single model; only then are they replaced. Coins are the last choices,
// and assertions do not depend on them.
void toss(Problem &problem, Watch &watch);

// An independent part of a problem, compiled on its own.
struct Part {
    std::vector<uint32_t> choices;
    std::vector<uint32_t> guesses;  // gates
    std::vector<uint32_t> gates;    // all of the part's gates, inputs before outputs
    std::vector<Lit> asserted;
    std::vector<Lit> undefined;
    std::vector<const WeightTable *> tables;
    std::shared_ptr<const std::vector<uint32_t>> places;  // by gate, shared by all parts

    // The place of the gate of a literal among `gates`.
    uint32_t place(Lit lit) const { return (*places)[gate_of(lit)]; }
};

// The literals of a question in one part.
struct Ask {
    std::vector<Lit> query, evidence;
    bool operator<(const Ask &o) const {
        return query != o.query ? query < o.query : evidence < o.evidence;
    }
};

std::vector<Part> split(const Problem &problem);
// The number of the part of each gate.
std::vector<uint32_t> homes(const Problem &problem, const std::vector<Part> &parts);
// All assertions, with conjunctions replaced by their inputs, without duplicates.
std::vector<Lit> asserted_apart(const Problem &problem);

// An input: a choice, or a guess (its gate).
struct Input {
    bool choice;
    uint32_t id;
};

// The first four are orders of the inputs, for tables and diagrams; the last is for elimination.
enum class Order {
    Narrow,    // greedily keeps the frontier small
    Breadth,   // level by level from one end
    Depth,     // as a depth-first search from the questions meets the inputs
    Polished,  // the best of many narrow ones, improved by local search
    Tree
};
constexpr int SWEEPS = 4;  // the number of orders of the inputs

// The position of every vertex of the problem's graph.
std::vector<uint32_t> arrange(const Problem &problem, Order order, Watch &watch);

// The inputs of a part in the order of the positions.
std::vector<Input> order_inputs(const Problem &problem, const Part &part,
                                const std::vector<uint32_t> &position);

// The place of each input in an order.
class InputPlaces {
  public:
    explicit InputPlaces(const std::vector<Input> &order) {
        for (uint32_t i = 0; i < order.size(); ++i)
            (order[i].choice ? choices_ : guesses_)[order[i].id] = i;
    }
    // The place of the choice whose value a gate is, or of the guess that it is.
    uint32_t of(const Gates &gates, uint32_t gate) const {
        const Gate &own = gates.gates[gate];
        return own.kind == Kind::Value ? choices_.at(own.first) : guesses_.at(gate);
    }

  private:
    std::unordered_map<uint32_t, uint32_t> choices_, guesses_;
};

// The largest number of gates of which some inputs are read and others are not.
uint32_t cut_width(const Problem &problem, const Part &part, const std::vector<Input> &order);

}  // namespace dpasp
