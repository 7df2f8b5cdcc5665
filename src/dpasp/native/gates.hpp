// A program's logic as a graph of AND gates over inputs: values of choices, and guesses.
//
// A literal is 2 * gate, plus 1 when negated. Gate 0 is true. A gate's inputs come before it,
// so the numbering is a topological order. Equal gates are one gate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

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
    bool interval = false;  // its weights are known by their bounds only
};

class Gates {
  public:
    explicit Gates(std::vector<ChoiceShape> choices);

    std::vector<ChoiceShape> choices;
    std::vector<uint32_t> choice_of;  // by leaf weight
    std::vector<Gate> gates;
    std::vector<Lit> pool;
    uint32_t guesses = 0;
    size_t most;                      // more gates than this is Stopped(Size)
    size_t most_inputs = UINT32_MAX;  // of all gates together: they are numbered

    uint32_t add_choice();                       // one more, of two values; gives back its number
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

}  // namespace dpasp
