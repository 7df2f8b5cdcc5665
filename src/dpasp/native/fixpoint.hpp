// Least fixpoints of monotone equations over gates, solved by elimination.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <unordered_map>

#include "gates.hpp"
#include "limits.hpp"

namespace dpasp {

// The sum of the weights of the true literals is at least the bound.
Lit at_least(Gates &gates, const std::vector<Lit> &lits, const std::vector<int64_t> &weights,
             int64_t bound, Watch &watch);

// x_i = ext_i or (c_ij and x_j) or ...: Gaussian elimination, what adds the fewest factors first.
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

// x_i = f_i(x), any monotone f: the least x is x_i = f_i with x_i false inside, substituted.
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

// The same by iteration from below: apply all equations again and again until nothing changes.
class Iteration {
  public:
    using Equation = std::function<Lit(uint32_t, const std::vector<Lit> &)>;
    using Equal = std::function<bool(const std::vector<std::pair<Lit, Lit>> &)>;

    // `equal` proves that pairs of literals are the same function (or gives up by Stopped).
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
