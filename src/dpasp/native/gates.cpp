#include "gates.hpp"

#include <algorithm>

#include "graphs.hpp"
#include "hashing.hpp"
#include "limits.hpp"
#include "tuning.hpp"

namespace dpasp {

Gates::Gates(std::vector<ChoiceShape> shapes)
    : choices(std::move(shapes)), most(tuning::MOST_GATES) {
    gates.push_back({Kind::True, false, 0, 0});
    for (uint32_t c = 0; c < choices.size(); ++c)
        choice_of.insert(choice_of.end(), choices[c].values, c);
}

uint32_t Gates::add_choice() {
    auto choice = uint32_t(choices.size());
    choices.push_back({2, uint32_t(choice_of.size())});
    choice_of.insert(choice_of.end(), 2, choice);
    return choice;
}

Lit Gates::value(uint32_t choice, uint32_t value) {
    uint32_t values = choices[choice].values;
    if (values == 1) return TRUE_LIT;
    bool flip = values == 2 && value == 1;  // one variable is enough for two values
    if (flip) value = 0;
    uint64_t key = (uint64_t(choice) << 32) | value;
    auto [place, fresh] = value_gates_.try_emplace(key, uint32_t(gates.size()));
    if (fresh) gates.push_back({Kind::Value, false, choice, value});
    return 2 * place->second + flip;
}

Lit Gates::guess() {
    gates.push_back({Kind::Guess, true, guesses++, 0});
    return 2 * uint32_t(gates.size() - 1);
}

Lit Gates::any(std::vector<Lit> inputs) {
    for (Lit &lit : inputs) lit = negate(lit);
    return negate(all(std::move(inputs)));
}

Lit Gates::all(std::vector<Lit> inputs) {
    sort_unique(inputs);
    if (!inputs.empty() && inputs[0] == TRUE_LIT) inputs.erase(inputs.begin());
    if (inputs.empty()) return TRUE_LIT;
    if (inputs[0] == FALSE_LIT) return FALSE_LIT;
    for (size_t i = 1; i < inputs.size(); ++i)
        if (inputs[i] == negate(inputs[i - 1])) return FALSE_LIT;
    // Values of one choice exclude each other.
    std::vector<std::pair<uint32_t, Lit>> chosen;
    for (Lit lit : inputs) {
        const Gate &gate = gates[gate_of(lit)];
        if (gate.kind == Kind::Value && !negated(lit)) {
            for (auto &[choice, other] : chosen)
                if (choice == gate.first) return FALSE_LIT;
            chosen.emplace_back(gate.first, lit);
        }
    }
    if (!chosen.empty()) {
        inputs.erase(std::remove_if(inputs.begin(), inputs.end(),
                                    [&](Lit lit) {
                                        const Gate &gate = gates[gate_of(lit)];
                                        if (gate.kind != Kind::Value || !negated(lit)) return false;
                                        for (auto &[choice, other] : chosen)
                                            if (choice == gate.first) return true;
                                        return false;
                                    }),
                     inputs.end());
    }
    if (inputs.size() == 1) return inputs[0];
    return 2 * find(inputs);
}

uint32_t Gates::find(const std::vector<Lit> &inputs) {
    uint64_t hash = inputs.size();
    for (Lit lit : inputs) hash = combine(hash, lit);
    auto [from, to] = and_gates_.equal_range(hash);
    for (; from != to; ++from) {
        uint32_t gate = from->second;
        if (std::equal(begin(gate), end(gate), inputs.begin(), inputs.end())) return gate;
    }
    if (gates.size() >= most || pool.size() + inputs.size() > most_inputs)
        throw Stopped(Reason::Size, "the logic of this program takes more than " +
                                        std::to_string(most) + " gates");
    bool inner = false;
    for (Lit lit : inputs) inner = inner || gates[gate_of(lit)].inner;
    uint32_t start = uint32_t(pool.size());
    pool.insert(pool.end(), inputs.begin(), inputs.end());
    gates.push_back({Kind::And, inner, start, uint32_t(pool.size())});
    and_gates_.emplace(hash, uint32_t(gates.size() - 1));
    return uint32_t(gates.size() - 1);
}

}  // namespace dpasp
