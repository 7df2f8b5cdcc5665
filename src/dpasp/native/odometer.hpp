// Walks through the tables of a network.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace dpasp {

// Goes through all combinations of states, and where each lies in several tables.
class Odometer {
  public:
    explicit Odometer(std::vector<uint32_t> sizes) : sizes_(std::move(sizes)), at_(sizes_.size()) {}

    // Follow a table: how far each variable's next state lies from the one before.
    void follow(std::vector<size_t> steps) {
        places.push_back(0);
        steps_.push_back(std::move(steps));
    }

    std::vector<size_t> places;  // by table
    const std::vector<uint32_t> &states() const { return at_; }

    bool next() {
        for (size_t i = sizes_.size(); i-- > 0;) {
            if (++at_[i] < sizes_[i]) {
                for (size_t t = 0; t < places.size(); ++t) places[t] += steps_[t][i];
                return true;
            }
            for (size_t t = 0; t < places.size(); ++t) places[t] -= steps_[t][i] * (sizes_[i] - 1);
            at_[i] = 0;
        }
        return false;
    }

  private:
    std::vector<uint32_t> sizes_, at_;
    std::vector<std::vector<size_t>> steps_;
};

// For each variable, how far apart its states lie in a table over a scope.
inline std::vector<size_t> strides(const std::vector<uint32_t> &variables,
                                   const std::vector<uint32_t> &scope,
                                   const std::vector<uint32_t> &states) {
    std::vector<size_t> result(variables.size(), 0);
    size_t step = 1;
    for (size_t i = scope.size(); i-- > 0; step *= states[scope[i]])
        for (size_t j = 0; j < variables.size(); ++j)
            if (variables[j] == scope[i]) result[j] = step;
    return result;
}

inline std::vector<uint32_t> sizes_of(const std::vector<uint32_t> &scope,
                                      const std::vector<uint32_t> &states) {
    std::vector<uint32_t> result;
    for (uint32_t g : scope) result.push_back(states[g]);
    return result;
}

}  // namespace dpasp
