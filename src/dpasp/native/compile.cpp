#include "compile.hpp"

#include "tuning.hpp"

namespace dpasp {

namespace {

// In the order of their enumerations.
constexpr const char *MODES[] = {"bits", "counts", "least"};
constexpr const char *WAYS[] = {"diagram", "tables", "elimination", "search"};
constexpr const char *ORDERS[] = {"narrow", "breadth", "depth", "polished", "tree"};

template <size_t N>
size_t find(const char *const (&names)[N], const std::string &name, const char *what) {
    std::string known;
    for (size_t i = 0; i < N; ++i) {
        if (name == names[i]) return i;
        known += (i ? ", " : "") + std::string(names[i]);
    }
    throw std::invalid_argument("there is no " + std::string(what) + " '" + name + "'; there are " +
                                known);
}

// Parts that are compiled in one builder: a large one, or several small ones.
struct Chunk {
    uint32_t begin = 0, end = 0;  // parts
    Builder builder;
    std::vector<std::vector<uint32_t>> roots;  // by part and ask
    std::vector<PartReport> reports;
    bool of_weights = false;
};

class Compiler {
  public:
    Compiler(const Problem &problem, const Options &options, Watch &watch,
             std::atomic<double> &done)
        : problem_(problem), watch_(watch), done_(done), orders_(problem), spare_(options.threads),
          setting_{problem, options, orders_, spare_} {}

    std::vector<uint32_t> run(Compiled &result) {
        std::vector<Part> parts = split(problem_);
        for (Lit lit : problem_.asserted)
            if (lit == FALSE_LIT)  // no total choice has a model
                return std::vector<uint32_t>(problem_.questions.size(), Builder::FALSE_NODE);
        std::vector<std::map<uint32_t, Ask>> touched = ask(parts);  // by question, then by part
        std::vector<std::map<Ask, uint32_t>> known = asked(parts, touched);
        std::vector<std::vector<Ask>> asks;
        for (uint32_t p = 0; p < parts.size(); ++p) asks.push_back(open_asks(parts[p], known[p]));
        std::vector<Chunk> chunks = cut(parts);
        run_in_turn(chunks.size(), spare_, watch_, [&](size_t c, Watch &watch) {
            compile_chunk(chunks[c], parts, asks, watch);
            return false;
        });
        for (Chunk &chunk : chunks) gather(chunk, asks, known, result);
        return join(parts.size(), touched, known);
    }

    // What would be tried, without doing it.
    void plan(Compiled &result) {
        std::vector<Part> parts = split(problem_);
        std::vector<std::map<Ask, uint32_t>> known = asked(parts, ask(parts));
        for (uint32_t p = 0; p < parts.size(); ++p) {
            std::vector<Ask> asks = open_asks(parts[p], known[p]);
            Race race(setting_, parts[p], asks, builder, watch_, {done_});
            for (const PartReport &report : race.plan()) result.parts.push_back(report);
        }
    }

    Builder builder;

  private:
    const Problem &problem_;
    Watch &watch_;
    std::atomic<double> &done_;
    Orders orders_;
    Spare spare_;
    Setting setting_;
    std::atomic<size_t> gates_{0};  // of the parts that are compiled
    size_t whole_ = 1;              // of all

    // Consecutive parts. The circuit depends on how they are cut; that depends only on the parts.
    std::vector<Chunk> cut(const std::vector<Part> &parts) {
        std::vector<Chunk> chunks;
        size_t gates = tuning::SMALL_PART;
        for (uint32_t p = 0; p < parts.size(); ++p) {
            if (gates >= tuning::SMALL_PART) {
                chunks.emplace_back().begin = p;
                gates = 0;
            }
            chunks.back().end = p + 1;
            gates += parts[p].gates.size();
            whole_ += parts[p].gates.size();
        }
        return chunks;
    }

    void compile_chunk(Chunk &chunk, const std::vector<Part> &parts,
                       const std::vector<std::vector<Ask>> &asks, Watch &watch) {
        for (uint32_t p = chunk.begin; p < chunk.end; ++p) {
            chunk.roots.emplace_back();
            size_t own = parts[p].gates.size();
            if (!asks[p].empty()) {
                Progress progress{done_, double(gates_) / double(whole_),
                                  double(own) / double(whole_)};
                Race race(setting_, parts[p], asks[p], chunk.builder, watch, progress);
                chunk.roots.back() = race.run();
                chunk.reports.push_back(race.report);
                chunk.of_weights = chunk.of_weights || race.of_weights;
            }
            done_ = double(gates_ += own) / double(whole_);
        }
    }

    // Adds the nodes and reports of a chunk to those of all.
    void gather(Chunk &chunk, const std::vector<std::vector<Ask>> &asks,
                std::vector<std::map<Ask, uint32_t>> &known, Compiled &result) {
        std::vector<uint32_t> roots;
        for (const auto &own : chunk.roots) roots.insert(roots.end(), own.begin(), own.end());
        roots = builder.take(std::move(chunk.builder), std::move(roots), watch_);
        size_t next = 0;
        for (uint32_t p = chunk.begin; p < chunk.end; ++p)
            for (const Ask &ask : asks[p]) known[p][ask] = roots[next++];
        result.parts.insert(result.parts.end(), chunk.reports.begin(), chunk.reports.end());
        result.of_weights = result.of_weights || chunk.of_weights;
    }

    // By part: the asks of all questions, and the empty one; their roots are not known yet.
    static std::vector<std::map<Ask, uint32_t>> asked(
        const std::vector<Part> &parts, const std::vector<std::map<uint32_t, Ask>> &touched) {
        std::vector<std::map<Ask, uint32_t>> known(parts.size());
        for (auto &one : known) one[Ask{}] = 0;
        for (auto &asks : touched)
            for (auto &[p, ask] : asks) known[p][ask] = 0;
        return known;
    }

    // The asks of a part that must be compiled. A part without assertions does not matter to
    // questions that do not touch it.
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
        std::vector<uint32_t> home = homes(problem_, parts);
        std::vector<std::map<uint32_t, Ask>> touched;
        for (const Question &question : problem_.questions) {
            std::map<uint32_t, Ask> asks;
            for (Lit lit : question.query)
                if (gate_of(lit)) asks[home[gate_of(lit)]].query.push_back(lit);
            for (Lit lit : question.evidence)
                if (gate_of(lit)) asks[home[gate_of(lit)]].evidence.push_back(lit);
            for (auto &[_, one] : asks) sort_unique(one.query), sort_unique(one.evidence);
            touched.push_back(std::move(asks));
        }
        return touched;
    }

    // The product over all parts for each question. Products of parts that it does not touch are
    // shared; they are the inner nodes of a balanced tree.
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

    // The leaf for the constant literals of a question.
    uint32_t constant(const Question &question) {
        bool no_query = false, no_evidence = false;
        for (Lit lit : question.query) no_query = no_query || lit == FALSE_LIT;
        for (Lit lit : question.evidence) no_evidence = no_evidence || lit == FALSE_LIT;
        if (no_evidence) return builder.leaf({Value::OTHER, 0, 0});
        if (no_query) return builder.leaf({Value::E, 0, 1});
        return Builder::TRUE_NODE;
    }
};

void count_atoms(const Problem &problem, Compiled &result) {
    result.atoms_determined = problem.determined;
    result.atoms_inner = problem.inner;
    result.guesses = problem.guessed;
    result.gates = uint32_t(problem.gates.size());
}

void refuse_tables(const Ground &ground) {
    if (!ground.tables.empty())
        throw std::invalid_argument("tables of weights are summed up, not compiled");
}

// Replaces guesses by coins if only sums with known weights are needed; returns the options with
// their weights.
Options with_coins(Problem &problem, Options options, Watch &watch) {
    if (options.weights.empty()) return options;
    problem.check_weights(options.weights);
    if (options.mode == Mode::Counts && problem.guessed) toss(problem, watch);
    options.weights.insert(options.weights.end(), 2 * size_t(problem.coins), 0.5);
    return options;
}

}  // namespace

const char *name(Way way) { return WAYS[size_t(way)]; }
const char *name(Order order) { return ORDERS[size_t(order)]; }

Mode mode_named(const std::string &name) { return Mode(find(MODES, name, "mode")); }
Way way_named(const std::string &name) { return Way(find(WAYS, name, "way")); }
Order order_named(const std::string &name) { return Order(find(ORDERS, name, "order")); }

Compiled compile(const Ground &ground, const Options &options, Watch &watch,
                 std::atomic<double> &done) {
    Compiled result;
    refuse_tables(ground);
    Problem problem = read_problem(ground, watch);
    count_atoms(problem, result);
    uint32_t weights = problem.leaves();
    Options known = with_coins(problem, options, watch);
    Compiler compiler(problem, known, watch, done);
    std::vector<uint32_t> roots = compiler.run(result);
    if (problem.coins) {
        Builder weighed;
        roots = weigh_coins(compiler.builder, roots, weights, weighed, watch);
        compiler.builder = std::move(weighed);
        result.of_weights = true;
    }
    result.circuit = Circuit::gather(compiler.builder, roots, weights, watch);
    result.circuit.total = problem.asserted.empty();
    return result;
}

Compiled plan(const Ground &ground, const Options &options, Watch &watch) {
    Compiled result;
    refuse_tables(ground);
    Problem problem = read_problem(ground, watch);
    count_atoms(problem, result);
    std::atomic<double> done{0};
    Options known = with_coins(problem, options, watch);
    Compiler(problem, known, watch, done).plan(result);
    return result;
}

namespace {

// A part: its asks, one for each literal, its elimination, and the results.
struct Asked {
    std::vector<Ask> asks;  // by literal; the last has no query
    Builder builder;
    Budget budget;
    std::unique_ptr<Elimination> way;
    std::vector<Scaled> found;

    const Scaled &evidence() const { return found.back(); }
    size_t place(Lit lit) const {
        auto at = std::lower_bound(asks.begin(), asks.end() - 1, lit,
                                   [](const Ask &ask, Lit other) { return ask.query[0] < other; });
        return size_t(at - asks.begin());
    }
};

void check(const Problem &problem) {
    for (const Question &question : problem.questions)
        if (question.query.size() > 1 || question.evidence != problem.questions[0].evidence)
            throw std::invalid_argument("questions about several atoms, or of different evidence");
}

std::vector<Asked> by_part(const Problem &problem, const std::vector<Part> &parts,
                           const std::vector<uint32_t> &home) {
    std::vector<std::vector<Lit>> evidence(parts.size()), queries(parts.size());
    for (const Question &question : problem.questions)
        for (Lit lit : question.query)
            if (gate_of(lit)) queries[home[gate_of(lit)]].push_back(lit);
    for (Lit lit : problem.questions[0].evidence)
        if (gate_of(lit)) evidence[home[gate_of(lit)]].push_back(lit);
    std::vector<Asked> asked(parts.size());
    for (size_t p = 0; p < parts.size(); ++p) {
        sort_unique(evidence[p]), sort_unique(queries[p]);
        for (Lit lit : queries[p]) asked[p].asks.push_back({{lit}, evidence[p]});
        asked[p].asks.push_back({{}, evidence[p]});
    }
    return asked;
}

// The weights of tables whose literals are all known.
Scaled known_weight(const Problem &problem, const std::vector<double> &weights) {
    Scaled product(1);
    for (const WeightTable &table : problem.tables) {
        std::vector<size_t> found{table.first};
        size_t step = 1;
        bool known = true;
        for (size_t i = table.sets.size(); i-- > 0 && known; step *= table.sets[i].size()) {
            std::vector<size_t> next;
            for (size_t v = 0; v < table.sets[i].size(); ++v) {
                known = known && !gate_of(table.sets[i][v]);
                if (table.sets[i][v] == TRUE_LIT)
                    for (size_t index : found) next.push_back(index + v * step);
            }
            found = std::move(next);
        }
        if (known)
            for (size_t index : found) product *= weights[index];
    }
    return product;
}

// For each part, the mass of the evidence in all others.
std::vector<Scaled> others(const std::vector<Asked> &asked) {
    std::vector<Scaled> products(asked.size(), Scaled(1));
    Scaled before(1), after(1);
    for (size_t p = 0; p < asked.size(); ++p) products[p] = before, before *= asked[p].evidence();
    for (size_t p = asked.size(); p-- > 0;) products[p] *= after, after *= asked[p].evidence();
    return products;
}

// The most probable total choices of all parts together, at most so many.
void maximise(const Problem &problem, const std::vector<uint32_t> &home, std::vector<Asked> &asked,
              size_t most, Shares &result) {
    std::vector<uint32_t> known;
    for (const Question &question : problem.questions)
        known.push_back(question.query.empty() || question.query[0] == TRUE_LIT);
    auto &[log, found, ties] = result.largest;
    ties = {known};
    for (uint32_t p = 0; p < asked.size(); ++p) {
        Maximum own = asked[p].way->largest();
        log += own.log, found += own.found;
        std::vector<std::vector<uint32_t>> joined;
        for (const auto &tie : ties)
            for (const auto &row : own.ties) {
                if (joined.size() >= most) break;
                joined.push_back(tie);
                for (size_t i = 0; i < problem.questions.size(); ++i) {
                    const std::vector<Lit> &query = problem.questions[i].query;
                    if (!query.empty() && gate_of(query[0]) && home[gate_of(query[0])] == p)
                        joined.back()[i] = row[asked[p].place(query[0])];
                }
            }
        ties = std::move(joined);
    }
}

}  // namespace

std::optional<Shares> shares(const Ground &ground, const Options &options, double least,
                             const Goal &goal, Watch &watch) {
    Shares result;
    Problem problem = read_problem(ground, watch);
    check(problem);
    problem.check_weights(options.weights);
    result.questions.resize(problem.questions.size());
    // Only with tables of weights may the total be less than 1, as constraints make it.
    bool weighed = !problem.tables.empty();
    if (problem.gates.guesses || problem.questions.empty()) return {};
    if (!problem.asserted.empty() && !weighed) return {};
    for (Lit lit : problem.asserted)
        if (lit == FALSE_LIT) return result;
    for (Lit lit : problem.questions[0].evidence)
        if (lit == FALSE_LIT) return result;
    std::vector<Part> parts = split(problem);
    std::vector<uint32_t> home = homes(problem, parts);
    std::vector<Asked> asked = by_part(problem, parts, home);
    double most = double(options.work);
    for (size_t p = 0; p < parts.size(); ++p) {
        Asked &own = asked[p];
        own.way =
            std::make_unique<Elimination>(Job{problem, parts[p], own.asks, options.mode, own.budget,
                                              own.builder, watch, &options.weights});
        bool wide = own.way->grouped() || weighed;
        double allowed = wide ? most : tuning::UNGROUPED_ENTRIES;
        if (allowed < least) return {};
        own.way->prepare_together(allowed, goal);
        result.entries += own.way->cost();
        result.width = std::max(result.width, own.way->width());
        if (!goal.bounded && (own.way->cost() > allowed || result.entries > most))
            throw Stopped(Reason::Size, "elimination would make tables of too many entries");
    }
    if (result.entries < least) return {};
    Scaled total = known_weight(problem, options.weights);
    if (goal.ties) {
        result.largest.log = result.largest.found = total.log();
        maximise(problem, home, asked, goal.ties, result);
        return result;
    }
    for (Asked &own : asked) own.found = own.way->shares();
    std::vector<Scaled> beside = others(asked);
    for (Scaled &scale : beside) scale *= total;
    for (const Asked &own : asked) total *= own.evidence();
    for (size_t i = 0; i < result.questions.size(); ++i) {
        const std::vector<Lit> &query = problem.questions[i].query;
        if (query.empty() || query[0] == TRUE_LIT) {
            result.questions[i] = total;
        } else if (query[0] != FALSE_LIT) {
            uint32_t p = home[gate_of(query[0])];
            result.questions[i] = asked[p].found[asked[p].place(query[0])] * beside[p];
        }
    }
    return result;
}

}  // namespace dpasp
