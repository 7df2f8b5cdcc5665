#include "compile.hpp"

#include "tuning.hpp"

namespace dpasp {
namespace {

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

const std::vector<uint32_t> &Orders::positions(Order order, Watch &watch) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto &known = positions_[size_t(order)];
    if (known.empty()) known = arrange(problem_, order, watch);
    return known;
}

PartReport Race::described(const Attempt &attempt, uint32_t width) const {
    auto own = uint32_t(problem_.gates.choices.size()) - problem_.coins;
    auto choices = std::count_if(part_.choices.begin(), part_.choices.end(),
                                 [&](uint32_t choice) { return choice < own; });
    return {uint32_t(choices),
            uint32_t(part_.guesses.size()),
            uint32_t(part_.gates.size()),
            width,
            static_cast<const Attempted &>(attempt),
            0,
            0};
}

// If elimination is forced, a part that cannot be eliminated may use all ways.
bool Race::allowed(Way way) const {
    return !options_.way || *options_.way == way || options_.way == Way::Elimination;
}

bool Race::counting() const { return options_.mode != Mode::Bits && !part_.guesses.empty(); }

// Whether tables may end in numbers.
bool Race::numbers() const {
    return counting() && options_.mode == Mode::Counts && !options_.weights.empty();
}

// Whether attempts may run at the same time. The circuit depends on this, so it must not depend on
// the number of threads.
bool Race::large() const { return part_.gates.size() >= tuning::SMALL_PART; }

// The attempts, the narrowest first; `hard` ones take long to prepare.
std::vector<Race::Attempt> Race::attempts(bool hard) {
    std::vector<Attempt> list;
    bool least = options_.mode == Mode::Least && !part_.undefined.empty();
    if (!least && allowed(Way::Diagram)) add_sweeps(Way::Diagram, hard, list);
    if (least || allowed(Way::Tables)) add_sweeps(Way::Tables, hard, list);
    std::stable_sort(list.begin(), list.end(), [](auto &a, auto &b) { return a.width < b.width; });
    // The search needs no order of inputs. It decides all choices before it counts models.
    bool tiny = part_.choices.size() + part_.guesses.size() <= tuning::TINY_PART;
    bool searched = options_.way ? allowed(Way::Search) : !tiny && !counting();
    if (!least && !hard && searched) list.push_back({{Way::Search, Order::Tree}, {}});
    return list;
}

// The attempts of a way that reads the inputs in an order, forwards and backwards.
void Race::add_sweeps(Way way, bool hard, std::vector<Attempt> &list) {
    bool any_order = !options_.order || int(*options_.order) >= SWEEPS;  // none is forced
    bool tiny = part_.choices.size() + part_.guesses.size() <= tuning::TINY_PART;
    // Diagrams that count have the choices first, whatever the order: few are enough.
    bool few = any_order && !hard && (tiny || (counting() && way == Way::Diagram));
    bool least = options_.mode == Mode::Least && !part_.undefined.empty();
    bool narrow_only = way == Way::Tables && !options_.way && !least;
    for (int s = 0; s < (few ? 1 : SWEEPS); ++s) {
        auto order = Order(s);
        bool costly = order == Order::Polished;
        if (any_order ? costly != hard : *options_.order != order) continue;
        const auto &positions = orders_.positions(order, watch_);
        Attempt forwards{{way, order, false}, order_inputs(problem_, part_, positions)};
        Attempt reverse{{way, order, true}, forwards.inputs};
        std::reverse(reverse.inputs.begin(), reverse.inputs.end());
        for (Attempt *one : {&forwards, &reverse}) {
            one->numbers = way == Way::Tables && numbers();
            one->width = cut_width(problem_, part_, one->inputs);
            if (narrow_only && one->width > tuning::WIDEST_TABLE) continue;
            list.push_back(std::move(*one));
        }
    }
}

std::vector<PartReport> Race::plan() {
    Budget budget = this->budget(options_.work);
    std::vector<PartReport> reports;
    if (auto way = elimination(true, tuning::ELIMINATED_ENTRIES, budget)) {
        reports.push_back(described({{Way::Elimination, Order::Tree}, {}}, way->width()));
        reports.back().entries = way->cost();
        return reports;
    }
    for (const Attempt &attempt : attempts(false))
        reports.push_back(described(attempt, attempt.width));
    return reports;
}

// All attempts get a little work, then the better half of them more, and so on, until one ends.
std::vector<uint32_t> Race::run() {
    std::vector<Attempt> list = attempts(false);
    const std::vector<Attempt> first = list;
    std::vector<Attempt> search;  // of one attempt or none
    if (!list.empty() && list.back().way == Way::Search) {
        search.push_back(list.back());
        list.pop_back();
    }
    if (auto nodes = eliminate(true, tuning::ELIMINATED_ENTRIES); !nodes.empty()) return nodes;
    // Counting favours tables, everything else diagrams.
    Way favourite = counting() ? Way::Tables : Way::Diagram;
    // A small width promises a quick end, so the narrowest orders come first.
    std::vector<Attempt> promising;
    for (const Attempt &one : list)
        if (one.width <= tuning::PROMISING_WIDTH && one.order == Order::Narrow && !one.reverse)
            promising.push_back(one);
    if (auto nodes = race(promising, tuning::PROMISING_WORK); !nodes.empty()) return nodes;
    // The work includes preparation.
    auto work = std::max<uint64_t>(tuning::FIRST_WORK, 4 * uint64_t(part_.gates.size()));
    for (int round = 0;; ++round, work *= tuning::MORE_WORK) {
        // A search that has got far is a round ahead of the others.
        bool ahead = !search.empty() && search[0].progress >= tuning::SEARCH_PROGRESS;
        if (ahead)
            if (auto nodes = race(search, tuning::MORE_WORK * work); !nodes.empty()) return nodes;
        if (auto nodes = race(list, work); !nodes.empty()) return nodes;
        if (!ahead && (round >= 2 || list.empty()))  // what is easy has ended by then
            if (auto nodes = race(search, work); !nodes.empty()) return nodes;
        if (round == (part_.guesses.empty() ? 2 : 3)) {
            auto more = attempts(true);
            std::stable_partition(more.begin(), more.end(),
                                  [&](const Attempt &one) { return one.way == favourite; });
            if (auto nodes = race(more, work); !nodes.empty()) return nodes;
            list.insert(list.begin(), std::make_move_iterator(more.begin()),
                        std::make_move_iterator(more.end()));
        }
        if (round >= 2)  // by now the others took as much as this would
            if (auto nodes = eliminate(false, tuning::ELIMINATED_SHARE * double(work));
                !nodes.empty())
                return nodes;
        narrow(list, !part_.guesses.empty(), round < 4);
        bool hopeless = round >= 4 && !list.empty() && !search.empty() &&
                        search[0].progress < tuning::SEARCH_HOPELESS;
        if (!search.empty() && (search[0].full || hopeless)) search.clear();
        if ((list.empty() && search.empty()) || work >= options_.work)
            throw Stopped(Reason::Size, too_large(first));
    }
}

// Elimination, if it is not too expensive and there are groups (unless that does not matter).
std::unique_ptr<Elimination> Race::elimination(bool groups, double most, Budget &budget) {
    bool forced = options_.way == Way::Elimination;
    if (asks_.empty() || !part_.guesses.empty() || !allowed(Way::Elimination)) return nullptr;
    auto way =
        std::make_unique<Elimination>(Job{problem_, part_, asks_, options_.mode, budget, builder_,
                                          watch_, weights(), forced ? 0 : tuning::NUMBER_ENTRIES});
    if (!forced && way->grouped() != groups) return nullptr;
    if (forced) most = double(options_.work);
    way->prepare(most);
    if (way->cost() <= most) return way;
    allowed_ = most;
    if (!forced) return nullptr;
    throw Stopped(Reason::Size, "elimination would make tables of more entries than the " +
                                    std::to_string(options_.work) + " steps that are allowed");
}

std::vector<uint32_t> Race::eliminate(bool groups, double most) {
    auto start = Clock::now();
    size_t before = builder_.nodes.size();
    Budget budget = this->budget(options_.work);
    auto way = elimination(groups, most, budget);
    if (!way) return {};
    try {
        auto roots = way->run();
        of_weights = way->numbered();
        report = described({{Way::Elimination, Order::Tree}, {}}, way->width());
        report.nodes = builder_.nodes.size() - before;
        report.seconds = seconds_since(start);
        return roots;
    } catch (const Stopped &stopped) {
        if (stopped.reason != Reason::Size || options_.way == Way::Elimination) throw;
        largest_ = std::max(largest_, budget.size);
        came_[Way::Elimination] = budget.progress;
        return {};
    }
}

// The roots from the first attempt in the list that succeeds within so much work, if there is one.
std::vector<uint32_t> Race::race(std::vector<Attempt> &list, uint64_t work) {
    if (list.empty()) return {};
    std::vector<Trial> trials(list.size());
    for (Trial &trial : trials) trial.budget = budget(work);
    Spare none(1);
    auto run = [&](size_t i, Watch &watch) {
        Builder &builder = large() ? trials[i].own.emplace() : builder_;
        return attempt(list[i], trials[i], builder, watch);
    };
    size_t winner = run_in_turn(list.size(), large() ? spare_ : none, watch_, run);
    for (size_t i = 0; i < winner; ++i) failed(list[i], trials[i].budget);
    if (winner == list.size()) return {};
    ended(list[winner], trials[winner]);
    return std::move(trials[winner].roots);
}

// Whether the attempt succeeded within its budget.
bool Race::attempt(const Attempt &attempt, Trial &trial, Builder &builder, Watch &watch) const {
    auto start = Clock::now();
    size_t before = builder.nodes.size();
    Job job{problem_, part_, asks_, options_.mode, trial.budget, builder, watch, weights()};
    try {
        switch (attempt.way) {
        case Way::Diagram:
            trial.roots = compile_diagram(job, attempt.inputs);
            break;
        case Way::Tables:
            if (attempt.numbers) trial.roots = sum_tables(job, attempt.inputs);
            trial.numbered = !trial.roots.empty();
            if (!trial.numbered) trial.roots = compile_tables(job, attempt.inputs);
            break;
        case Way::Search:
            trial.roots = compile_search(job);
            break;
        case Way::Elimination:
            throw std::logic_error("elimination does not race");
        }
    } catch (const Stopped &stopped) {
        if (stopped.reason != Reason::Size) throw;
        trial.own.reset();
        return false;
    }
    trial.seconds = seconds_since(start);
    trial.nodes = builder.nodes.size() - before;
    return true;
}

void Race::failed(Attempt &attempt, const Budget &budget) {
    attempt.progress = budget.progress;
    double &came = came_[attempt.way];
    came = std::max(came, budget.progress);
    largest_ = std::max(largest_, budget.size);
    attempt.full = budget.spent <= budget.work;  // more work will not help
}

void Race::ended(const Attempt &attempt, Trial &trial) {
    report = described(attempt, attempt.width);
    report.nodes = trial.nodes;
    report.seconds = trial.seconds;
    of_weights = trial.numbered;
    if (large()) trial.roots = builder_.take(std::move(*trial.own), trial.roots, watch_);
}

Budget Race::budget(uint64_t work) const {
    Budget budget;
    budget.nodes = options_.nodes;
    budget.work = std::min(work, options_.work);
    budget.shown = &progress_.shown;
    budget.before = progress_.before, budget.share = progress_.share;
    return budget;
}

// Keeps the better half of the attempts, the best first, and at least one of every way. When rounds
// become long, it keeps the best two; or with guesses, the best of every way, since nothing tells
// in advance which way is the best.
void Race::narrow(std::vector<Attempt> &list, bool guesses, bool brief) {
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
    for (Attempt &attempt : list) attempt.rank = seen[attempt.way]++;
    std::stable_sort(list.begin(), list.end(), [](auto &a, auto &b) { return a.rank < b.rank; });
    size_t half = brief ? (list.size() + 1) / 2 : 0, best = 0;
    while (best < list.size() && list[best].rank == 0) ++best;
    list.resize(std::max(best, std::min(list.size(), half)));
}

std::string Race::too_large(const std::vector<Attempt> &tried) const {
    uint32_t width = UINT32_MAX;
    for (const Attempt &attempt : tried)
        if (!attempt.inputs.empty()) width = std::min(width, attempt.width);
    return "a part of the program with " + std::to_string(part_.choices.size()) + " choices and " +
           std::to_string(part_.guesses.size()) + " inner variables" +
           (width == UINT32_MAX ? "" : " (width " + std::to_string(width) + ")") + " reached " +
           std::to_string(largest_) + " nodes; allowed are " + std::to_string(options_.nodes) +
           ", and " + std::to_string(options_.work) + " steps; tried were " + tried_ways();
}

// The ways that were tried, and how far the best attempt of each got.
std::string Race::tried_ways() const {
    std::string text;
    for (auto [way, share] : came_)
        text += (text.empty() ? "" : ", ") + std::string(name(way)) + " (" +
                std::to_string(int(100 * std::min(share, 1.0))) + " % done)";
    if (allowed_ > 0 && !came_.count(Way::Elimination))
        text += (text.empty() ? "" : ", ") + std::string("and not elimination, whose tables ") +
                "would have more than " + std::to_string(uint64_t(allowed_)) + " entries";
    return text;
}

}  // namespace dpasp
