// The ways to compile a part. Each gives one root for each question, or throws Stopped(Size) when
// it outgrows its budget; then another way may still succeed.
#pragma once

#include <vector>

#include "budget.hpp"
#include "circuit.hpp"
#include "options.hpp"
#include "part.hpp"

namespace dpasp {

// What every way is given: a part, what is asked of it, what may be spent on it, and where the
// nodes go.
struct Job {
    const Problem &problem;
    const Part &part;
    const std::vector<Ask> &asks;
    Mode mode;
    Budget &budget;
    Builder &builder;
    Watch &watch;
    const std::vector<double> *weights = nullptr;  // if they are known
    double many = 0;  // entries of tables, from which on numbers are worth it
};

// Functions of the choices (and guesses) as decision diagrams; not for Mode::Least.
std::vector<uint32_t> compile_diagram(const Job &job, std::vector<Input> order);

constexpr double TINY = 1e-250;  // a mass below this may have lost digits

constexpr uint32_t WIDEST_TABLE = 8192;  // open gates, above which tables give up

// Determinisation: read the inputs in order, remember a table of what is still open.
std::vector<uint32_t> compile_tables(const Job &job, const std::vector<Input> &order);

// The same in numbers, for Mode::Counts under weights that are known: fewer tables, no nodes but
// those that say which total choices have models. None at all where the evidence is so improbable,
// or counts are so far apart, that digits could be lost.
std::vector<uint32_t> sum_tables(const Job &job, const std::vector<Input> &order);

// Top-down search over clauses with component caching; its order is Width or Frequency.
std::vector<uint32_t> compile_search(const Job &job, Order order);

}  // namespace dpasp
