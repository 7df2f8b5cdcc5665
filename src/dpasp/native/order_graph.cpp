#include "order_graph.hpp"

#include <algorithm>
#include <cstdlib>

namespace dpasp {
namespace {

class GraphBuilder {
  public:
    GraphBuilder(const Ground &ground, const Rules &rules, const Guesses &guesses,
                 const std::vector<uint8_t> &needed)
        : ground_(ground), rules_(rules), guesses_(guesses), needed_(needed) {}

    OrderGraph build() {
        number();
        for (uint32_t a = 1; a < rules_.atoms; ++a)
            if (guesses_.guessed[a]) graph_.guess_vertex.push_back(vertex_[a]);
        join_equal_atoms();
        for (uint32_t atom : ground_.observed) {
            graph_.choice_vertex.push_back(graph_.vertices);
            graph_.scopes.push_back({{vertex_[atom], graph_.vertices++}});
        }
        for (const Rule &rule : rules_.all)
            if (!rule.head || needed_[rule.head]) add(rule);
        return std::move(graph_);
    }

  private:
    const Ground &ground_;
    const Rules &rules_;
    const Guesses &guesses_;
    const std::vector<uint8_t> &needed_;
    OrderGraph graph_;
    std::vector<uint32_t> vertex_;  // by atom

    // Vertices are the program's atoms, its choices (which stand for their selectors), and the
    // atoms that reading it added.
    void number() {
        auto choices = uint32_t(ground_.choices.size());
        for (uint32_t a = 0; a < rules_.atoms; ++a)
            vertex_.push_back(a < ground_.atoms ? a : a + choices);
        for (uint32_t c = 0; c < choices; ++c) {
            graph_.choice_vertex.push_back(ground_.atoms + c);
            for (uint32_t atom : ground_.choices[c].selectors) vertex_[atom] = ground_.atoms + c;
        }
        graph_.vertices = rules_.atoms + choices;
    }

    // The atom that an atom is the same as, or the opposite of; itself if there is none.
    uint32_t same_as(uint32_t atom) const {
        if (guesses_.guessed[atom] || rules_.of[atom].size() != 1) return atom;
        const Rule &rule = rules_.all[rules_.of[atom][0]];
        const auto &literals = rule.body.literals;
        return literals.size() == 1 && !rule.itself ? uint32_t(std::abs(literals[0])) : atom;
    }

    void join_equal_atoms() {
        std::vector<uint8_t> done(rules_.atoms, 0);
        std::vector<uint32_t> path;
        for (uint32_t atom = 1; atom < rules_.atoms; ++atom) {
            uint32_t last = atom;
            for (path.clear(); !done[last]; last = same_as(last)) {
                done[last] = 1;
                path.push_back(last);
            }
            for (uint32_t a : path) vertex_[a] = vertex_[last];
        }
    }

    void add(const Rule &rule) {
        Scope scope;
        if (rule.head) scope.members.push_back(scope.head = vertex_[rule.head]);
        for (int32_t b : rule.body.literals) scope.members.push_back(vertex_[size_t(std::abs(b))]);
        std::sort(scope.members.begin(), scope.members.end());
        scope.members.erase(std::unique(scope.members.begin(), scope.members.end()),
                            scope.members.end());
        if (scope.members.size() > 1) graph_.scopes.push_back(std::move(scope));
    }
};

}  // namespace

OrderGraph order_graph(const Ground &ground, const Rules &rules, const Guesses &guesses,
                       const std::vector<uint8_t> &needed) {
    return GraphBuilder(ground, rules, guesses, needed).build();
}

}  // namespace dpasp
