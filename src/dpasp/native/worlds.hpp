// Worlds drawn at random, 64 in a machine word: choices by their probabilities, then every gate
// of the determined part by a few instructions for all worlds of a block at once.
#pragma once

#include "ground.hpp"

namespace dpasp {

constexpr size_t WORDS = 16;          // in a block
constexpr size_t BLOCK = 64 * WORDS;  // worlds in a block

// Evidence about an atom of which every rule draws a value of a choice: `h :- value, gate`. The
// values are drawn so that the evidence holds wherever some gate does, and a world's weight takes
// how probable that was.
struct Push {
    struct Draw {
        uint32_t choice, value, gate;  // the gate is an atom; 0 always holds
        bool everywhere = true;        // other values matter also where the gate does not hold
    };
    bool holds = true;  // or the atom is known to be false
    std::vector<Draw> draws;
};

// What is done one after the other: later steps read what earlier ones wrote.
struct Step {
    enum Kind { Choice = 0, Rules = 1, Evidence = 2 };
    Kind kind = Choice;
    uint32_t begin = 0, end = 0;  // rules, of which all heads are one loop or one atom
    uint32_t index = 0;           // of the choice or of the evidence
    uint32_t gate = 0;            // the atom without which no value of the choice matters; 0: none
    bool loop = false;
};

class Worlds {
  public:
    // `rules` of `ground` stand in the order of the steps; `outputs` are the atoms to give back.
    // Throws std::invalid_argument where the steps or the outputs do not fit the program.
    Worlds(Ground ground, Numbers steps, Numbers outputs);

    struct Drawn {
        std::vector<uint64_t> bits;   // [outputs, WORDS of each block]
        std::vector<double> weights;  // of the worlds; empty if no evidence is pushed
    };

    // The worlds of blocks `first` to `first + blocks - 1` of a seed: the same ones whoever asks
    // for which of them.
    Drawn draw(const double *weights, uint64_t seed, uint64_t first, size_t blocks,
               Watch &watch) const;

    // Chains, one in each word of a block: where they are [words, choices] (the value of every
    // choice), and the choices that are moved [choices].
    struct Chains {
        const int64_t *states;
        const int64_t *free;  // not 0: it is moved
    };

    // Candidates for the next states of chains: in each word the first world is where its chain
    // is, with the weight that it would have if it were drawn, and the others are drawn, all with
    // the same values of the choices that are not moved. `number` is that of the move.
    // Throws std::invalid_argument where the states do not fit the choices.
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
