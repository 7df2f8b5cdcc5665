// What follows from literals that are assumed, by looking at one gate at a time.
#pragma once

#include <vector>

#include "gates.hpp"

namespace dpasp {

class Implications {
  public:
    // Looks at so many inputs of gates at most, in all; then nothing follows any more.
    Implications(const Gates &gates, uint64_t most);

    // The literal holds, and all that follows; false if that contradicts what is known.
    bool assume(Lit lit);
    bool holds(Lit lit) const { return value_[gate_of(lit)] == (negated(lit) ? NO : YES); }
    bool fails(Lit lit) const { return holds(negate(lit)); }
    void forget();  // all that was assumed

  private:
    enum Truth : uint8_t { OPEN, YES, NO };

    const Gates &gates_;
    uint64_t left_;
    std::vector<uint8_t> value_;               // by gate
    std::vector<uint32_t> start_, above_;      // by gate: the AND gates that it is an input of
    std::vector<std::vector<uint32_t>> same_;  // by choice: the gates of its values
    std::vector<uint32_t> known_;              // gates, in the order in which they were settled
    size_t next_ = 0;                          // of those: whose consequences are not yet drawn

    bool set(Lit lit);
    bool draw(uint32_t gate);
    bool look(uint32_t gate);
};

}  // namespace dpasp
