#include "implications.hpp"

namespace dpasp {

Implications::Implications(const Gates &gates, uint64_t most)
    : gates_(gates), left_(most), value_(gates.size(), OPEN), start_(gates.size() + 1, 0),
      same_(gates.choices.size()) {
    value_[0] = YES;
    auto inputs = [&](auto each) {
        for (uint32_t g = 0; g < gates.size(); ++g)
            if (gates.gates[g].kind == Kind::And)
                for (const Lit *in = gates.begin(g); in != gates.end(g); ++in)
                    each(gate_of(*in), g);
    };
    inputs([&](uint32_t input, uint32_t) { ++start_[input + 1]; });
    for (size_t g = 0; g < gates.size(); ++g) start_[g + 1] += start_[g];
    above_.resize(start_.back());
    std::vector<uint32_t> place(start_.begin(), start_.end() - 1);
    inputs([&](uint32_t input, uint32_t gate) { above_[place[input]++] = gate; });
    for (uint32_t g = 0; g < gates.size(); ++g)
        if (gates.gates[g].kind == Kind::Value) same_[gates.gates[g].first].push_back(g);
}

bool Implications::assume(Lit lit) {
    if (!set(lit)) return false;
    while (next_ < known_.size() && left_ > 0)
        if (!draw(known_[next_++])) return false;
    return true;
}

void Implications::forget() {
    for (uint32_t gate : known_) value_[gate] = OPEN;
    known_.clear();
    next_ = 0;
}

bool Implications::set(Lit lit) {
    if (holds(lit)) return true;
    if (fails(lit)) return false;
    value_[gate_of(lit)] = negated(lit) ? NO : YES;
    known_.push_back(gate_of(lit));
    return true;
}

// What follows from a gate that was just settled.
bool Implications::draw(uint32_t gate) {
    const Gate &own = gates_.gates[gate];
    if (own.kind == Kind::Value && value_[gate] == YES)
        for (uint32_t other : same_[own.first])
            if (other != gate && !set(2 * other + 1)) return false;
    if (own.kind == Kind::And && !look(gate)) return false;
    for (uint32_t at = start_[gate]; at < start_[gate + 1] && left_ > 0; ++at)
        if (!look(above_[at])) return false;
    return true;
}

// What follows from an AND gate and its inputs for each other.
bool Implications::look(uint32_t gate) {
    uint32_t open = 0;
    Lit last = 0;
    for (const Lit *in = gates_.begin(gate); in != gates_.end(gate); ++in) {
        left_ -= left_ > 0;
        if (fails(*in)) return set(2 * gate + 1);
        if (value_[gate] == YES && !set(*in)) return false;
        if (!holds(*in)) ++open, last = *in;
    }
    if (open == 0) return set(2 * gate);
    if (open == 1 && value_[gate] == NO) return set(negate(last));
    return true;
}

}  // namespace dpasp
