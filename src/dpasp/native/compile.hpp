// Ground program in, circuit out: the parts, the race between the ways, the statistics. Or numbers
// out, for many questions about a network.
#pragma once

#include <mutex>

#include "elimination.hpp"

namespace dpasp {

// A way of compiling a part, and the order that it works in.
struct Attempted {
    Way way = Way::Diagram;
    Order order = Order::Narrow;
    bool reverse = false;

    std::string order_name() const {
        return (reverse ? "reverse " : "") + std::string(name(order));
    }
};

struct PartReport {
    uint32_t choices, guesses, gates, width;
    Attempted attempted;
    size_t nodes;
    double seconds;
    double entries = 0;  // of a plan: how many entries the tables of elimination have
};

struct Compiled {
    Circuit circuit;
    std::vector<PartReport> parts;
    bool of_weights = false;  // numbers of the weights that were given are in it
    uint32_t atoms_determined = 0, atoms_inner = 0, guesses = 0, gates = 0;
};

// `done` goes from 0 to 1 meanwhile, by the parts that are compiled.
Compiled compile(const Ground &ground, const Options &options, Watch &watch,
                 std::atomic<double> &done);

// What would be tried: one report for each part and attempt, without a circuit.
Compiled plan(const Ground &ground, const Options &options, Watch &watch);

struct Shares {
    std::vector<Share> questions;
    double entries = 0;  // of all tables
    uint32_t width = 0;  // bits of the largest
    // Of a goal with ties: the largest weight, `ties` by question whether the query holds.
    Maximum largest;
};

// Many questions about single atoms of a network, under one evidence and weights that are known:
// one elimination in numbers and its way back answer all of them, without a circuit. Only for
// programs whose atoms are all determined and whose total choices all have a model; otherwise
// nothing. Throws std::invalid_argument where the questions are others, and Stopped(Size) where
// there would be more entries than steps are allowed. A goal with ties gives the most probable total choices in place of shares, if the
// questions read every choice; with sums, the most probable answers to the questions together.
std::optional<Shares> shares(const Ground &ground, const Options &options, const Goal &goal,
                             Watch &watch);

// One part of a problem: the ways and orders that are tried on it, until one ends.

// The orders of a problem, each made when it is first needed; for all threads.
class Orders {
  public:
    explicit Orders(const Problem &problem) : problem_(problem), positions_(SWEEPS) {}
    const std::vector<uint32_t> &positions(Order order, Watch &watch);

  private:
    const Problem &problem_;
    std::mutex mutex_;
    std::vector<std::vector<uint32_t>> positions_;
};

// Where a part lies in what people are shown: from 0 to 1, what is before it, and its share.
struct Progress {
    std::atomic<double> &shown;
    double before = 0, share = 1;
};

// What every part is given.
struct Setting {
    const Problem &problem;
    const Options &options;
    Orders &orders;
    Spare &spare;
};

class Race {
  public:
    Race(const Setting &setting, const Part &part, const std::vector<Ask> &asks, Builder &builder,
         Watch &watch, const Progress &progress)
        : problem_(setting.problem), options_(setting.options), orders_(setting.orders),
          spare_(setting.spare), part_(part), asks_(asks), builder_(builder), watch_(watch),
          progress_(progress) {}

    // One root an ask; Stopped(Size) if every way outgrows its budget.
    std::vector<uint32_t> run();
    // What would be tried, without doing it: a report for each.
    std::vector<PartReport> plan();

    PartReport report;        // of the attempt that ended
    bool of_weights = false;  // it ended in numbers of the weights that were given

  private:
    // One attempt: a way, an order, and what it takes to run them.
    struct Attempt : Attempted {
        std::vector<Input> inputs;
        uint32_t width = 0;
        double progress = 0;
        bool full = false;
        bool numbers = false;  // tables that end in numbers of the weights
        int rank = 0;          // among those of its way
    };
    // An attempt that is being made, in a builder of its own where it may be one of several.
    struct Trial {
        std::optional<Builder> own;
        Budget budget;
        std::vector<uint32_t> roots;
        bool numbered = false;  // they are of the weights alone
        double seconds = 0;
        size_t nodes = 0;
    };

    const Problem &problem_;
    const Options &options_;
    Orders &orders_;
    Spare &spare_;
    const Part &part_;
    const std::vector<Ask> &asks_;
    Builder &builder_;
    Watch &watch_;
    Progress progress_;
    size_t largest_ = 0;          // of the attempts: nodes
    double allowed_ = 0;          // entries of which eliminating this part would make more
    std::map<Way, double> came_;  // how far the best attempt of a way came

    PartReport described(const Attempt &attempt, uint32_t width) const;
    bool allowed(Way way) const;
    bool counting() const;
    bool numbers() const;
    const std::vector<double> *weights() const {
        return options_.weights.empty() ? nullptr : &options_.weights;
    }
    bool large() const;
    std::vector<Attempt> attempts(bool hard);
    void add_sweeps(Way way, bool hard, std::vector<Attempt> &list);
    std::unique_ptr<Elimination> elimination(bool groups, double most, Budget &budget);
    std::vector<uint32_t> eliminate(bool groups, double most);
    std::vector<uint32_t> race(std::vector<Attempt> &list, uint64_t work);
    bool attempt(const Attempt &attempt, Trial &trial, Builder &builder, Watch &watch) const;
    void failed(Attempt &attempt, const Budget &budget);
    void ended(const Attempt &attempt, Trial &trial);
    Budget budget(uint64_t work) const;
    static void narrow(std::vector<Attempt> &list, bool guesses, bool brief);
    std::string too_large(const std::vector<Attempt> &tried) const;
    std::string tried_ways() const;
};

}  // namespace dpasp
