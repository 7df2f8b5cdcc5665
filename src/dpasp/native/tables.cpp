// The second way: determinisation along an order of the inputs.
//
// Inputs are read one by one. A *table* holds the entries of all assignments of the guesses read
// so far, with counts. Prefixes of choices with equal tables are one state; states and choices
// make a decision diagram, and the last table says which models there are.
#include <tuple>
#include <unordered_map>

#include "sweep.hpp"
#include "ways.hpp"

namespace dpasp {
namespace {

class Tables {
  public:
    Tables(const Job &job, const std::vector<Input> &order, const Ask &ask, Mode mode)
        : gates_(job.problem.gates), order_(order), sweep_(job, order, ask, mode),
          share_(1.0 / double(job.asks.size())), budget_(job.budget), builder_(job.builder) {}

    uint32_t compile() {
        std::vector<Table> layer(1, sweep_.entries.first());
        std::vector<std::vector<uint32_t>> steps;  // children, `values` a state
        for (uint32_t s = 0; s < order_.size(); ++s) {
            steps.emplace_back();
            layer = advance(s, layer, steps.back());
            budget_.advance(share_ / double(order_.size()));
        }
        std::vector<uint32_t> nodes;
        for (const Table &table : layer)
            nodes.push_back(builder_.leaf(sweep_.entries.value(table)));
        for (uint32_t s = uint32_t(order_.size()); s-- > 0;) {
            uint32_t values = sweep_.values(s);
            std::vector<uint32_t> before(steps[s].size() / values), children(values);
            for (size_t i = 0; i < before.size(); ++i) {
                for (uint32_t v = 0; v < values; ++v) {
                    uint32_t to = steps[s][i * values + v];
                    children[v] = to == UINT32_MAX ? Builder::FALSE_NODE : nodes[to];
                }
                before[i] = order_[s].choice
                                ? builder_.decision(gates_.choices[order_[s].id].leaf, children)
                                : children[0];
            }
            nodes = std::move(before);
        }
        return nodes[0];
    }

  private:
    const Gates &gates_;
    const std::vector<Input> &order_;
    Sweep sweep_;
    double share_;  // of the whole attempt
    Budget &budget_;
    Builder &builder_;

    std::vector<Table> advance(uint32_t s, const std::vector<Table> &layer,
                               std::vector<uint32_t> &edges) {
        std::unordered_map<Key, uint32_t, KeyHash> known;
        std::vector<Table> next;
        uint32_t values = sweep_.values(s);
        edges.reserve(layer.size() * values);
        size_t held = 0;  // words of this layer
        for (const Table &table : layer)
            for (uint32_t v = 0; v < values; ++v) {
                Table result = sweep_.next(s, table, v);
                budget_.charge(sweep_.work(result));
                if (!result.count) {
                    edges.push_back(UINT32_MAX);
                    continue;
                }
                sweep_.entries.tidy(result);
                auto [place, fresh] =
                    known.try_emplace(sweep_.entries.hash(result), uint32_t(next.size()));
                // Different tables with one key: the next key that is free or right.
                for (Key key = place->first; !fresh && !next[place->second].same(result);) {
                    ++key.high;
                    std::tie(place, fresh) = known.try_emplace(key, uint32_t(next.size()));
                }
                edges.push_back(place->second);
                if (!fresh) continue;
                held += result.words.size();
                if (++budget_.size > budget_.nodes || held > 2 * budget_.nodes)
                    throw Stopped(Reason::Size, "tables of more entries than were allowed");
                next.push_back(std::move(result));
            }
        return next;
    }
};

}  // namespace

std::vector<uint32_t> compile_tables(const Job &job, const std::vector<Input> &order) {
    // Without atoms that may be undefined all that is left of lstable is counting.
    bool least = job.mode == Mode::Least && !job.part.undefined.empty();
    Mode mode = job.mode == Mode::Least && !least ? Mode::Counts : job.mode;
    std::vector<uint32_t> roots;
    for (const Ask &ask : job.asks) roots.push_back(Tables(job, order, ask, mode).compile());
    return roots;
}

}  // namespace dpasp
