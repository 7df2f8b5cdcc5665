#include "compile.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>

#include "elimination.hpp"
#include "order.hpp"
#include "ways.hpp"

namespace dpasp {
namespace {

constexpr double MOST_ELIMINATED = 3e8;  // entries of tables, above which other ways are tried
constexpr double MANY_ENTRIES = 5e6;     // of tables: under known weights, numbers will do

class Compiler {
  public:
    Compiler(const Problem &problem, const Options &options, Watch &watch,
             std::atomic<double> &done)
        : problem_(problem), options_(options), watch_(watch), done_(done), positions_(SWEEPS) {}

    std::vector<uint32_t> run(Compiled &result) {
        std::vector<Part> parts = split(problem_);
        for (Lit lit : problem_.asserted)
            if (lit == FALSE_LIT)  // no total choice has a model
                return std::vector<uint32_t>(problem_.questions.size(), Builder::FALSE_NODE);
        std::vector<std::map<uint32_t, Ask>> touched = ask(parts);  // by question, then by part
        std::vector<std::map<Ask, uint32_t>> known = asked(parts, touched);
        double whole = 0;
        for (const Part &part : parts) whole += double(part.gates.size());
        for (uint32_t p = 0; p < parts.size(); ++p) {
            std::vector<Ask> asks = open_asks(parts[p], known[p]);
            share_ = double(parts[p].gates.size()) / whole;
            std::vector<uint32_t> nodes;
            if (!asks.empty()) nodes = compile_part(parts[p], asks, result);
            for (size_t i = 0; i < asks.size(); ++i) known[p][asks[i]] = nodes[i];
            done_ = ready_ += share_;
        }
        return join(parts.size(), touched, known);
    }

    // What would be tried, without doing it.
    void plan(Compiled &result) {
        std::vector<Part> parts = split(problem_);
        std::vector<std::map<Ask, uint32_t>> known = asked(parts, ask(parts));
        for (uint32_t p = 0; p < parts.size(); ++p) {
            std::vector<Ask> asks = open_asks(parts[p], known[p]);
            Budget budget = this->budget(options_.work);
            if (auto way = elimination(parts[p], asks, true, MOST_ELIMINATED, budget)) {
                result.parts.push_back(
                    report(parts[p], {{Way::Elimination, Order::Tree}, {}}, way->width()));
                result.parts.back().entries = way->cost();
                continue;
            }
            for (const Attempt &attempt : attempts(parts[p], false))
                result.parts.push_back(report(parts[p], attempt, attempt.width));
        }
    }

    Builder builder;

  private:
    const Problem &problem_;
    const Options &options_;
    Watch &watch_;
    std::atomic<double> &done_;
    double ready_ = 0, share_ = 0;  // of the whole: the parts that are compiled, and this one
    size_t largest_ = 0;            // of the attempts on this part: nodes
    double allowed_ = 0;            // entries of which eliminating this part would make more
    std::map<Way, double> came_;    // of the attempts on this part: how far the best of a way came
    std::vector<std::vector<uint32_t>> positions_;  // by order, made when first needed

    // By part: the asks of all questions, and the one that asks nothing; their roots are not known.
    static std::vector<std::map<Ask, uint32_t>> asked(
        const std::vector<Part> &parts, const std::vector<std::map<uint32_t, Ask>> &touched) {
        std::vector<std::map<Ask, uint32_t>> known(parts.size());
        for (auto &one : known) one[Ask{}] = 0;
        for (auto &asks : touched)
            for (auto &[p, ask] : asks) known[p][ask] = 0;
        return known;
    }

    // The asks of a part that must be compiled. Without assertions, a question that does not touch
    // a part learns nothing from it.
    static std::vector<Ask> open_asks(const Part &part, std::map<Ask, uint32_t> &known) {
        std::vector<Ask> asks;
        bool idle = part.asserted.empty();
        if (idle) known[Ask{}] = Builder::TRUE_NODE;
        for (auto &[ask, _] : known)
            if (!idle || !(ask.query.empty() && ask.evidence.empty())) asks.push_back(ask);
        return asks;
    }

    // What each question asks of the parts that its literals lie in.
    std::vector<std::map<uint32_t, Ask>> ask(const std::vector<Part> &parts) const {
        std::vector<uint32_t> home(problem_.gates.size(), 0);
        for (uint32_t p = 0; p < parts.size(); ++p)
            for (uint32_t g : parts[p].gates) home[g] = p;
        std::vector<std::map<uint32_t, Ask>> touched;
        for (const Question &question : problem_.questions) {
            std::map<uint32_t, Ask> asks;
            for (Lit lit : question.query)
                if (gate_of(lit)) asks[home[gate_of(lit)]].query.push_back(lit);
            for (Lit lit : question.evidence)
                if (gate_of(lit)) asks[home[gate_of(lit)]].evidence.push_back(lit);
            for (auto &[_, one] : asks) tidy(one);
            touched.push_back(std::move(asks));
        }
        return touched;
    }

    // The product over all parts for each question; parts that it does not touch are shared,
    // as the inner nodes of a balanced tree.
    std::vector<uint32_t> join(size_t parts, const std::vector<std::map<uint32_t, Ask>> &touched,
                               const std::vector<std::map<Ask, uint32_t>> &known) {
        size_t size = 1;
        while (size < parts) size *= 2;
        std::vector<uint32_t> tree(2 * size, Builder::TRUE_NODE);
        for (size_t p = 0; p < parts; ++p) tree[size + p] = known[p].at(Ask{});
        for (size_t i = size; i-- > 1;) tree[i] = builder.product(tree[2 * i], tree[2 * i + 1]);
        std::vector<uint32_t> roots;
        for (size_t k = 0; k < touched.size(); ++k) {
            std::map<size_t, uint32_t> changed;  // nodes of the tree, the highest number first
            for (auto &[p, ask] : touched[k]) changed[size + p] = known[p].at(ask);
            while (!changed.empty() && changed.rbegin()->first > 1) {
                auto [i, node] = *changed.rbegin();
                changed.erase(i);
                auto other = changed.find(i ^ 1);
                uint32_t beside = other == changed.end() ? tree[i ^ 1] : other->second;
                changed.erase(i ^ 1);
                changed[i / 2] = builder.product(node, beside);
            }
            uint32_t all = changed.empty() ? tree[1] : changed.begin()->second;
            roots.push_back(builder.product(constant(problem_.questions[k]), all));
        }
        return roots;
    }

    static void tidy(Ask &ask) {
        for (auto *lits : {&ask.query, &ask.evidence}) {
            std::sort(lits->begin(), lits->end());
            lits->erase(std::unique(lits->begin(), lits->end()), lits->end());
        }
    }

    // What the constant literals of a question say.
    uint32_t constant(const Question &question) {
        bool no_query = false, no_evidence = false;
        for (Lit lit : question.query) no_query = no_query || lit == FALSE_LIT;
        for (Lit lit : question.evidence) no_evidence = no_evidence || lit == FALSE_LIT;
        if (no_evidence) return builder.leaf({Value::OTHER, 0, 0});
        if (no_query) return builder.leaf({Value::E, 0, 1});
        return Builder::TRUE_NODE;
    }

    const std::vector<uint32_t> &positions(Order order) {
        auto &known = positions_[size_t(order)];
        if (known.empty()) known = arrange(problem_, order, watch_);
        return known;
    }

    // One attempt: a way, an order, and what it takes to run them.
    struct Attempt : Attempted {
        std::vector<Input> inputs;
        uint32_t width = 0;
        double progress = 0;
        bool full = false;
        int rank = 0;  // among those of its way
    };

    static PartReport report(const Part &part, const Attempt &attempt, uint32_t width) {
        return {uint32_t(part.choices.size()),
                uint32_t(part.guesses.size()),
                uint32_t(part.gates.size()),
                width,
                static_cast<const Attempted &>(attempt),
                0,
                0};
    }

    // A part that cannot be eliminated has no way of its own then.
    bool allowed(Way way) const {
        return !options_.way || *options_.way == way || options_.way == Way::Elimination;
    }

    bool counting(const Part &part) const {
        return options_.mode != Mode::Bits && !part.guesses.empty();
    }

    // What to try; `hard` adds what takes long to prepare.
    std::vector<Attempt> attempts(const Part &part, bool hard) {
        std::vector<Attempt> list;
        bool least = options_.mode == Mode::Least && !part.undefined.empty();
        if (!least && allowed(Way::Diagram)) add_sweeps(part, Way::Diagram, hard, list);
        if (least || allowed(Way::Tables)) add_sweeps(part, Way::Tables, hard, list);
        std::stable_sort(list.begin(), list.end(),
                         [](auto &a, auto &b) { return a.width < b.width; });
        if (!least && !hard && allowed(Way::Search))
            for (Order order : {Order::Width, Order::Frequency})
                if (!options_.order || *options_.order == order)
                    list.push_back({{Way::Search, order}, {}});
        return list;
    }

    // The attempts of a way that reads the inputs in an order, forwards and backwards.
    void add_sweeps(const Part &part, Way way, bool hard, std::vector<Attempt> &list) {
        bool any_order = !options_.order || int(*options_.order) >= SWEEPS;  // none is forced
        bool tiny = part.choices.size() + part.guesses.size() <= 6;
        // Diagrams that count have the choices first, whatever the order: few are enough.
        bool few = any_order && !hard && (tiny || (counting(part) && way == Way::Diagram));
        bool least = options_.mode == Mode::Least && !part.undefined.empty();
        bool narrow_only = way == Way::Tables && !options_.way && !least;
        for (int s = 0; s < (few ? 1 : SWEEPS); ++s) {
            auto order = Order(s);
            bool costly = order == Order::Polished;
            if (any_order ? costly != hard : *options_.order != order) continue;
            Attempt attempt{{way, order, false}, order_inputs(problem_, part, positions(order))};
            Attempt reverse{{way, order, true}, attempt.inputs};
            std::reverse(reverse.inputs.begin(), reverse.inputs.end());
            for (Attempt *one : {&attempt, &reverse}) {
                one->width = cut_width(problem_, part, one->inputs);
                if (narrow_only && one->width > WIDEST_TABLE) continue;
                list.push_back(std::move(*one));
            }
        }
    }

    // All attempts get a little work; the better half of them more, and so on, until one ends.
    std::vector<uint32_t> compile_part(const Part &part, const std::vector<Ask> &asks,
                                       Compiled &result) {
        std::vector<Attempt> list = attempts(part, false);
        const std::vector<Attempt> first = list;
        largest_ = 0, allowed_ = 0;
        came_.clear();
        if (auto nodes = eliminate(part, asks, true, MOST_ELIMINATED, result); !nodes.empty())
            return nodes;
        // Counting favours tables, everything else diagrams.
        Way favourite = counting(part) ? Way::Tables : Way::Diagram;
        // A small width promises a quick end: the narrowest orders are given time for it.
        std::vector<Attempt> promising;
        for (const Attempt &attempt : list)
            if (attempt.way != Way::Search && attempt.width <= 24 &&
                attempt.order == Order::Narrow && !attempt.reverse)
                promising.push_back(attempt);
        if (auto nodes = race(promising, part, asks, 240000, result); !nodes.empty()) return nodes;
        auto work =
            std::max<uint64_t>(30000, 4 * uint64_t(part.gates.size()));  // preparing takes its part
        for (int round = 0;; ++round, work *= 4) {
            if (auto nodes = race(list, part, asks, work, result); !nodes.empty()) return nodes;
            if (round == (part.guesses.empty() ? 2 : 3)) {
                auto more = attempts(part, true);
                std::stable_partition(more.begin(), more.end(), [&](const Attempt &attempt) {
                    return attempt.way == favourite;
                });
                if (auto nodes = race(more, part, asks, work, result); !nodes.empty()) return nodes;
                list.insert(list.begin(), std::make_move_iterator(more.begin()),
                            std::make_move_iterator(more.end()));
            }
            if (round >= 2)  // by now the others took as much as this would
                if (auto nodes = eliminate(part, asks, false, double(work) / 10, result);
                    !nodes.empty())
                    return nodes;
            narrow(list, !part.guesses.empty(), round < 4);
            if (list.empty() || work >= options_.work)
                throw Stopped(Reason::Size, too_large(part, first));
        }
    }

    // Elimination, if there are groups (or it does not matter) and it is not too much: its cost is
    // known.
    std::unique_ptr<Elimination> elimination(const Part &part, const std::vector<Ask> &asks,
                                             bool groups, double most, Budget &budget) {
        bool forced = options_.way == Way::Elimination;
        if (asks.empty() || !part.guesses.empty() || !allowed(Way::Elimination)) return nullptr;
        auto way = std::make_unique<Elimination>(
            Job{problem_, part, asks, options_.mode, budget, builder, watch_,
                options_.weights.empty() ? nullptr : &options_.weights, forced ? 0 : MANY_ENTRIES});
        if (!forced && way->grouped() != groups) return nullptr;
        if (forced) most = double(options_.work);
        way->prepare(most);
        if (way->cost() <= most) return way;
        allowed_ = most;
        if (!forced) return nullptr;
        throw Stopped(Reason::Size, "elimination would make tables of more entries than the " +
                                        std::to_string(options_.work) + " steps that are allowed");
    }

    std::vector<uint32_t> eliminate(const Part &part, const std::vector<Ask> &asks, bool groups,
                                    double most, Compiled &result) {
        auto start = Clock::now();
        size_t before = builder.nodes.size();
        Budget budget = this->budget(options_.work);
        auto way = elimination(part, asks, groups, most, budget);
        if (!way) return {};
        try {
            auto nodes = way->run();
            result.of_weights = result.of_weights || way->numbered();
            add_report(part, {{Way::Elimination, Order::Tree}, {}}, way->width(), before, start,
                       result);
            return nodes;
        } catch (const Stopped &stopped) {
            if (stopped.reason != Reason::Size || options_.way == Way::Elimination) throw;
            largest_ = std::max(largest_, budget.size);
            came_[Way::Elimination] = budget.progress;
            return {};
        }
    }

    // The roots from the first attempt that ends within so much work; none if no one does.
    std::vector<uint32_t> race(std::vector<Attempt> &list, const Part &part,
                               const std::vector<Ask> &asks, uint64_t work, Compiled &result) {
        for (Attempt &attempt : list) {
            auto start = Clock::now();
            size_t before = builder.nodes.size();
            Budget budget = this->budget(work);
            try {
                auto nodes = run(part, asks, attempt, budget);
                add_report(part, attempt, std::max(attempt.width, budget.width), before, start,
                           result);
                return nodes;
            } catch (const Stopped &stopped) {
                if (stopped.reason != Reason::Size) throw;
                attempt.progress = budget.progress;
                double &came = came_[attempt.way];
                came = std::max(came, budget.progress);
                largest_ = std::max(largest_, budget.size);
                attempt.full = budget.spent <= budget.work;  // more work will not help
            }
        }
        return {};
    }

    Budget budget(uint64_t work) {
        Budget budget;
        budget.nodes = options_.nodes;
        budget.work = std::min(work, options_.work);
        budget.shown = &done_, budget.before = ready_, budget.share = share_;
        return budget;
    }

    void add_report(const Part &part, const Attempt &attempt, uint32_t width, size_t before,
                    Clock::time_point start, Compiled &result) const {
        result.parts.push_back(report(part, attempt, width));
        result.parts.back().nodes = builder.nodes.size() - before;
        result.parts.back().seconds = std::chrono::duration<double>(Clock::now() - start).count();
    }

    // Keep the better half of the attempts, the best first, but one of every way. When the
    // rounds become long: the best two, or with guesses, where nothing tells beforehand which
    // way is the best, the best of every way; but of searches, which say little of how far they
    // came, both.
    static void narrow(std::vector<Attempt> &list, bool guesses, bool brief) {
        list.erase(std::remove_if(list.begin(), list.end(),
                                  [](const Attempt &attempt) { return attempt.full; }),
                   list.end());
        std::stable_sort(list.begin(), list.end(),
                         [](auto &a, auto &b) { return a.progress > b.progress; });
        if (!brief && !guesses) {
            list.resize(std::min<size_t>(list.size(), 2));
            return;
        }
        std::map<Way, int> seen;
        for (Attempt &attempt : list)
            attempt.rank = attempt.way == Way::Search && guesses ? 0 : seen[attempt.way]++;
        std::stable_sort(list.begin(), list.end(),
                         [](auto &a, auto &b) { return a.rank < b.rank; });
        size_t half = brief ? (list.size() + 1) / 2 : 0, best = 0;
        while (best < list.size() && list[best].rank == 0) ++best;
        list.resize(std::max(best, std::min(list.size(), half)));
    }

    std::string too_large(const Part &part, const std::vector<Attempt> &tried) const {
        uint32_t width = UINT32_MAX;
        for (const Attempt &attempt : tried)
            if (!attempt.inputs.empty()) width = std::min(width, attempt.width);
        return "a part of the program with " + std::to_string(part.choices.size()) +
               " choices and " + std::to_string(part.guesses.size()) + " inner variables" +
               (width == UINT32_MAX ? "" : " (width " + std::to_string(width) + ")") + " reached " +
               std::to_string(largest_) + " nodes; allowed are " + std::to_string(options_.nodes) +
               ", and " + std::to_string(options_.work) + " steps; tried were " + tried_ways();
    }

    // The ways that were tried, and what share of its work the best attempt of each had done.
    std::string tried_ways() const {
        std::string text;
        for (auto [way, share] : came_)
            text += (text.empty() ? "" : ", ") + std::string(name(way)) + " (" +
                    std::to_string(int(100 * std::min(share, 1.0))) + " % done)";
        if (allowed_ > 0 && !came_.count(Way::Elimination))
            text += (text.empty() ? "" : ", ") + std::string("and not elimination, whose tables ") +
                    "would have more than " + std::to_string(uint64_t(allowed_)) + " entries";
        return text;
    }

    std::vector<uint32_t> run(const Part &part, const std::vector<Ask> &asks,
                              const Attempt &attempt, Budget &budget) {
        Job job{problem_, part, asks, options_.mode, budget, builder, watch_};
        switch (attempt.way) {
        case Way::Diagram:
            return compile_diagram(job, attempt.inputs);
        case Way::Tables:
            return compile_tables(job, attempt.inputs);
        default:
            return compile_search(job, attempt.order);
        }
    }
};

void count_atoms(const Problem &problem, Compiled &result) {
    result.atoms_determined = problem.determined;
    result.atoms_inner = problem.inner;
    result.guesses = problem.guessed;
    result.gates = uint32_t(problem.gates.size());
}

}  // namespace

Compiled compile(const Ground &ground, const Options &options, Watch &watch,
                 std::atomic<double> &done) {
    Compiled result;
    Problem problem = read_problem(ground, watch);
    count_atoms(problem, result);
    if (!options.weights.empty()) check_weights(problem, options.weights);
    Compiler compiler(problem, options, watch, done);
    std::vector<uint32_t> roots = compiler.run(result);
    uint32_t weights = leaves(problem);
    result.circuit = Circuit::gather(compiler.builder, roots, weights, watch);
    result.circuit.total = problem.asserted.empty();
    return result;
}

Compiled plan(const Ground &ground, const Options &options, Watch &watch) {
    Compiled result;
    Problem problem = read_problem(ground, watch);
    count_atoms(problem, result);
    std::atomic<double> done{0};
    Compiler(problem, options, watch, done).plan(result);
    return result;
}

}  // namespace dpasp
