// Tables in numbers: the shares of the models that satisfy what is asked, under known weights.
//
// What is wanted is the sum over all total choices of P(θ)·N_qe(θ)/N(θ). Along an order, N(θ) needs
// a table of all models; N_qe(θ) another one, of those that still satisfy query and evidence. The
// second only stands in the numerator, where sums may be taken early: prefixes of choices whose
// tables of *all* models are equal up to a factor are one state, and their second tables, weighed
// by the probabilities of the prefixes, add up. So what is asked makes no state of its own.
#include <tuple>
#include <unordered_map>

#include "sweep.hpp"
#include "ways.hpp"

namespace dpasp {
namespace {

struct State {
    Table models;              // all that is left of the models, at one scale
    std::vector<Table> asked;  // by ask: of those with the evidence, times P(prefix), at that scale

    size_t words() const {
        size_t sum = models.words.size();
        for (const Table &table : asked) sum += table.words.size();
        return sum;
    }
};

struct Shares {
    bool any = false;  // some total choice has a model with the evidence
    double qe = 0, e = 0;

    // So improbable that digits may be lost.
    bool doubtful() const { return any && !(e > TINY); }
};

class TableSums {
  public:
    TableSums(const Job &job, const std::vector<Input> &order, const std::vector<Ask> &asks)
        : choices_(job.problem.gates.choices), order_(order), weights_(*job.weights),
          all_(job, order, Ask{}, Mode::Counts), budget_(job.budget) {
        for (const Ask &ask : asks) asked_.emplace_back(job, order, ask, Mode::Counts);
    }

    std::vector<Shares> sum() {
        std::vector<State> layer(1);
        layer[0].models = all_.entries.first();
        for (const Sweep &sweep : asked_) layer[0].asked.push_back(sweep.entries.first());
        for (uint32_t s = 0; s < order_.size(); ++s) {
            layer = advance(s, layer);
            budget_.advance(1 / double(order_.size()));
        }
        std::vector<Shares> shares(asked_.size());
        for (const State &state : layer)
            for (size_t k = 0; k < shares.size(); ++k) collect(state.asked[k], k, shares[k]);
        return shares;
    }

  private:
    const std::vector<ChoiceShape> &choices_;
    const std::vector<Input> &order_;
    const std::vector<double> &weights_;
    Sweep all_;
    std::vector<Sweep> asked_;
    Budget &budget_;

    std::vector<State> advance(uint32_t s, const std::vector<State> &layer) {
        std::unordered_map<Key, uint32_t, KeyHash> known;
        std::vector<State> next;
        size_t held = 0;  // words of this layer
        for (const State &state : layer)
            for (uint32_t v = 0; v < all_.values(s); ++v) {
                double weight = order_[s].choice ? weights_[choices_[order_[s].id].leaf + v] : 1.0;
                if (weight == 0) continue;
                State result;
                if (!follow(s, state, v, weight, result)) continue;
                auto [place, fresh] =
                    known.try_emplace(all_.entries.hash(result.models), uint32_t(next.size()));
                // Different tables with one key: the next key that is free or right.
                for (Key key = place->first;
                     !fresh && !next[place->second].models.same(result.models);) {
                    ++key.high;
                    std::tie(place, fresh) = known.try_emplace(key, uint32_t(next.size()));
                }
                if (!fresh) {
                    add(result, next[place->second]);
                    continue;
                }
                held += result.words();
                if (++budget_.size > budget_.nodes || held > 2 * budget_.nodes)
                    throw Stopped(Reason::Size, "tables of more entries than were allowed");
                next.push_back(std::move(result));
            }
        return next;
    }

    // The state that a value leads to; false if it has no model with the evidence of any ask.
    bool follow(uint32_t s, const State &state, uint32_t value, double weight, State &result) {
        bool any = false;
        for (size_t k = 0; k < asked_.size(); ++k) {
            Table table = asked_[k].next(s, state.asked[k], value);
            budget_.charge(asked_[k].work(table));
            any = any || table.count;
            result.asked.push_back(std::move(table));
        }
        if (!any) return false;
        result.models = all_.next(s, state.models, value);
        budget_.charge(all_.work(result.models));
        double scale = weight / all_.entries.tidy(result.models);
        for (size_t k = 0; k < asked_.size(); ++k) {
            asked_[k].entries.sort(result.asked[k]);
            keep(result.asked[k], asked_[k].entries.stride(0), scale);
        }
        return true;
    }

    // What satisfies the evidence, times a number.
    static void keep(Table &table, uint32_t width, double scale) {
        uint32_t count = 0;
        for (uint32_t i = 0; i < table.count; ++i) {
            const Word *from = table.words.data() + size_t(i) * width;
            if (from[0] >> Entries::EVIDENCE & 1) continue;
            Word *to = table.words.data() + size_t(count++) * width;
            if (to != from) std::copy_n(from, width, to);
            put_count(to + width - 1, get_count(to + width - 1) * scale);
        }
        table.words.resize(size_t(count) * width);
        table.count = count;
    }

    void add(const State &from, State &to) {
        for (size_t k = 0; k < asked_.size(); ++k) {
            Table &table = to.asked[k];
            table.words.insert(table.words.end(), from.asked[k].words.begin(),
                               from.asked[k].words.end());
            table.count += from.asked[k].count;
            asked_[k].entries.sort(table);
            budget_.charge(1 + table.words.size() / 3);
        }
    }

    void collect(const Table &table, size_t k, Shares &shares) const {
        uint32_t width = asked_[k].entries.stride(0);
        for (uint32_t i = 0; i < table.count; ++i) {
            const Word *entry = table.words.data() + size_t(i) * width;
            double count = get_count(entry + width - 1);
            shares.any = true;
            shares.e += count;
            if (!(entry[0] >> Entries::QUERY & 1)) shares.qe += count;
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
    std::vector<Shares> shares = TableSums(job, order, open).sum();
    for (const Shares &own : shares)
        if (own.doubtful()) return {};
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
        // A value of two kinds, so that its numbers count and not its kind.
        uint32_t found = job.builder.leaf({Value::QE | Value::E, own.qe, own.e, false});
        roots.push_back(job.builder.sum({{ONE, found}, {ONE, other}}));
    }
    return roots;
}

}  // namespace dpasp
