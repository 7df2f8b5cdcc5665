#include "guesses.hpp"

#include <unordered_map>

namespace dpasp {
namespace {

constexpr size_t LARGE = 3000;  // atoms of a loop, above which few guesses are not looked for

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
        if (part.size() > LARGE)
            for (auto &[atom, _] : times) result_.guessed[atom] = 1;
        return true;
    }
};

}  // namespace

Guesses choose_guesses(const Rules &rules, Watch &watch) { return Guesser(rules, watch).run(); }

}  // namespace dpasp
