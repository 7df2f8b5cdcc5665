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
        return layers_[step].span(from, value);
    }
    size_t moves(size_t step) const { return layers_[step].moves.size(); }

  private:
    struct Layer {
        uint32_t classes = 0, values = 1;
        std::vector<size_t> begin{0};  // by class and value: where its moves begin, and the end
        std::vector<Move> moves;

        Span span(uint32_t from, uint32_t value) const {
            const size_t *at = &begin[size_t(from) * values + value];
            return {moves.data() + at[0], moves.data() + at[1]};
        }
        void close() { begin.push_back(moves.size()); }
    };
    struct Found {
        uint32_t from, to;  // entries of two steps
    };
    std::vector<Layer> layers_;

    std::vector<uint32_t> read(Sweep &sweep, const StepWeights &weights, Budget &budget);
    static Layer arrange(uint32_t entries, const std::vector<std::vector<Found>> &found);
    static Key describe(const Layer &old, uint32_t entry, const std::vector<uint32_t> &next,
                        Layer &layer);
    static Layer merge(const Layer &old, std::vector<uint32_t> &next);
};

}  // namespace dpasp
