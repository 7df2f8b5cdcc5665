// From a ground program to a circuit: the parts, the race between the ways, the statistics. Or to
// numbers, for many questions about a network.
#pragma once

#include <mutex>

#include "elimination.hpp"

namespace dpasp {

// A way of compiling a part, and its order.
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
    double entries = 0;  // of a plan: the entries of all tables of the elimination
};

struct Compiled {
    Circuit circuit;
    std::vector<PartReport> parts;
    bool of_weights = false;  // whether it has numbers computed from the given weights
    uint32_t atoms_determined = 0, atoms_inner = 0, guesses = 0, gates = 0;
};

// Meanwhile, `done` goes from 0 to 1, by the parts that are compiled.
Compiled compile(const Ground &ground, const Options &options, Watch &watch,
                 std::atomic<double> &done);

// What would be tried: one report for each part and attempt, without a circuit.
Compiled plan(const Ground &ground, const Options &options, Watch &watch);

struct Shares {
    std::vector<Scaled> questions;  // the masses of the evidence with each query
    double entries = 0;  // of all tables
    uint32_t width = 0;  // bits of the largest
    // For a goal with ties: the largest weight; `ties` say for each question whether it holds.
    Maximum largest;
};

// Answers many questions about single atoms of a network, under one evidence and known weights, by
// one elimination with numbers and its backward pass. All atoms must be determined, and every total
// choice must have a model; otherwise, there is no result. Throws std::invalid_argument for other
// questions, and Stopped(Size) for more entries than allowed steps. With ties, the goal is the most
// probable total choices instead of shares, if the questions read every choice; with sums, the most
// probable answers to all questions together. There is no result either if the tables have fewer
// than `least` entries.
std::optional<Shares> shares(const Ground &ground, const Options &options, double least,
                             const Goal &goal, Watch &watch);

// The orders of a problem, each computed when it is first needed; shared by all threads.
class Orders {
  public:
    explicit Orders(const Problem &problem) : problem_(problem), positions_(SWEEPS) {}
    const std::vector<uint32_t> &positions(Order order, Watch &watch);

  private:
    const Problem &problem_;
    std::mutex mutex_;
    std::vector<std::vector<uint32_t>> positions_;
};

// The place of a part in the progress that is shown, from 0 to 1: where it begins, and its share.
struct Progress {
    std::atomic<double> &shown;
    double before = 0, share = 1;
};

struct Setting {
    const Problem &problem;
    const Options &options;
    Orders &orders;
    Spare &spare;
};

// Compiles one part of a problem: tries ways and orders until one succeeds.
class Race {
  public:
    Race(const Setting &setting, const Part &part, const std::vector<Ask> &asks, Builder &builder,
         Watch &watch, const Progress &progress)
        : problem_(setting.problem), options_(setting.options), orders_(setting.orders),
          spare_(setting.spare), part_(part), asks_(asks), builder_(builder), watch_(watch),
          progress_(progress) {}

    // One root for each ask; Stopped(Size) if every way exceeds its budget.
    std::vector<uint32_t> run();
    // A report for each attempt that would be made.
    std::vector<PartReport> plan();

    PartReport report;        // of the successful attempt
    bool of_weights = false;  // whether it has numbers computed from the given weights

  private:
    // One attempt: a way with an order.
    struct Attempt : Attempted {
        std::vector<Input> inputs;
        uint32_t width = 0;
        double progress = 0;
        bool full = false;
        bool numbers = false;  // whether tables are summed up with the given weights
        int rank = 0;          // among those of its way
    };
    // A running attempt, with its own builder if there may be several at once.
    struct Trial {
        std::optional<Builder> own;
        Budget budget;
        std::vector<uint32_t> roots;
        bool numbered = false;  // whether the roots are numbers
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
    size_t largest_ = 0;          // the most nodes of an attempt
    double allowed_ = 0;          // a number of entries that elimination is known to exceed
    std::map<Way, double> came_;  // how far the best attempt of each way got

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
