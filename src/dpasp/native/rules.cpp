#include "rules.hpp"

#include <algorithm>

#include "limits.hpp"

namespace dpasp {
namespace {

class RuleReader {
  public:
    explicit RuleReader(const Ground &ground) : ground_(ground) { rules_.atoms = ground.atoms; }

    Rules read() {
        for (const GroundRule &rule : ground_.rules) {
            std::vector<uint32_t> heads = rule.heads;
            std::sort(heads.begin(), heads.end());
            heads.erase(std::unique(heads.begin(), heads.end()), heads.end());
            if (!heads.empty())
                add(heads, rule);
            else if (!rule.choice)
                rules_.all.push_back({0, 0, rule.body});
        }
        rules_.of.resize(rules_.atoms);
        for (uint32_t r = 0; r < rules_.all.size(); ++r) {
            uint32_t head = rules_.all[r].head;
            (head ? rules_.of[head] : rules_.constraints).push_back(r);
        }
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

Edges Rules::dependencies() const {
    std::vector<std::pair<uint32_t, uint32_t>> pairs;
    for (const Rule &rule : all)
        if (rule.head)
            for (int32_t b : rule.body.literals)
                pairs.emplace_back(rule.head, b > 0 ? 2 * uint32_t(b) : 2 * uint32_t(-b) + 1);
    return Edges(atoms, pairs);
}

Rules read_rules(const Ground &ground) { return RuleReader(ground).read(); }

}  // namespace dpasp
