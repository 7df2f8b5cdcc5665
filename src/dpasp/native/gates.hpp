// A program's logic as a graph of AND gates over inputs: values of choices, and guesses.
//
// A literal is 2 * gate, plus 1 if negated. Gate 0 is true. The numbering is a topological order:
// inputs come before a gate. There are no two equal gates.
#pragma once

#include <array>
#include <map>
#include <random>
#include <set>
#include <unordered_map>

#include "limits.hpp"

namespace dpasp {

using Lit = uint32_t;
constexpr Lit TRUE_LIT = 0, FALSE_LIT = 1;
inline Lit negate(Lit lit) { return lit ^ 1u; }
inline uint32_t gate_of(Lit lit) { return lit >> 1; }
inline bool negated(Lit lit) { return lit & 1u; }

enum class Kind : uint8_t { True, Value, Guess, And };

struct Gate {
    Kind kind;
    bool inner;       // depends on a guess
    uint32_t first;   // Value: the choice; Guess: its number; And: where its inputs start
    uint32_t second;  // Value: the value; And: where its inputs end
};

struct ChoiceShape {
    uint32_t values;        // including nothing
    uint32_t leaf;          // index of the first value's weight
    bool interval = false;  // whether its weights are intervals
};

class Gates {
  public:
    explicit Gates(std::vector<ChoiceShape> choices);

    std::vector<ChoiceShape> choices;
    std::vector<uint32_t> choice_of;  // by leaf weight
    std::vector<Gate> gates;
    std::vector<Lit> pool;
    uint32_t guesses = 0;
    size_t most;                      // Stopped(Size) if there are more gates
    size_t most_inputs = UINT32_MAX;  // of all gates: their numbers have 32 bits

    uint32_t add_choice();                       // adds one with two values, returns its number
    Lit value(uint32_t choice, uint32_t value);  // the choice takes the value
    Lit guess();                                 // a new free inner variable
    Lit all(std::vector<Lit> inputs);            // conjunction
    Lit any(std::vector<Lit> inputs);            // disjunction
    Lit both(Lit a, Lit b) { return all({a, b}); }
    Lit either(Lit a, Lit b) { return any({a, b}); }

    const Lit *begin(uint32_t gate) const { return pool.data() + gates[gate].first; }
    const Lit *end(uint32_t gate) const { return pool.data() + gates[gate].second; }
    size_t size() const { return gates.size(); }

  private:
    uint32_t find(const std::vector<Lit> &inputs);

    std::unordered_map<uint64_t, uint32_t> value_gates_;
    std::unordered_multimap<uint64_t, uint32_t> and_gates_;
};

// Whether the weights of the true literals add up to the bound, at least.
Lit at_least(Gates &gates, const std::vector<Lit> &lits, const std::vector<int64_t> &weights,
             int64_t bound, Watch &watch);

// The least solution of x_i = ext_i or (c_ij and x_j) or ..., by Gaussian elimination; variables
// that add few factors are eliminated first.
class LinearSystem {
  public:
    LinearSystem(Gates &gates, uint32_t size)
        : gates_(gates), external_(size), rows_(size), columns_(size) {}
    void add(uint32_t i, Lit external) { external_[i].push_back(external); }
    void add(uint32_t i, uint32_t j, Lit factor) {
        if (i != j && factor != FALSE_LIT) join(i, j, factor);
    }
    // The values; those marked `late` are eliminated last.
    std::vector<Lit> solve(const std::vector<uint8_t> &late, Watch &watch);

  private:
    void join(uint32_t i, uint32_t j, Lit factor);
    void eliminate(uint32_t v, Watch &watch);

    Gates &gates_;
    std::vector<std::vector<Lit>> external_;
    std::vector<std::map<uint32_t, Lit>> rows_;  // c_ij by j
    std::vector<std::set<uint32_t>> columns_;    // the i with c_ij, by j
};

// The least solution of x_i = f_i(x) for monotone f: x_i = f_i with x_i false inside, substituted.
class GeneralSystem {
  public:
    GeneralSystem(Gates &gates, uint32_t size);
    Lit variable(uint32_t i) const { return variables_[i]; }
    void add(uint32_t i, Lit way) { ways_[i].push_back(way); }
    std::vector<Lit> solve(Watch &watch);

  private:
    using Map = std::unordered_map<uint32_t, Lit>;
    Lit substitute(Lit lit, Map &done, Watch &watch);
    void support(Lit lit, std::set<uint32_t> &found) const;

    Gates &gates_;
    uint32_t base_;  // the first gate that can depend on a variable
    std::vector<Lit> variables_;
    std::unordered_map<uint32_t, uint32_t> index_;  // by gate
    std::vector<std::vector<Lit>> ways_;
};

// The same by iteration from below: all equations are applied until nothing changes.
class Iteration {
  public:
    using Equation = std::function<Lit(uint32_t, const std::vector<Lit> &)>;
    using Equal = std::function<bool(const std::vector<std::pair<Lit, Lit>> &)>;

    // `equal` proves that the literals of each pair are equal functions (or throws Stopped).
    Iteration(Gates &gates, Equation equation, Equal equal)
        : gates_(gates), equation_(std::move(equation)), equal_(std::move(equal)) {}
    std::vector<Lit> solve(uint32_t size, Watch &watch);

  private:
    // Gates under random inputs: different results mean different functions.
    using Sample = std::array<uint64_t, 8>;
    const Sample &sample(Lit lit);
    Sample draw(const Gate &gate);

    Gates &gates_;
    Equation equation_;
    Equal equal_;
    std::vector<Sample> samples_;                                // by gate
    std::unordered_map<uint32_t, std::vector<uint32_t>> drawn_;  // by choice: a value a lane
    std::mt19937_64 random_{11};
};

}  // namespace dpasp
