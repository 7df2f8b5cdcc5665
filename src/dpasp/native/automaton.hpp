// The entries of all tables that a sweep can come to, step by step.
//
// Entries with the same future are one *class*: those that every value of the inputs to come leads
// to the same classes, equally often. So colours that nothing tells apart are one class. What
// a prefix of choices leaves is a vector of counts over classes, and so is what a suffix of
// choices admits: their product counts the models of both together.
#pragma once

#include <cstdint>
#include <vector>

#include "sweep.hpp"

namespace dpasp {

// By step and value: the probability of the value; 1 where a guess is read.
using StepWeights = std::vector<std::vector<double>>;

class Automaton {
  public:
    struct Move {
        uint32_t to;   // a class of the next step
        double count;  // how many ways lead there
        bool operator==(const Move &o) const { return to == o.to && count == o.count; }
    };
    struct Span {
        const Move *first, *last;
        const Move *begin() const { return first; }
        const Move *end() const { return last; }
        size_t size() const { return size_t(last - first); }
    };
    // Of the classes at the end: query and evidence hold; the evidence alone.
    static constexpr uint32_t QUERY_HOLDS = 0, QUERY_FAILS = 1, ENDS = 2;

    // Values of weight 0 lead nowhere.
    Automaton(Sweep sweep, const StepWeights &weights, Budget &budget);

    // Whether any total choice has a model with the evidence; then class 0 is where all begins.
    bool possible() const { return classes(0) > 0; }
    uint32_t classes(size_t step) const {
        return step < layers_.size() ? layers_[step].classes : ENDS;
    }
    // Where the value of a step leads from a class.
    Span moves(size_t step, uint32_t from, uint32_t value) const {
        const Layer &layer = layers_[step];
        const uint32_t *at = &layer.begin[size_t(from) * layer.values + value];
        return {layer.moves.data() + at[0], layer.moves.data() + at[1]};
    }
    size_t moves(size_t step) const { return layers_[step].moves.size(); }

  private:
    struct Layer {
        uint32_t classes = 0, values = 1;
        std::vector<uint32_t> begin{0};  // by class and value: where its moves begin, and the end
        std::vector<Move> moves;
    };
    std::vector<Layer> layers_;

    void read(Sweep &sweep, const StepWeights &weights, Budget &budget);
    void merge(size_t step, std::vector<uint32_t> &next, Budget &budget);
};

}  // namespace dpasp
