// Random worlds, 64 in a machine word: choices are drawn, then every atom of the determined part is
// computed by a few instructions for all worlds of a block at once.
#pragma once

#include "ground.hpp"

namespace dpasp {

constexpr size_t WORDS = 16;          // in a block
constexpr size_t BLOCK = 64 * WORDS;  // worlds in a block

// Evidence about an atom whose rules each need a value of a choice: `h :- value, gate`. The values
// are drawn so that the evidence holds wherever some gate does; the weight of a world is the
// probability of that.
struct Push {
    struct Draw {
        uint32_t choice, value, gate;  // the gate is an atom; 0 always holds
        bool everywhere = true;        // whether other values matter even if the gate does not hold
    };
    bool holds = true;  // the observed value of the atom
    std::vector<Draw> draws;
};

// Steps run one after another: later steps read what earlier ones wrote.
struct Step {
    enum Kind { Choice = 0, Rules = 1, Evidence = 2 };
    Kind kind = Choice;
    uint32_t begin = 0, end = 0;  // rules, whose heads are one atom or one loop
    uint32_t index = 0;           // of the choice or of the evidence
    uint32_t gate = 0;            // the choice matters only if this atom holds; 0: always
    bool loop = false;
};

class Worlds {
  public:
    // The rules of `ground` are in the order of the steps; `outputs` are the atoms to return.
    // Throws std::invalid_argument if the steps or the outputs do not fit the program.
    Worlds(Ground ground, Numbers steps, Numbers outputs);

    struct Drawn {
        std::vector<uint64_t> bits;   // [outputs, WORDS of each block]
        std::vector<double> weights;  // of the worlds; empty if no evidence is pushed
    };

    // The worlds of the blocks `first` to `first + blocks - 1` of a seed, always the same.
    Drawn draw(const double *weights, uint64_t seed, uint64_t first, size_t blocks,
               Watch &watch) const;

    // Chains, one in each word of a block: their states [words, choices] (the value of every
    // choice), and the choices that move [choices].
    struct Chains {
        const int64_t *states;
        const int64_t *free;  // not 0: it moves
    };

    // Candidates for the next states of chains. In each word, the first world is the present state,
    // with the weight that it would have if it were drawn; the others are drawn. Choices that do
    // not move keep their values. `number` is that of the move. Throws std::invalid_argument if
    // the states do not fit the choices.
    Drawn move(const double *weights, uint64_t seed, uint64_t number, const Chains &chains,
               Watch &watch) const;

    size_t choices() const { return ground_.choices.size(); }
    size_t leaves() const { return leaves_.back(); }
    size_t outputs() const { return outputs_.size(); }

  private:
    Ground ground_;
    std::vector<Step> steps_;
    std::vector<Push> pushes_;
    std::vector<uint32_t> outputs_;
    std::vector<size_t> leaves_;  // where the leaves of each choice begin

    void read_steps(Numbers steps);
};

}  // namespace dpasp
