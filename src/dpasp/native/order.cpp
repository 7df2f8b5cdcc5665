#include "problem.hpp"

#include <cmath>
#include <cstdlib>
#include <deque>

#include "tuning.hpp"

namespace dpasp {
namespace {

class Arranger {
  public:
    Arranger(const OrderGraph &graph, Watch &watch) : graph_(graph), watch_(watch) {
        uint32_t n = graph.vertices;
        position_.assign(n, UINT32_MAX);
        start_.assign(n + 1, 0);
        for (const Scope &scope : graph.scopes)
            for (uint32_t v : scope.members) ++start_[v + 1];
        for (uint32_t v = 0; v < n; ++v) start_[v + 1] += start_[v];
        scope_.resize(start_[n]);
        std::vector<uint32_t> at(start_.begin(), start_.end() - 1);
        for (uint32_t h = 0; h < graph.scopes.size(); ++h) {
            for (uint32_t v : graph.scopes[h].members) scope_[at[v]++] = h;
            left_.push_back(uint32_t(graph.scopes[h].members.size()));
        }
        open_.resize(n);
        for (uint32_t v = 0; v < n; ++v) open_[v] = start_[v + 1] - start_[v];
        mark_.assign(n, 0);
    }

    std::vector<uint32_t> run(Order order, uint32_t first = UINT32_MAX) {
        if (first != UINT32_MAX) narrow(first);
        for (uint32_t v = 0; v < graph_.vertices; ++v) {
            if (position_[v] != UINT32_MAX) continue;
            std::vector<uint32_t> region = reach(v);
            if (region.size() > 2) region = reach(reach(region.back()).back());
            if (order == Order::Narrow && region.size() <= tuning::NARROW_REGION)
                narrow(region[0]);
            else
                for (uint32_t u : region) place(u);
        }
        return std::move(position_);
    }

  private:
    const OrderGraph &graph_;
    Watch &watch_;
    std::vector<uint32_t> start_, scope_;  // scopes of each vertex
    std::vector<uint32_t> left_;           // members not yet placed, by scope
    std::vector<uint32_t> open_;           // scopes not yet complete, by vertex
    std::vector<uint32_t> position_, mark_;
    uint32_t placed_ = 0, round_ = 0;

    // The vertices connected with a vertex, nearest first.
    std::vector<uint32_t> reach(uint32_t from) {
        ++round_;
        std::vector<uint32_t> found{from};
        std::vector<uint8_t> seen(graph_.scopes.size(), 0);
        mark_[from] = round_;
        for (size_t i = 0; i < found.size(); ++i)
            for (uint32_t s = start_[found[i]]; s < start_[found[i] + 1]; ++s) {
                if (seen[scope_[s]]) continue;
                seen[scope_[s]] = 1;
                for (uint32_t v : graph_.scopes[scope_[s]].members)
                    if (mark_[v] != round_) mark_[v] = round_, found.push_back(v);
            }
        return found;
    }

    void place(uint32_t v) {
        position_[v] = placed_++;
        for (uint32_t s = start_[v]; s < start_[v + 1]; ++s)
            if (--left_[scope_[s]] == 0)
                for (uint32_t u : graph_.scopes[scope_[s]].members) --open_[u];
    }

    // How much the frontier grows if v is placed next.
    int growth(uint32_t v) {
        ++round_;
        int change = 0;
        uint32_t mine = open_[v];
        std::vector<std::pair<uint32_t, uint32_t>> closing;
        for (uint32_t s = start_[v]; s < start_[v + 1]; ++s) {
            if (left_[scope_[s]] != 1) continue;
            --mine;
            for (uint32_t u : graph_.scopes[scope_[s]].members)
                if (u != v) closing.emplace_back(u, 1);
        }
        std::sort(closing.begin(), closing.end());
        for (size_t i = 0; i < closing.size();) {
            size_t j = i;
            while (j < closing.size() && closing[j].first == closing[i].first) ++j;
            if (open_[closing[i].first] == j - i) --change;
            i = j;
        }
        return change + (mine > 0);
    }

    void narrow(uint32_t first) {
        std::deque<uint32_t> waiting{first};
        std::vector<uint8_t> &listed = listed_;
        if (listed.empty()) listed.assign(graph_.vertices, 0);
        listed[first] = 1;
        while (!waiting.empty()) {
            watch_.look();
            size_t best = 0;
            int least = INT32_MAX;
            for (size_t i = 0; i < waiting.size() && i < tuning::NARROW_CANDIDATES; ++i) {
                int now = growth(waiting[i]);
                if (now < least) least = now, best = i;
                if (now < 0) break;
            }
            uint32_t v = waiting[best];
            waiting.erase(waiting.begin() + ptrdiff_t(best));
            place(v);
            for (uint32_t s = start_[v]; s < start_[v + 1]; ++s)
                for (uint32_t u : graph_.scopes[scope_[s]].members)
                    if (!listed[u]) listed[u] = 1, waiting.push_back(u);
        }
    }
    std::vector<uint8_t> listed_;
};

// Improves an order; the cost is exponential in the number of vertices that wait for later ones.
class Polisher {
  public:
    Polisher(const OrderGraph &graph, Watch &watch) : graph_(graph), watch_(watch) {
        std::vector<uint8_t> used(graph.vertices, 0);
        for (const Scope &scope : graph.scopes)
            for (uint32_t v : scope.members) used[v] = 1;
        for (uint32_t v = 0; v < graph.vertices; ++v)
            if (used[v]) vertices_.push_back(v);
        input_.assign(graph.vertices, 0);
        for (uint32_t v : graph.choice_vertex) input_[v] = 1;
        for (uint32_t v : graph.guess_vertex) input_[v] = 1;
    }

    std::vector<uint32_t> run() {
        std::mt19937 random(1);
        std::vector<uint32_t> best;
        double least = INFINITY;
        bool large = vertices_.size() > tuning::POLISHED_VERTICES;
        size_t starts =
            std::min(vertices_.size(), large ? tuning::LARGE_STARTS : tuning::POLISH_STARTS);
        for (size_t i = 0; i < std::max<size_t>(starts, 1) && !vertices_.empty(); ++i) {
            watch_.look();
            uint32_t first =
                vertices_[starts == vertices_.size() ? i : random() % vertices_.size()];
            auto position = Arranger(graph_, watch_).run(Order::Narrow, first);
            double now = cost(position);
            if (now < least) least = now, best = position;
        }
        if (best.empty()) best.assign(graph_.vertices, 0);
        if (!vertices_.empty() && !large) anneal(best, least, random);
        return best;
    }

  private:
    const OrderGraph &graph_;
    Watch &watch_;
    std::vector<uint32_t> vertices_;
    std::vector<uint8_t> input_;  // by vertex: whether it is a choice or a guess

    // The sum over all places of what must be remembered there. A rule is read with the last of its
    // inputs. At a place, an atom is an exit if some of its rules are read and some of its uses are
    // not, and an entry if it is used and not all of its rules are read. For every exit it must be
    // remembered whether it is true already, and which entries would make it true.
    double cost(const std::vector<uint32_t> &position) const {
        uint32_t n = uint32_t(position.size());
        std::vector<Span> rules(n), uses(n);
        for (const Scope &scope : graph_.scopes) {
            uint32_t time = read(scope, position);
            for (uint32_t v : scope.members) (v == scope.head ? rules : uses)[v].add(time);
        }
        std::vector<int32_t> entries(n + 1, 0), exits(n + 1, 0), inputs(n + 1, 0);
        auto count = [](std::vector<int32_t> &change, uint32_t from, uint32_t to) {
            if (from < to) ++change[from], --change[to];
        };
        for (uint32_t v : vertices_) {
            if (input_[v])
                count(inputs, std::min({position[v], rules[v].first, uses[v].first}),
                      std::max({position[v], rules[v].last, uses[v].last}));
            else {
                bool used = uses[v].first != UINT32_MAX;  // if not, it is asked for at the end
                count(exits, rules[v].first, used ? uses[v].last : n);
                count(entries, uses[v].first, rules[v].last);
            }
        }
        double total = 0;
        int32_t in = 0, out = 0, open = 0;
        for (uint32_t p = 0; p < n; ++p) {
            in += entries[p], out += exits[p], open += inputs[p];
            double bits = tuning::OPEN_INPUT * open + tuning::OPEN_EXIT * out * (1 + in);
            total += std::exp2(std::min(bits, 1000.0));
        }
        return total;
    }

    struct Span {
        uint32_t first = UINT32_MAX, last = 0;
        void add(uint32_t time) { first = std::min(first, time), last = std::max(last, time); }
    };

    // When a scope is read: with its last input, or its last member if it has no input.
    uint32_t read(const Scope &scope, const std::vector<uint32_t> &position) const {
        uint32_t last = 0, last_input = 0;
        bool some = false;
        for (uint32_t v : scope.members) {
            last = std::max(last, position[v]);
            if (input_[v]) some = true, last_input = std::max(last_input, position[v]);
        }
        return some ? last_input : last;
    }

    // Moves single vertices; accepts better orders, and at first slightly worse ones.
    void anneal(std::vector<uint32_t> &position, double least, std::mt19937 &random) {
        std::vector<uint32_t> at(position.size());
        for (uint32_t v = 0; v < position.size(); ++v) at[position[v]] = v;
        std::vector<uint32_t> best(position);
        double now = std::log(least), record = now;
        size_t work = 0;
        for (const Scope &scope : graph_.scopes) work += scope.members.size() + 2;
        size_t rounds =
            std::min(tuning::POLISH_MOVES, tuning::POLISH_STEPS / (work + position.size() + 1));
        std::uniform_real_distribution<double> uniform(0, 1);
        for (size_t i = 0; i < rounds; ++i) {
            watch_.look();
            double heat = tuning::POLISH_HEAT * (1 - double(i) / double(rounds));
            const Scope &scope = graph_.scopes[random() % graph_.scopes.size()];
            uint32_t v = scope.members[random() % scope.members.size()];
            uint32_t u = scope.members[random() % scope.members.size()];
            uint32_t from = position[v], to = position[u];
            if (random() % tuning::POLISH_FAR == 0) to = uint32_t(random() % at.size());
            if (from == to) continue;
            shift(at, position, from, to);
            double then = std::log(cost(position));
            if (then <= now || uniform(random) < std::exp((now - then) / (heat + 1e-9))) {
                now = then;
                if (now < record - 1e-12) record = now, best = position;
            } else {
                shift(at, position, to, from);
            }
        }
        position = best;
    }

    static void shift(std::vector<uint32_t> &at, std::vector<uint32_t> &position, uint32_t from,
                      uint32_t to) {
        uint32_t v = at[from];
        int step = from < to ? 1 : -1;
        for (uint32_t i = from; i != to; i = uint32_t(int64_t(i) + step)) {
            at[i] = at[size_t(int64_t(i) + step)];
            position[at[i]] = i;
        }
        at[to] = v;
        position[v] = to;
    }
};

// Positions in the order in which a depth-first search from the questions meets the inputs.
std::vector<uint32_t> depth_first(const Problem &problem) {
    std::vector<uint32_t> position(problem.graph.vertices, UINT32_MAX);
    std::vector<uint8_t> seen(problem.gates.size(), 0);
    std::vector<Lit> roots;
    for (const Question &question : problem.questions) {
        roots.insert(roots.end(), question.query.begin(), question.query.end());
        roots.insert(roots.end(), question.evidence.begin(), question.evidence.end());
    }
    roots.insert(roots.end(), problem.asserted.begin(), problem.asserted.end());
    roots.insert(roots.end(), problem.undefined.begin(), problem.undefined.end());
    uint32_t placed = 0;
    std::vector<uint32_t> todo;
    for (Lit root : roots) {
        todo.push_back(gate_of(root));
        while (!todo.empty()) {
            uint32_t g = todo.back();
            todo.pop_back();
            if (seen[g]) continue;
            seen[g] = 1;
            const Gate &gate = problem.gates.gates[g];
            uint32_t vertex = UINT32_MAX;
            if (gate.kind == Kind::Value) vertex = problem.graph.choice_vertex[gate.first];
            if (gate.kind == Kind::Guess) vertex = problem.graph.guess_vertex[gate.first];
            if (vertex != UINT32_MAX && position[vertex] == UINT32_MAX) position[vertex] = placed++;
            if (gate.kind == Kind::And)
                for (const Lit *in = problem.gates.end(g); in-- != problem.gates.begin(g);)
                    todo.push_back(gate_of(*in));
        }
    }
    for (uint32_t &p : position)
        if (p == UINT32_MAX) p = placed++;
    return position;
}

}  // namespace

std::vector<uint32_t> arrange(const Problem &problem, Order order, Watch &watch) {
    if (order == Order::Depth) return depth_first(problem);
    if (order == Order::Polished) return Polisher(problem.graph, watch).run();
    return Arranger(problem.graph, watch).run(order);
}

std::vector<Input> order_inputs(const Problem &problem, const Part &part,
                                const std::vector<uint32_t> &position) {
    std::vector<std::pair<uint32_t, Input>> keyed;
    for (uint32_t choice : part.choices)
        keyed.push_back({position[problem.graph.choice_vertex[choice]], {true, choice}});
    for (uint32_t gate : part.guesses)
        keyed.push_back(
            {position[problem.graph.guess_vertex[problem.gates.gates[gate].first]], {false, gate}});
    std::stable_sort(keyed.begin(), keyed.end(),
                     [](auto &a, auto &b) { return a.first < b.first; });
    std::vector<Input> order;
    for (auto &item : keyed) order.push_back(item.second);
    return order;
}

uint32_t cut_width(const Problem &problem, const Part &part, const std::vector<Input> &order) {
    const Gates &gates = problem.gates;
    InputPlaces steps(order);
    std::vector<uint32_t> known;  // by place: the step after which the gate is known
    known.reserve(part.gates.size());
    std::vector<int32_t> change(order.size() + 1, 0);
    for (uint32_t g : part.gates) {
        const Gate &gate = gates.gates[g];
        if (gate.kind == Kind::And) {
            uint32_t first = UINT32_MAX, last = 0;
            for (const Lit *in = gates.begin(g); in != gates.end(g); ++in) {
                uint32_t inner = known[part.place(*in)];
                first = std::min(first, inner), last = std::max(last, inner);
            }
            known.push_back(last);
            ++change[first], --change[last];
        } else {
            known.push_back(steps.of(gates, g));
        }
    }
    int32_t open = 0, widest = 0;
    for (int32_t c : change) widest = std::max(widest, open += c);
    return uint32_t(widest);
}

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

    // Vertices are the program's atoms, its choices (instead of their selectors), and additional
    // atoms.
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

    // The atom that an atom is equal to, or the negation of; itself if there is none.
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
        sort_unique(scope.members);
        if (scope.members.size() > 1) graph_.scopes.push_back(std::move(scope));
    }
};

}  // namespace

OrderGraph order_graph(const Ground &ground, const Rules &rules, const Guesses &guesses,
                       const std::vector<uint8_t> &needed) {
    return GraphBuilder(ground, rules, guesses, needed).build();
}

}  // namespace dpasp
