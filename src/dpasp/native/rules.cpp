#include "rules.hpp"

#include <algorithm>
#include <unordered_map>

#include "tuning.hpp"

namespace dpasp {
namespace {

class RuleReader {
  public:
    explicit RuleReader(const Ground &ground) : ground_(ground) { rules_.atoms = ground.atoms; }

    Rules read() {
        for (const GroundRule &rule : ground_.rules) {
            std::vector<uint32_t> heads = rule.heads;
            sort_unique(heads);
            if (!heads.empty())
                add(heads, rule);
            else if (!rule.choice)
                rules_.all.push_back({0, 0, rule.body});
        }
        rules_.index();
        return std::move(rules_);
    }

  private:
    const Ground &ground_;
    Rules rules_;
    std::vector<uint32_t> cluster_;  // positive components, made for the first disjunction

    void add(const std::vector<uint32_t> &heads, const GroundRule &rule) {
        bool shifted = !rule.choice && heads.size() > 1;
        if (shifted) refuse_cycle(heads);
        Body body = shifted && rule.body.weighted ? named(rule.body) : rule.body;
        for (uint32_t atom : heads) {
            Rule one{atom, rule.choice ? atom : 0, body};
            if (shifted)
                for (uint32_t other : heads)
                    if (other != atom) one.body.literals.push_back(-int32_t(other));
            const auto &literals = one.body.literals;
            bool says_nothing =  // a :- a
                !body.weighted &&
                std::find(literals.begin(), literals.end(), int32_t(atom)) != literals.end();
            if (!says_nothing) rules_.all.push_back(std::move(one));
        }
    }

    void refuse_cycle(const std::vector<uint32_t> &heads) {
        if (cluster_.empty()) cluster_ = positive_clusters();
        for (size_t i = 0; i < heads.size(); ++i)
            for (size_t j = i + 1; j < heads.size(); ++j)
                if (cluster_[heads[i]] == cluster_[heads[j]])
                    throw Stopped(Reason::HeadCycle, "a disjunction through a positive loop");
    }

    // The literal of a new atom that holds when the weighted body does.
    Body named(const Body &weighted) {
        uint32_t atom = rules_.atoms++;
        rules_.all.push_back({atom, 0, weighted});
        Body plain;
        plain.literals = {int32_t(atom)};
        return plain;
    }

    // By atom: the strongly connected component of the positive dependencies.
    std::vector<uint32_t> positive_clusters() const {
        std::vector<std::pair<uint32_t, uint32_t>> pairs;
        for (const GroundRule &rule : ground_.rules)
            for (int32_t b : rule.body.literals)
                if (b > 0)
                    for (uint32_t head : rule.heads) pairs.emplace_back(head, 2 * uint32_t(b));
        std::vector<uint32_t> cluster(ground_.atoms);
        uint32_t count = 0;
        for (const auto &part : components(Edges(ground_.atoms, pairs))) {
            for (uint32_t atom : part) cluster[atom] = count;
            ++count;
        }
        return cluster;
    }
};

}  // namespace

void Rules::index() {
    of.assign(atoms, {});
    constraints.clear();
    for (uint32_t r = 0; r < all.size(); ++r)
        (all[r].head ? of[all[r].head] : constraints).push_back(r);
}

Edges Rules::dependencies() const {
    std::vector<std::pair<uint32_t, uint32_t>> pairs;
    for (const Rule &rule : all)
        if (rule.head)
            for (int32_t b : rule.body.literals)
                pairs.emplace_back(rule.head, b > 0 ? 2 * uint32_t(b) : 2 * uint32_t(-b) + 1);
    return Edges(atoms, pairs);
}

Rules read_rules(const Ground &ground) { return RuleReader(ground).read(); }

namespace {

class Guesser {
  public:
    Guesser(const Rules &rules, Watch &watch)
        : watch_(watch), graph_(rules.dependencies()), home_(rules.atoms, 0) {
        result_.guessed.assign(rules.atoms, 0);
        result_.loose.assign(rules.atoms, 0);
        for (const Rule &rule : rules.all)
            if (rule.itself) result_.guessed[rule.itself] = 1;
    }

    Guesses run() {
        auto parts = components(graph_);
        for (auto &part : parts) mark_loose(part);
        break_loops(std::move(parts));
        return std::move(result_);
    }

  private:
    Watch &watch_;
    Edges graph_;
    std::vector<uint32_t> home_;  // by atom: the number of its component
    uint32_t components_ = 0;     // so far
    Guesses result_;

    void settle(const std::vector<uint32_t> &part) {
        ++components_;
        for (uint32_t a : part) home_[a] = components_;
    }

    // Components come bottom up: an atom is loose when a model may choose it, or something
    // that it depends on.
    void mark_loose(const std::vector<uint32_t> &part) {
        settle(part);
        bool loose = false;
        for (uint32_t a : part) {
            loose = loose || result_.guessed[a];
            for (uint32_t at = graph_.start[a]; at < graph_.start[a + 1]; ++at) {
                uint32_t edge = graph_.target[at], b = edge >> 1;
                loose = loose || (home_[b] == components_ ? (edge & 1u) : result_.loose[b]);
            }
        }
        if (loose)
            for (uint32_t a : part) result_.loose[a] = 1;
    }

    void break_loops(std::vector<std::vector<uint32_t>> todo) {
        std::vector<uint32_t> order(home_.size()), low(home_.size());
        auto follow = [&](uint32_t from, uint32_t edge) {
            return home_[edge >> 1] == home_[from] && !((edge & 1u) && result_.guessed[edge >> 1]);
        };
        while (!todo.empty()) {
            watch_.check();
            std::vector<uint32_t> part = std::move(todo.back());
            todo.pop_back();
            settle(part);
            if (!guess_in(part)) continue;
            for (uint32_t a : part) order[a] = low[a] = 0;
            for (auto &smaller : components(part, graph_, order, low, follow))
                todo.push_back(std::move(smaller));
        }
    }

    // Guess the atom most often negated inside the part; false when none is.
    bool guess_in(const std::vector<uint32_t> &part) {
        std::unordered_map<uint32_t, uint32_t> times;
        uint32_t best = 0, most = 0;
        for (uint32_t a : part)
            for (uint32_t at = graph_.start[a]; at < graph_.start[a + 1]; ++at) {
                uint32_t edge = graph_.target[at], b = edge >> 1;
                if (!(edge & 1u) || home_[b] != home_[a] || result_.guessed[b]) continue;
                uint32_t now = ++times[b];
                if (now > most || (now == most && b < best)) best = b, most = now;
            }
        if (!most) return false;
        result_.guessed[best] = 1;
        if (part.size() > tuning::LARGE_LOOP)
            for (auto &[atom, _] : times) result_.guessed[atom] = 1;
        return true;
    }
};

}  // namespace

Guesses choose_guesses(const Rules &rules, Watch &watch) { return Guesser(rules, watch).run(); }

}  // namespace dpasp
