// Tables in numbers: the shares of the models that satisfy what is asked, under known weights.
//
// What is wanted is the sum over all total choices of P(θ)·N_qe(θ)/N(θ). A prefix of the choices
// leaves a vector of counts over classes of entries, a suffix admits one, and N(θ) is the product
// of both; N_qe(θ) that of two others, of the models that satisfy query and evidence. These only
// stand in the numerator, where sums may be taken early: prefixes (suffixes) whose vectors of *all*
// models are equal up to a factor are one state, and their other vectors, weighed by the
// probabilities, add up. So what is asked makes no state of its own, and neither prefixes nor
// suffixes become as many as total choices: they meet where both are few.

#include "sweep.hpp"
#include "tuning.hpp"

namespace dpasp {
namespace {

using tuning::BLOCK, tuning::PER_PRODUCT, tuning::PER_STEP;

// Counts over classes; others are 0.
struct Counts {
    std::vector<uint32_t> classes;  // ascending
    std::vector<double> counts;

    void add(uint32_t place, double count) {
        classes.push_back(place);
        counts.push_back(count);
    }
    void scale(double factor) {
        for (double &count : counts) count *= factor;
    }
    bool operator==(const Counts &o) const { return classes == o.classes && counts == o.counts; }
    Key hash() const {
        Key key{classes.size(), 0x5bd1e995u};
        for (size_t i = 0; i < classes.size(); ++i) {
            Word count = 0;
            put_count(&count, counts[i]);
            key.mix_in(combine(classes[i], count));
        }
        return key;
    }
};

Counts sum(const Counts &a, const Counts &b) {
    Counts result;
    size_t i = 0, j = 0;
    while (i < a.classes.size() || j < b.classes.size()) {
        bool left = j == b.classes.size() || (i < a.classes.size() && a.classes[i] <= b.classes[j]);
        bool right =
            i == a.classes.size() || (j < b.classes.size() && b.classes[j] <= a.classes[i]);
        result.add(left ? a.classes[i] : b.classes[j],
                   (left ? a.counts[i] : 0) + (right ? b.counts[j] : 0));
        i += left, j += right;
    }
    return result;
}

// Equivalent prefixes, or suffixes, of the choices.
struct State {
    Counts models;              // all of them, at one scale
    std::vector<Counts> asked;  // of those with the evidence, times the probability, at that scale

    size_t numbers() const {
        size_t sum = models.classes.size();
        for (const Counts &counts : asked) sum += counts.classes.size();
        return sum;
    }
};

struct Layer {
    std::vector<State> states;
    size_t numbers = 0;  // of all states

    double least() const {
        double least = 1;
        for (const State &state : states)
            for (double count : state.models.counts) least = std::min(least, count);
        return least;
    }
};

struct Shares {
    bool any = false;  // some total choice has a model with the evidence
    double qe = 0, e = 0;

    // Whether the evidence is so improbable that digits may be lost.
    bool lost(bool doubles_end) const {
        return any && !(e > tuning::TINY && (qe > tuning::TINY || !doubles_end));
    }
};

class TableSums {
  public:
    TableSums(const Job &job, const std::vector<Input> &order, const std::vector<Ask> &asks)
        : weights_(step_weights(job, order)),
          all_(Sweep(job, order, Ask{}, Mode::Counts), weights_, job.budget), budget_(job.budget),
          watch_(job.watch) {
        for (const Ask &ask : asks)
            asked_.emplace_back(Sweep(job, order, ask, Mode::Counts), weights_, job.budget);
    }

    std::vector<Shares> sum() {
        std::vector<Shares> shares(asked_.size());
        for (size_t k = 0; k < asked_.size(); ++k) shares[k].any = asked_[k].possible();
        if (!all_.possible()) return shares;
        Layer prefixes = first();
        std::vector<Layer> suffixes(1, last());
        size_t from = 0, to = weights_.size();
        while (from < to) {
            if (forward_work(from, prefixes) <= backward_work(to - 1, suffixes.back()))
                prefixes = advance(from++, prefixes, false);
            else
                suffixes.push_back(advance(--to, suffixes.back(), true));
            budget_.advance(1 / double(weights_.size()));
            check(prefixes, suffixes);
        }
        while (from < weights_.size() && product_work(prefixes, suffixes.back()) >
                                             tuning::ANOTHER_STEP * forward_work(from, prefixes)) {
            prefixes = advance(from++, prefixes, false);
            suffixes.pop_back();
            check(prefixes, suffixes);
        }
        // Products of counts that differ too much could underflow; then there are no shares.
        if (prefixes.least() * suffixes.back().least() > tuning::TINY)
            multiply(from, prefixes, suffixes.back(), shares);
        return shares;
    }

  private:
    StepWeights weights_;
    Automaton all_;
    std::vector<Automaton> asked_;
    Budget &budget_;
    Watch &watch_;
    std::vector<double> dense_;      // by class, all 0 between two uses
    std::vector<uint8_t> met_;       // by class
    std::vector<uint32_t> touched_;  // classes

    static StepWeights step_weights(const Job &job, const std::vector<Input> &order) {
        StepWeights weights;
        for (const Input &input : order) {
            if (!input.choice) {
                weights.push_back({1.0});
                continue;
            }
            const ChoiceShape &choice = job.problem.gates.choices[input.id];
            auto first = job.weights->begin() + ptrdiff_t(choice.leaf);
            weights.emplace_back(first, first + ptrdiff_t(choice.values));
        }
        return weights;
    }

    Layer first() const {
        State state;
        state.models.add(0, 1);
        for (const Automaton &automaton : asked_) {
            state.asked.emplace_back();
            if (automaton.possible()) state.asked.back().add(0, 1);
        }
        return {{state}, state.numbers()};
    }

    // Suffixes have two vectors for each ask: one for the models with query and evidence, one for
    // those with the evidence only.
    Layer last() const {
        State state;
        state.models.add(Automaton::QUERY_HOLDS, 1);
        for (size_t k = 0; k < asked_.size(); ++k)
            for (uint32_t end : {Automaton::QUERY_HOLDS, Automaton::QUERY_FAILS}) {
                state.asked.emplace_back();
                state.asked.back().add(end, 1);
            }
        return {{state}, state.numbers()};
    }

    uint64_t forward_work(size_t step, const Layer &layer) const {
        return (5 * layer.states.size() + layer.numbers / PER_STEP) * weights_[step].size();
    }
    uint64_t backward_work(size_t step, const Layer &layer) const {
        size_t moves = all_.moves(step);
        for (const Automaton &automaton : asked_) moves += 2 * automaton.moves(step);
        return layer.states.size() * (5 + moves / PER_STEP) * weights_[step].size();
    }
    static uint64_t product_work(const Layer &prefixes, const Layer &suffixes) {
        return prefixes.numbers * suffixes.states.size() / PER_PRODUCT;
    }

    void check(const Layer &prefixes, const std::vector<Layer> &suffixes) const {
        size_t held = prefixes.numbers;
        for (const Layer &layer : suffixes) held += layer.numbers;
        if (held > budget_.nodes)
            throw Stopped(Reason::Size, "tables of more entries than were allowed");
    }

    // The states of the next layer, by all values of a step: prefixes after it, or suffixes before
    // it.
    Layer advance(size_t step, const Layer &layer, bool back) {
        Catalogue known;
        Layer next;
        for (const State &state : layer.states)
            for (uint32_t v = 0; v < weights_[step].size(); ++v) {
                watch_.check();
                if (weights_[step][v] == 0) continue;
                State result;
                if (!follow(step, state, v, back, result)) continue;
                budget_.charge(5 + result.numbers() / PER_STEP);
                merge(std::move(result), next, known);
            }
        return next;
    }

    // False if no model with the evidence of any ask is left.
    bool follow(size_t step, const State &state, uint32_t value, bool back, State &result) {
        auto move = [&](const Automaton &automaton, const Counts &counts) {
            return back ? before(automaton, step, counts, value)
                        : after(automaton, step, counts, value);
        };
        bool any = false;
        for (size_t k = 0; k < state.asked.size(); ++k) {
            result.asked.push_back(move(asked_[back ? k / 2 : k], state.asked[k]));
            any = any || !result.asked.back().classes.empty();
        }
        if (!any) return false;
        result.models = move(all_, state.models);
        double scale = weights_[step][value] / to_one_scale(result.models.counts);
        for (Counts &counts : result.asked) counts.scale(scale);
        return true;
    }

    void merge(State &&state, Layer &layer, Catalogue &known) {
        auto [number, fresh] =
            known.find(state.models.hash(), uint32_t(layer.states.size()),
                       [&](uint32_t other) { return layer.states[other].models == state.models; });
        if (!fresh) {
            State &other = layer.states[number];
            layer.numbers -= other.numbers();
            for (size_t k = 0; k < other.asked.size(); ++k)
                other.asked[k] = dpasp::sum(other.asked[k], state.asked[k]);
            layer.numbers += other.numbers();
            return;
        }
        ++budget_.size;
        layer.numbers += state.numbers();
        if (layer.numbers > budget_.nodes)
            throw Stopped(Reason::Size, "tables of more entries than were allowed");
        layer.states.push_back(std::move(state));
    }

    // The counts over classes after the input of a step takes a value.
    Counts after(const Automaton &automaton, size_t step, const Counts &counts, uint32_t value) {
        clear(automaton.classes(step + 1));
        for (size_t i = 0; i < counts.classes.size(); ++i)
            for (const Automaton::Move &move : automaton.moves(step, counts.classes[i], value)) {
                if (!met_[move.to]) met_[move.to] = 1, touched_.push_back(move.to);
                dense_[move.to] += move.count * counts.counts[i];
            }
        std::sort(touched_.begin(), touched_.end());
        Counts result;
        for (uint32_t place : touched_) {
            result.add(place, dense_[place]);
            dense_[place] = 0, met_[place] = 0;
        }
        return result;
    }

    // The counts before a step, from those after it.
    Counts before(const Automaton &automaton, size_t step, const Counts &counts, uint32_t value) {
        clear(automaton.classes(step + 1));
        for (size_t i = 0; i < counts.classes.size(); ++i)
            dense_[counts.classes[i]] = counts.counts[i];
        Counts result;
        for (uint32_t place = 0; place < automaton.classes(step); ++place) {
            double count = 0;
            for (const Automaton::Move &move : automaton.moves(step, place, value))
                count += move.count * dense_[move.to];
            if (count > 0) result.add(place, count);
        }
        for (uint32_t place : counts.classes) dense_[place] = 0;
        return result;
    }

    void clear(uint32_t classes) {
        touched_.clear();
        if (dense_.size() < classes) dense_.resize(classes, 0), met_.resize(classes, 0);
    }

    // Suffixes side by side: a row for each class, with a number for each suffix.
    struct Block {
        size_t size;
        std::vector<double> models;
        std::vector<std::vector<double>> asked;
    };

    Block block(size_t step, const Layer &suffixes, size_t first) const {
        Block result{std::min(BLOCK, suffixes.states.size() - first), {}, {}};
        auto rows = [&](const Automaton &automaton, auto vector) {
            std::vector<double> numbers(size_t(automaton.classes(step)) * BLOCK, 0.0);
            for (size_t j = 0; j < result.size; ++j) {
                const Counts &counts = vector(suffixes.states[first + j]);
                for (size_t i = 0; i < counts.classes.size(); ++i)
                    numbers[counts.classes[i] * BLOCK + j] = counts.counts[i];
            }
            return numbers;
        };
        result.models = rows(all_, [](const State &s) -> const Counts & { return s.models; });
        for (size_t k = 0; k < 2 * asked_.size(); ++k)
            result.asked.push_back(
                rows(asked_[k / 2], [k](const State &s) -> const Counts & { return s.asked[k]; }));
        return result;
    }

    // Multiplies all prefixes by all suffixes, at the step where they meet.
    void multiply(size_t step, const Layer &prefixes, const Layer &suffixes,
                  std::vector<Shares> &shares) {
        for (size_t first = 0; first < suffixes.states.size(); first += BLOCK) {
            budget_.charge(1 + prefixes.numbers * BLOCK / PER_PRODUCT);
            Block rows = block(step, suffixes, first);
            for (const State &state : prefixes.states) {
                watch_.check();
                multiply(state, rows, shares);
            }
        }
    }

    static void multiply(const State &prefix, const Block &block, std::vector<Shares> &shares) {
        double n[BLOCK], qe[BLOCK], e[BLOCK];
        product(prefix.models, block.models, n);
        for (size_t k = 0; k < shares.size(); ++k) {
            product(prefix.asked[k], block.asked[2 * k], qe);
            product(prefix.asked[k], block.asked[2 * k + 1], e);
            Shares own;  // few numbers first: so fewer digits are lost
            for (size_t j = 0; j < block.size; ++j) {
                if (!(n[j] > 0)) continue;
                own.qe += qe[j] / n[j];
                own.e += (qe[j] + e[j]) / n[j];
            }
            shares[k].qe += own.qe, shares[k].e += own.e;
        }
    }

    static void product(const Counts &counts, const std::vector<double> &rows, double *result) {
        std::fill_n(result, BLOCK, 0.0);
        for (size_t i = 0; i < counts.classes.size(); ++i) {
            const double *row = rows.data() + size_t(counts.classes[i]) * BLOCK;
            double count = counts.counts[i];
            for (size_t j = 0; j < BLOCK; ++j) result[j] += count * row[j];
        }
    }
};

// Which total choices have models; the same for all asks.
uint32_t consistent(const Job &job, const std::vector<Input> &order) {
    std::vector<Ask> none(1);
    Job own{job.problem, job.part, none, Mode::Bits, job.budget, job.builder, job.watch};
    return compile_tables(own, order)[0];
}

}  // namespace

std::vector<uint32_t> sum_tables(const Job &job, const std::vector<Input> &order) {
    std::vector<Ask> open;
    for (const Ask &ask : job.asks)
        if (!ask.query.empty() || !ask.evidence.empty()) open.push_back(ask);
    DoublesEnd doubles_end;
    std::vector<Shares> shares = TableSums(job, order, open).sum();
    for (const Shares &own : shares)
        if (own.lost(doubles_end.met())) return {};
    uint32_t models = consistent(job, order);
    uint32_t other = job.builder.product(job.builder.leaf({Value::OTHER, 0, 0}), models);
    std::vector<uint32_t> roots;
    size_t next = 0;
    for (const Ask &ask : job.asks) {
        if (ask.query.empty() && ask.evidence.empty()) {
            roots.push_back(models);
            continue;
        }
        const Shares &own = shares[next++];
        // The value has two kinds, so that evaluation uses its numbers.
        uint32_t found = job.builder.leaf({Value::QE | Value::E, own.qe, own.e, false});
        roots.push_back(job.builder.sum({{ONE, found}, {ONE, other}}));
    }
    return roots;
}

}  // namespace dpasp
