#include "ground.hpp"

#include <cstdlib>
#include <map>
#include <optional>

#include "tuning.hpp"

// Of all rules that compare the same sum, the bounds b₁ < … < bₘ cut the totals into m + 1 classes.
// The sum is read group by group: atoms that exclude each other, since they need different values
// of one choice, are one group. After each group there is a state for every total so far, or for
// the class once nothing that follows can change it, and exactly one of them holds:
//
//     total(k+1, s+w) :- total(k, s), "the atom with the weight w of group k holds".
//
// The last states are the classes. A body that says b ≤ Σ < c is the disjunction of some of them.

namespace dpasp {
namespace {

struct Values {  // of one choice
    uint32_t choice;
    std::vector<uint32_t> values;
};

// What must have been chosen if an atom holds: at most a few choices, smallest first.
using Support = std::vector<Values>;

bool disjoint(const std::vector<uint32_t> &a, const std::vector<uint32_t> &b) {
    for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
        if (a[i] == b[j]) return false;
        a[i] < b[j] ? ++i : ++j;
    }
    return true;
}

bool exclude(const Support &a, const Support &b) {
    for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
        if (a[i].choice == b[j].choice) {
            if (disjoint(a[i].values, b[j].values)) return true;
            ++i, ++j;
        } else {
            a[i].choice < b[j].choice ? ++i : ++j;
        }
    }
    return false;
}

// The choices that each atom depends on, by the rules.
class Supports {
  public:
    std::vector<uint32_t> component;  // by atom
    std::vector<uint32_t> first;      // by atom: the first choice that it depends on
    std::vector<Support> of;          // by atom
    std::vector<uint8_t> exact;       // by atom: whether the values alone make it true

    Supports(const Ground &ground, const Rules &rules, Watch &watch)
        : component(rules.atoms, 0), first(rules.atoms, UINT32_MAX), of(rules.atoms),
          exact(rules.atoms, 0), rules_(rules) {
        for (uint32_t c = 0; c < ground.choices.size(); ++c) {
            const auto &selectors = ground.choices[c].selectors;
            for (uint32_t v = 0; v < selectors.size(); ++v) {
                of[selectors[v]] = {{c, {v}}};
                first[selectors[v]] = c;
                exact[selectors[v]] = 1;
            }
        }
        uint32_t number = 0;
        for (const auto &part : components(rules.dependencies())) {
            ++number;
            for (uint32_t atom : part) component[atom] = number;
            uint32_t least = UINT32_MAX;
            bool recursive = part.size() > 1;
            for (uint32_t atom : part)
                for (uint32_t r : rules.of[atom])
                    for (int32_t b : rules.all[r].body.literals) {
                        watch.check();
                        auto below = uint32_t(std::abs(b));
                        least = std::min(least, first[below]);
                        recursive = recursive || below == atom;
                    }
            for (uint32_t atom : part)
                if (!rules.of[atom].empty()) first[atom] = least;
            if (!recursive) support(part[0]);
        }
    }

  private:
    const Rules &rules_;

    void support(uint32_t atom) {
        const auto &defining = rules_.of[atom];
        if (defining.empty()) return;
        Support all;
        bool alone = true;
        for (size_t i = 0; i < defining.size(); ++i) {
            const Rule &rule = rules_.all[defining[i]];
            Support here = rule.body.weighted ? Support() : body(rule.body.literals);
            all = i == 0 ? std::move(here) : either(all, here);
            const auto &literals = rule.body.literals;
            alone = alone && !rule.itself && !rule.body.weighted && literals.size() == 1 &&
                    literals[0] > 0 && exact[size_t(literals[0])];
            if (all.empty()) return;
        }
        exact[atom] = alone && all.size() == 1;
        of[atom] = std::move(all);
    }

    Support body(const std::vector<int32_t> &literals) const {
        std::map<uint32_t, std::vector<uint32_t>> joined;
        for (int32_t b : literals)
            if (b > 0)
                for (const Values &values : of[size_t(b)]) {
                    auto [place, fresh] = joined.try_emplace(values.choice, values.values);
                    if (fresh) continue;
                    std::vector<uint32_t> both;
                    std::set_intersection(place->second.begin(), place->second.end(),
                                          values.values.begin(), values.values.end(),
                                          std::back_inserter(both));
                    place->second = std::move(both);
                }
        Support result;
        for (auto &[choice, values] : joined) {
            if (result.size() == tuning::SUPPORT) break;
            result.push_back({choice, std::move(values)});
        }
        return result;
    }

    static Support either(const Support &a, const Support &b) {
        Support result;
        for (const Values &one : a)
            for (const Values &other : b)
                if (one.choice == other.choice) {
                    Values both{one.choice, {}};
                    std::set_union(one.values.begin(), one.values.end(), other.values.begin(),
                                   other.values.end(), std::back_inserter(both.values));
                    result.push_back(std::move(both));
                }
        return result;
    }
};

using Item = std::pair<uint32_t, int64_t>;  // an atom and its weight, not 0

// The rules with the same sum in their bodies, and the bounds that it is compared with.
struct Sum {
    std::vector<std::pair<uint32_t, int64_t>> rules;
};

struct Group {
    std::vector<Item> items;       // no two atoms hold together
    std::vector<uint32_t> values;  // of the first choice, all that some atom needs
    bool certain = false;          // one of them always holds
    int64_t low = 0, high = 0;
};

class Totals {
  public:
    Totals(const Ground &ground, Rules &rules, Watch &watch)
        : ground_(ground), rules_(rules), watch_(watch), supports_(ground, rules, watch),
          replaced_(rules.all.size(), 0), window_of_(rules.atoms, {0, 0}) {}

    void run() {
        collect();
        for (auto &[items, sum] : sums_) replace(items, sum);
        if (!sums_of_.empty()) narrow_bodies();
    }

  private:
    // The classes of a sum: `last[j]` is the atom of the j-th, 0 if it cannot occur.
    struct Classes {
        std::vector<int64_t> bounds;
        std::vector<uint32_t> last;
        std::map<std::pair<uint32_t, uint32_t>, uint32_t> windows;
    };

    const Ground &ground_;
    Rules &rules_;
    Watch &watch_;
    Supports supports_;
    std::map<std::vector<Item>, Sum> sums_;
    std::vector<Classes> sums_of_;
    std::vector<uint8_t> replaced_;  // by rule: whether it had weights
    // For each atom, one more than the sum that it compares, and the first class where it holds.
    std::vector<std::pair<uint32_t, uint32_t>> window_of_;
    uint32_t never_ = 0;

    uint32_t fresh() { return rules_.atoms++; }
    uint32_t never() { return never_ ? never_ : never_ = fresh(); }
    void add(uint32_t head, std::vector<int32_t> literals) {
        watch_.check();
        Body body;
        body.literals = std::move(literals);
        rules_.all.push_back({head, 0, std::move(body)});
    }

    void collect() {
        for (uint32_t r = 0; r < rules_.all.size(); ++r) {
            watch_.check();
            const Rule &rule = rules_.all[r];
            if (!rule.body.weighted) continue;
            std::map<uint32_t, int64_t> weight;
            int64_t bound = rule.body.bound;
            double size = std::abs(double(bound));
            bool recursive = false;
            for (size_t i = 0; i < rule.body.literals.size(); ++i) {
                int32_t b = rule.body.literals[i];
                int64_t w = rule.body.weights[i];
                size += std::abs(double(w));
                if (size > double(tuning::LARGEST_TOTAL)) break;
                auto atom = uint32_t(std::abs(b));
                weight[atom] += b > 0 ? w : -w;  // w * not a = w - w * a
                if (b < 0) bound -= w;
                recursive = recursive || (rule.head && supports_.component[atom] ==
                                                           supports_.component[rule.head]);
            }
            if (recursive || size > double(tuning::LARGEST_TOTAL)) continue;
            std::vector<Item> items;
            for (auto [atom, w] : weight)
                if (w != 0) items.emplace_back(atom, w);
            sums_[std::move(items)].rules.emplace_back(r, bound);
        }
    }

    // --- groups

    std::vector<Group> groups(const std::vector<Item> &items) const {
        std::map<uint32_t, std::vector<Group>> of_choice;
        std::vector<std::pair<std::pair<uint32_t, uint32_t>, Group>> ordered;
        for (auto [atom, weight] : items) {
            watch_.check();
            const Support &support = supports_.of[atom];
            Group one;
            one.items = {{atom, weight}};
            if (support.empty()) {
                ordered.push_back({{supports_.first[atom], atom}, std::move(one)});
                continue;
            }
            one.values = support[0].values;
            std::vector<Group> &there = of_choice[support[0].choice];
            Group *home = nullptr;
            for (Group &group : there)
                if (!home && fits(group, atom)) home = &group;
            if (!home) {
                there.push_back(std::move(one));
                continue;
            }
            home->items.emplace_back(atom, weight);
            std::vector<uint32_t> all;
            std::set_union(home->values.begin(), home->values.end(), one.values.begin(),
                           one.values.end(), std::back_inserter(all));
            home->values = std::move(all);
        }
        for (auto &[choice, there] : of_choice)
            for (Group &group : there) {
                group.certain = covers(group, ground_.choices[choice]);
                ordered.push_back({{choice, group.items[0].first}, std::move(group)});
            }
        std::stable_sort(ordered.begin(), ordered.end(),
                         [](auto &a, auto &b) { return a.first < b.first; });
        std::vector<Group> result;
        for (auto &[_, group] : ordered) {
            group.low = group.certain ? group.items[0].second : 0;
            group.high = group.low;
            for (auto [atom, weight] : group.items) {
                group.low = std::min(group.low, weight);
                group.high = std::max(group.high, weight);
            }
            result.push_back(std::move(group));
        }
        return result;
    }

    bool fits(const Group &group, uint32_t atom) const {
        const Support &support = supports_.of[atom];
        if (disjoint(group.values, support[0].values)) return true;
        if (support.size() == 1 || group.items.size() > tuning::COMPARED) return false;
        for (auto [other, _] : group.items)
            if (!exclude(supports_.of[other], support)) return false;
        return true;
    }

    bool covers(const Group &group, const GroundChoice &choice) const {
        if (choice.nothing || group.values.size() != choice.selectors.size()) return false;
        for (auto [atom, _] : group.items)
            if (!supports_.exact[atom]) return false;
        return true;
    }

    // --- states

    void replace(const std::vector<Item> &items, const Sum &sum) {
        std::vector<Group> read = groups(items);
        Classes classes;
        for (auto [_, bound] : sum.rules) classes.bounds.push_back(bound);
        sort_unique(classes.bounds);
        bool several = false;
        for (const Group &group : read) several = several || group.items.size() > 1;
        if (!several && classes.bounds.size() < tuning::MANY_BOUNDS) return;
        uint32_t atoms = rules_.atoms;
        size_t before = rules_.all.size();
        if (!chain(read, classes)) {
            rules_.atoms = atoms;
            rules_.all.resize(before);
            return;
        }
        sums_of_.push_back(std::move(classes));
        auto number = uint32_t(sums_of_.size());
        for (auto [r, bound] : sum.rules) {
            const auto &bounds = sums_of_.back().bounds;
            auto place = std::lower_bound(bounds.begin(), bounds.end(), bound) - bounds.begin();
            auto from = uint32_t(place) + 1;
            Rule &rule = rules_.all[r];
            if (rule.head && !rule.itself && rules_.of[rule.head].size() == 1)
                window_of_[rule.head] = {number, from};
            auto literal = int32_t(window(sums_of_.back(), from, uint32_t(bounds.size()) + 1));
            rules_.all[r].body = Body();
            rules_.all[r].body.literals = {literal};
        }
    }

    // Adds the states of a sum; false if there are too many (some rules then remain).
    bool chain(const std::vector<Group> &read, Classes &classes) {
        const auto &bounds = classes.bounds;
        std::vector<int64_t> low(read.size() + 1, 0), high(read.size() + 1, 0);
        for (size_t k = read.size(); k-- > 0;) {
            low[k] = low[k + 1] + read[k].low;
            high[k] = high[k + 1] + read[k].high;
        }
        auto reached = [&](int64_t total) {
            return std::upper_bound(bounds.begin(), bounds.end(), total) - bounds.begin();
        };
        using Key = std::pair<bool, int64_t>;  // whether the class is known, and it or the total
        auto key = [&](int64_t total, size_t k) {
            auto from = reached(total + low[k]), to = reached(total + high[k]);
            return from == to ? Key(true, from) : Key(false, total);
        };
        std::map<Key, uint32_t> states, next;
        size_t most = rules_.all.size() + tuning::MOST_TOTALS;
        states[key(0, 0)] = fresh();
        add(states.begin()->second, {});
        for (size_t k = 0; k < read.size(); ++k) {
            std::vector<std::pair<int64_t, int32_t>> options = weights(read[k]);
            next.clear();
            for (auto [state, atom] : states) {
                auto go = [&](Key to, std::vector<int32_t> literals) {
                    auto [place, is_new] = next.try_emplace(to, 0);
                    if (is_new) place->second = fresh();
                    add(place->second, std::move(literals));
                };
                if (state.first)
                    go(state, {int32_t(atom)});
                else
                    for (auto [weight, literal] : options)
                        go(key(state.second + weight, k + 1), {int32_t(atom), literal});
            }
            if (rules_.all.size() > most) return false;
            states.swap(next);
        }
        classes.last.assign(bounds.size() + 1, 0);
        for (auto [state, atom] : states) classes.last[size_t(state.second)] = atom;
        return true;
    }

    // The weights that a group may add, each with a literal for that.
    std::vector<std::pair<int64_t, int32_t>> weights(const Group &group) {
        std::map<int64_t, std::vector<uint32_t>> atoms;
        for (auto [atom, weight] : group.items) atoms[weight].push_back(atom);
        std::vector<std::pair<int64_t, int32_t>> options;
        if (!group.certain) {
            auto none = -int32_t(group.items[0].first);
            if (group.items.size() > 1) {
                std::vector<int32_t> literals;
                for (auto [atom, _] : group.items) literals.push_back(-int32_t(atom));
                none = int32_t(fresh());
                add(uint32_t(none), std::move(literals));
            }
            options.emplace_back(0, none);
        }
        for (auto &[weight, alike] : atoms) {
            uint32_t one = alike[0];
            if (alike.size() > 1) {
                one = fresh();
                for (uint32_t atom : alike) add(one, {int32_t(atom)});
            }
            options.emplace_back(weight, int32_t(one));
        }
        return options;
    }

    // --- bodies

    // An atom that holds if the total is in the classes `from` to `to` - 1.
    uint32_t window(Classes &classes, uint32_t from, uint32_t to) {
        std::vector<uint32_t> held;
        for (uint32_t j = from; j < to; ++j)
            if (classes.last[j]) held.push_back(classes.last[j]);
        if (held.empty()) return never();
        if (held.size() == 1) return held[0];
        auto [place, is_new] = classes.windows.try_emplace({from, to}, 0);
        if (is_new) {
            place->second = fresh();
            for (uint32_t atom : held) add(place->second, {int32_t(atom)});
        }
        return place->second;
    }

    // Merges the literals of a body about the same total: `at least 3, not at least 4` is the class
    // of 3.
    void narrow_bodies() {
        size_t count = replaced_.size();
        for (size_t r = 0; r < count; ++r) {
            watch_.check();
            if (rules_.all[r].body.weighted) continue;
            std::map<uint32_t, std::pair<uint32_t, uint32_t>> windows;
            std::vector<int32_t> rest;
            for (int32_t b : rules_.all[r].body.literals) {
                auto atom = size_t(std::abs(b));
                auto [number, from] =
                    atom < window_of_.size() ? window_of_[atom] : std::pair<uint32_t, uint32_t>();
                if (!number) {
                    rest.push_back(b);
                    continue;
                }
                auto end = uint32_t(sums_of_[number - 1].last.size());
                auto &[low, high] = windows.try_emplace(number, 0, end).first->second;
                if (b > 0)
                    low = std::max(low, from);
                else
                    high = std::min(high, from);
            }
            if (windows.empty()) continue;
            for (auto &[number, between] : windows)
                rest.push_back(
                    int32_t(window(sums_of_[number - 1], between.first, between.second)));
            rules_.all[r].body.literals = std::move(rest);
        }
    }
};

}  // namespace

void add_totals(const Ground &ground, Rules &rules, Watch &watch) {
    bool any = false;
    for (const Rule &rule : rules.all) any = any || rule.body.weighted;
    if (!any) return;
    Totals(ground, rules, watch).run();
    rules.index();
}

}  // namespace dpasp
