#include "worlds.hpp"

#include <array>

namespace dpasp {
namespace {

using Bits = std::array<uint64_t, WORDS>;
constexpr uint64_t ALL = ~uint64_t(0);

// xoshiro256**, started by splitmix64 from a seed and a block (Blackman and Vigna, 2018).
class Random {
  public:
    Random(uint64_t seed, uint64_t block) {
        uint64_t mixed = seed;
        uint64_t start = splitmix(mixed) ^ (block * 0xD1342543DE82EF95u);
        for (uint64_t &part : state_) part = splitmix(start);
    }

    uint64_t word() {
        uint64_t result = rotate(state_[1] * 5, 7) * 9, shifted = state_[1] << 17;
        state_[2] ^= state_[0];
        state_[3] ^= state_[1];
        state_[1] ^= state_[2];
        state_[0] ^= state_[3];
        state_[2] ^= shifted;
        state_[3] = rotate(state_[3], 45);
        return result;
    }

    // A number in [0, 1).
    double share() { return double(word() >> 11) * 0x1p-53; }

    // The worlds in which a coin of probability p shows heads: random digits are compared with
    // those of p until they differ in all worlds.
    uint64_t coin(double p, uint64_t open) {
        if (p >= 1) return open;
        uint64_t taken = 0;
        while (open && p > 0) {
            p *= 2;
            uint64_t digits = word();
            if (p >= 1) {
                p -= 1;
                taken |= open & ~digits;
                open &= digits;
            } else {
                open &= ~digits;
            }
        }
        return taken;
    }

  private:
    uint64_t state_[4];

    static uint64_t rotate(uint64_t x, int by) { return (x << by) | (x >> (64 - by)); }
    static uint64_t splitmix(uint64_t &x) {
        uint64_t z = (x += 0x9E3779B97F4A7C15u);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        return z ^ (z >> 31);
    }
};

int lowest(uint64_t word) {
#if defined(__GNUC__)
    return __builtin_ctzll(word);
#else
    int place = 0;
    while (!(word >> place & 1)) ++place;
    return place;
#endif
}

template <class Do> void each_world(const Bits &worlds, Do &&action) {
    for (size_t w = 0; w < WORDS; ++w)
        for (uint64_t left = worlds[w]; left; left &= left - 1)
            action(64 * w + size_t(lowest(left)));
}

// One block of worlds: the truth values of every atom.
class Block {
  public:
    Block(const Ground &ground, const double *weights, const std::vector<size_t> &leaves,
          const Worlds::Chains *chains = nullptr)
        : ground_(ground), weights_(weights), leaves_(leaves), chains_(chains),
          atoms_(ground.atoms) {}

    // Runs all steps; the weights of the worlds go to `own`.
    void run(const std::vector<Step> &steps, const std::vector<Push> &pushes, double *own,
             Random &random, Watch &watch) {
        std::fill(own, own + BLOCK, 1.0);
        for (const Step &step : steps) {
            if (step.kind == Step::Choice)
                choose(step.index, step.gate, random);
            else if (step.kind == Step::Rules)
                derive(ground_.rules, step, watch);
            else
                push(pushes[step.index], own, random);
        }
    }

    const Bits &atom(uint32_t a) const { return atoms_[a]; }

  private:
    const Ground &ground_;
    const double *weights_;
    const std::vector<size_t> &leaves_;
    const Worlds::Chains *chains_;  // null: all worlds are drawn
    std::vector<Bits> atoms_;
    std::vector<double> some_;    // by world: that some draw so far takes its value
    std::vector<double> before_;  // the same before each draw of each world

    void choose(uint32_t index, uint32_t where, Random &random) {
        if (!fixed(index)) choose_others(index, UINT32_MAX, gate(where), random);
        keep(index, gate(where));
    }

    void derive(const std::vector<GroundRule> &rules, const Step &step, Watch &watch) {
        for (uint32_t r = step.begin; r < step.end; ++r)
            for (uint32_t head : rules[r].heads) atoms_[head].fill(0);
        bool more = true;
        while (more) {
            more = false;
            for (uint32_t r = step.begin; r < step.end; ++r) {
                watch.check();
                Bits body = holds(rules[r].body);
                for (uint32_t head : rules[r].heads)
                    for (size_t w = 0; w < WORDS; ++w) {
                        more |= (body[w] & ~atoms_[head][w]) != 0;
                        atoms_[head][w] |= body[w];
                    }
            }
            if (!step.loop) break;
        }
    }

    void push(const Push &evidence, double *world_weights, Random &random) {
        if (evidence.holds)
            require(evidence, world_weights, random);
        else
            forbid(evidence, world_weights, random);
    }

    double weight(uint32_t choice, uint32_t value) const {
        return weights_[leaves_[choice] + value];
    }

    bool fixed(uint32_t choice) const { return chains_ && !chains_->free[choice]; }
    bool has(size_t word, uint32_t choice, uint32_t value) const {
        return chains_->states[word * ground_.choices.size() + choice] == int64_t(value);
    }

    // The probability of a value in the worlds of a word; 1 or 0 if the chain does not move the
    // choice.
    double weight(const Push::Draw &draw, size_t word) const {
        if (!fixed(draw.choice)) return weight(draw.choice, draw.value);
        return has(word, draw.choice, draw.value) ? 1 : 0;
    }

    // The worlds of a word in which the choice has the value of the chain's state: all if it does
    // not move, otherwise the first, which is that state.
    uint64_t kept(uint32_t choice) const { return !chains_ ? 0 : fixed(choice) ? ALL : 1; }

    uint64_t as_kept(uint64_t drawn, uint32_t choice, uint32_t value, size_t word) const {
        uint64_t where = kept(choice);
        if (!where) return drawn;
        return (drawn & ~where) | (has(word, choice, value) ? where : 0);
    }

    void keep(uint32_t index, const Bits &open) {
        if (!chains_) return;
        const auto &selectors = ground_.choices[index].selectors;
        for (uint32_t v = 0; v < selectors.size(); ++v)
            for (size_t w = 0; w < WORDS; ++w) {
                uint64_t &bits = atoms_[selectors[v]][w];
                bits = as_kept(bits, index, v, w) & open[w];
            }
    }

    // Draws values other than `but` in the `open` worlds; in all others, none of them holds.
    void choose_others(uint32_t index, uint32_t but, Bits open, Random &random) {
        const GroundChoice &choice = ground_.choices[index];
        uint32_t values = choice.values();
        double rest = 0;
        for (uint32_t v = values; v-- > 0;)
            if (v != but) rest += weight(index, v);
        for (uint32_t v = 0; v < choice.selectors.size(); ++v) {
            if (v == but) continue;
            double p = weight(index, v), share = rest > 0 ? std::min(1.0, p / rest) : 0.0;
            rest = 0;
            for (uint32_t u = values; u-- > v + 1;)
                if (u != but) rest += weight(index, u);
            if (!(rest > 0) && p > 0) share = 1;
            Bits &atom = atoms_[choice.selectors[v]];
            for (size_t w = 0; w < WORDS; ++w) {
                atom[w] = random.coin(share, open[w]);
                open[w] &= ~atom[w];
            }
        }
    }

    Bits gate(uint32_t atom) const {
        if (atom) return atoms_[atom];
        Bits all;
        all.fill(ALL);
        return all;
    }

    // Makes some draw take its value: decides from the last one on, given that this or an earlier
    // one does.
    void require(const Push &evidence, double *world_weights, Random &random) {
        some_.assign(BLOCK, 0);
        before_.clear();
        for (const Push::Draw &draw : evidence.draws) {
            each_world(gate(draw.gate), [&](size_t world) {
                double p = weight(draw, world >> 6);
                before_.push_back(some_[world]);
                some_[world] = some_[world] * (1 - p) + p;
            });
        }
        for (size_t world = 0; world < BLOCK; ++world) world_weights[world] *= some_[world];
        Bits held{};
        size_t end = before_.size();
        for (size_t i = evidence.draws.size(); i-- > 0;) {
            const Push::Draw &draw = evidence.draws[i];
            Bits active = gate(draw.gate), taken;
            size_t at = end;
            for (uint64_t word : active)
                for (uint64_t left = word; left; left &= left - 1) --at;
            end = at;
            for (size_t w = 0; w < WORDS; ++w)
                taken[w] = random.coin(weight(draw, w),
                                       (draw.everywhere ? ~active[w] : 0) | (active[w] & held[w]));
            each_world(active, [&](size_t world) {
                double p = weight(draw, world >> 6);
                double some = before_[at++] * (1 - p) + p;
                uint64_t bit = uint64_t(1) << (world & 63);
                if (held[world >> 6] & bit) return;
                if (p >= some || random.share() * some < p) taken[world >> 6] |= bit;
            });
            take(draw, taken, random);
            for (size_t w = 0; w < WORDS; ++w) held[w] |= taken[w] & active[w];
        }
    }

    // Lets no draw take its value.
    void forbid(const Push &evidence, double *world_weights, Random &random) {
        for (const Push::Draw &draw : evidence.draws) {
            Bits active = gate(draw.gate), taken;
            each_world(active,
                       [&](size_t world) { world_weights[world] *= 1 - weight(draw, world >> 6); });
            for (size_t w = 0; w < WORDS; ++w)
                taken[w] = draw.everywhere ? random.coin(weight(draw, w), ~active[w]) : 0;
            take(draw, taken, random);
        }
    }

    // Gives the choice this value in the `taken` worlds, and another one in the others.
    void take(const Push::Draw &draw, Bits &taken, Random &random) {
        Bits open = draw.everywhere ? gate(0) : gate(draw.gate), others;
        for (size_t w = 0; w < WORDS; ++w) {
            taken[w] = as_kept(taken[w], draw.choice, draw.value, w) & open[w];
            others[w] = open[w] & ~taken[w];
        }
        const auto &selectors = ground_.choices[draw.choice].selectors;
        if (!fixed(draw.choice)) choose_others(draw.choice, draw.value, others, random);
        if (draw.value < selectors.size()) atoms_[selectors[draw.value]] = taken;
        keep(draw.choice, open);
    }

    uint64_t literal(int32_t l, size_t w) const {
        return l > 0 ? atoms_[uint32_t(l)][w] : ~atoms_[uint32_t(-l)][w];
    }

    Bits holds(const Body &body) const {
        if (body.weighted) return reaches(body);
        Bits result;
        result.fill(ALL);
        for (int32_t l : body.literals)
            for (size_t w = 0; w < WORDS; ++w) result[w] &= literal(l, w);
        return result;
    }

    // Compares the sum of the weights, as binary digits that are words of worlds, with the bound.
    // (Weights are positive, as clingo grounds them.)
    Bits reaches(const Body &body) const {
        Bits result;
        uint64_t total = 0;
        for (int64_t weight : body.weights) total += uint64_t(weight);
        if (body.bound <= 0) {
            result.fill(ALL);
            return result;
        }
        if (total < uint64_t(body.bound)) return Bits{};
        for (size_t w = 0; w < WORDS; ++w) result[w] = reaches(body, total, w);
        return result;
    }

    uint64_t reaches(const Body &body, uint64_t total, size_t w) const {
        std::array<uint64_t, 64> digits{};
        int places = 1;
        while (total >> places) ++places;
        for (size_t i = 0; i < body.literals.size(); ++i) {
            uint64_t bits = literal(body.literals[i], w), carry = 0;
            auto added = uint64_t(body.weights[i]);
            for (int d = 0; d < places; ++d) {
                uint64_t one = (added >> d & 1) ? bits : 0, old = digits[size_t(d)];
                digits[size_t(d)] = old ^ one ^ carry;
                carry = (old & one) | (carry & (old ^ one));
            }
        }
        uint64_t more = 0, same = ALL;
        for (int d = places; d-- > 0;) {
            uint64_t wanted = (uint64_t(body.bound) >> d & 1) ? ALL : 0;
            more |= same & digits[size_t(d)] & ~wanted;
            same &= ~(digits[size_t(d)] ^ wanted);
        }
        return more | same;
    }
};

class Reader {
  public:
    explicit Reader(Numbers numbers) : numbers_(numbers) {}

    bool more() const { return at_ < numbers_.size; }
    uint32_t next(size_t below) {
        if (at_ >= numbers_.size || numbers_.data[at_] < 0 || uint64_t(numbers_.data[at_]) >= below)
            throw std::invalid_argument("steps that do not fit the program");
        return uint32_t(numbers_.data[at_++]);
    }

  private:
    Numbers numbers_;
    size_t at_ = 0;
};

}  // namespace

Worlds::Worlds(Ground ground, Numbers steps, Numbers outputs) : ground_(std::move(ground)) {
    leaves_.push_back(0);
    for (const GroundChoice &choice : ground_.choices)
        leaves_.push_back(leaves_.back() + choice.values());
    for (const GroundRule &rule : ground_.rules) {
        if (rule.choice || rule.heads.size() != 1)
            throw std::invalid_argument("a rule that does not determine its head");
        uint64_t total = 0;
        for (int64_t weight : rule.body.weights) {
            total += uint64_t(weight);
            if (weight < 0 || total > uint64_t(INT64_MAX))
                throw std::invalid_argument("weights that cannot be added");
        }
    }
    read_steps(steps);
    Reader reader(outputs);
    while (reader.more()) outputs_.push_back(reader.next(ground_.atoms));
}

// A step is its kind followed by: a choice and its gate; or the number of rules, and whether they
// are a loop; or whether the evidence holds, the number of draws, and for each the choice, the
// value, the gate, and whether its other values matter everywhere.
void Worlds::read_steps(Numbers numbers) {
    Reader reader(numbers);
    uint32_t rules = 0;
    while (reader.more()) {
        Step step;
        step.kind = Step::Kind(reader.next(3));
        if (step.kind == Step::Choice) {
            step.index = reader.next(ground_.choices.size());
            step.gate = reader.next(ground_.atoms);
        } else if (step.kind == Step::Rules) {
            step.begin = rules;
            step.end = rules += reader.next(ground_.rules.size() - rules + 1);
            step.loop = reader.next(2) != 0;
        } else {
            Push push;
            push.holds = reader.next(2) != 0;
            uint32_t draws = reader.next(UINT32_MAX);
            for (uint32_t i = 0; i < draws; ++i) {
                uint32_t choice = reader.next(ground_.choices.size());
                uint32_t value = reader.next(ground_.choices[choice].values());
                uint32_t gate = reader.next(ground_.atoms);
                push.draws.push_back({choice, value, gate, reader.next(2) != 0});
            }
            step.index = uint32_t(pushes_.size());
            pushes_.push_back(std::move(push));
        }
        steps_.push_back(step);
    }
}

Worlds::Drawn Worlds::draw(const double *weights, uint64_t seed, uint64_t first, size_t blocks,
                           Watch &watch) const {
    Drawn drawn;
    watch.reserve(double(blocks) * double(BLOCK) * (double(outputs_.size()) / 8 + 8) / (1 << 20));
    drawn.bits.resize(outputs_.size() * blocks * WORDS);
    if (!pushes_.empty()) drawn.weights.resize(blocks * BLOCK);
    Block block(ground_, weights, leaves_);
    std::vector<double> own(BLOCK);
    for (size_t b = 0; b < blocks; ++b) {
        watch.look();
        Random random(seed, first + b);
        block.run(steps_, pushes_, own.data(), random, watch);
        for (size_t i = 0; i < outputs_.size(); ++i) {
            const Bits &bits = block.atom(outputs_[i]);
            std::copy(bits.begin(), bits.end(), &drawn.bits[(i * blocks + b) * WORDS]);
        }
        if (!pushes_.empty()) std::copy(own.begin(), own.end(), &drawn.weights[b * BLOCK]);
    }
    return drawn;
}

Worlds::Drawn Worlds::move(const double *weights, uint64_t seed, uint64_t number,
                           const Chains &chains, Watch &watch) const {
    for (size_t w = 0; w < WORDS; ++w)
        for (size_t c = 0; c < ground_.choices.size(); ++c) {
            int64_t value = chains.states[w * ground_.choices.size() + c];
            if (value < 0 || uint64_t(value) >= ground_.choices[c].values())
                throw std::invalid_argument("a state that does not fit the choices");
        }
    Drawn drawn;
    drawn.bits.resize(outputs_.size() * WORDS);
    drawn.weights.resize(BLOCK);
    Block block(ground_, weights, leaves_, &chains);
    Random random(seed, number);
    watch.look();
    block.run(steps_, pushes_, drawn.weights.data(), random, watch);
    for (size_t i = 0; i < outputs_.size(); ++i) {
        const Bits &bits = block.atom(outputs_[i]);
        std::copy(bits.begin(), bits.end(), &drawn.bits[i * WORDS]);
    }
    return drawn;
}

}  // namespace dpasp
