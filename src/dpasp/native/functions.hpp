// The gates of a part as functions of its inputs: decision diagrams.
#pragma once

#include <utility>
#include <vector>

#include "decisions.hpp"
#include "part.hpp"

namespace dpasp {

class Functions {
  public:
    // The levels of the diagram are the inputs in this order.
    Functions(const Gates &gates, const Part &part, const std::vector<Input> &order, Budget &budget,
              Watch &watch);

    Dd of(Lit lit) const {
        return (gate_of(lit) ? known_[part_.place(lit)] : DD_TRUE) ^ (lit & 1u);
    }
    Dd all(const std::vector<Lit> &lits);  // their conjunction

    // There are values of the guesses at these levels under which all factors hold; the result
    // is the conjunction of what the factors become.
    void quantify(std::vector<Dd> &factors, std::vector<uint32_t> levels);

    Diagram &diagram() { return diagram_; }
    const std::vector<ChoiceShape> &shapes() const { return shapes_; }  // by level
    const std::vector<uint32_t> &guesses() const { return guesses_; }   // levels

  private:
    Dd variable(uint32_t level, uint32_t value);
    uint32_t cheapest(const std::vector<uint32_t> &levels,
                      const std::vector<std::vector<uint8_t>> &used) const;

    const Part &part_;
    std::vector<ChoiceShape> shapes_;
    Diagram diagram_;
    std::vector<uint32_t> guesses_;
    std::vector<Dd> known_;  // by place in the part
};

// Whether the literals of each pair are the same function; Stopped(Size) if that is too hard.
bool same_functions(const Gates &gates, const std::vector<std::pair<Lit, Lit>> &pairs,
                    Watch &watch);

}  // namespace dpasp
