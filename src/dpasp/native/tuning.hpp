// Every number that was chosen by measuring, with its unit and what notices it.
//
// Measured on the families of benchmarks/inference (`--targets`), on colourings with constraints
// and with evidence, and on the networks of benchmarks/networks, each number four times smaller and
// larger. 'Bounds …' says that none of them notices it: it keeps larger programs from taking
// much longer, or too much memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dpasp::tuning {

// --- the race ----------------------------------------------------------------------------------

// Open gates, and units of work: orders as narrow as that are tried first, with so much work. With
// neither, or a quarter of the work, strip 100 (credal) takes four times as long.
inline constexpr uint32_t PROMISING_WIDTH = 24;
inline constexpr uint64_t PROMISING_WORK = 240000;
// Units of work of the first round, and how many times as much each round has. Four times the first
// work: smokers 25 three times as long; half the factor: strip 100 2.5 times; twice: circuits of
// smokers 25 three times as large.
inline constexpr uint64_t FIRST_WORK = 30000;
inline constexpr uint64_t MORE_WORK = 4;
// Entries of tables for each unit of a round's work, up to which a part without groups is
// eliminated after the round. With a tenth, a colouring of 25 vertices by constraints takes 17 s,
// not 4.
inline constexpr double ELIMINATED_SHARE = 1;
// Entries of tables above which a part with groups is not eliminated at once. Bounds memory.
inline constexpr double ELIMINATED_ENTRIES = 3e8;
// Inputs of a part for which one order a way is enough: all orders of so few are alike.
inline constexpr size_t TINY_PART = 6;
// Gates of a part that is worth a thread and a builder of its own. Bounds what threads cost.
inline constexpr size_t SMALL_PART = 64;

// --- reading a program -------------------------------------------------------------------------

// Gates of a program. Bounds memory: some 300 bytes each, with all that is made of them.
inline constexpr size_t MOST_GATES = 4000000;
// Atoms of a loop above which all of its negated atoms are guessed at once. Bounds the rounds of
// looking for few; with a small number smokers with negation 20 are out of reach.
inline constexpr size_t LARGE_LOOP = 3000;
// Rules that the running totals of a sum may take: 100 ten-valued digits take 0.9 million. Bounds
// memory; above it a sum is a counter of its own for each bound.
inline constexpr size_t MOST_TOTALS = 1500000;
// Bounds that a sum of independent literals is compared with, from which on they share totals: with
// few, counters that end where a bound is reached are smaller.
inline constexpr size_t MANY_BOUNDS = 3;
// A total within this cannot overflow on the way.
inline constexpr int64_t LARGEST_TOTAL = int64_t(1) << 61;
// Choices that are known to decide about an atom, and atoms of a group that are compared one by one
// with another. Bound the work of finding out what excludes what.
inline constexpr size_t SUPPORT = 4, COMPARED = 256;
// Gates that iterating a loop may add, and nodes and units of work to prove its end. Bounds how
// long substitution is put off.
inline constexpr size_t LOOP_GATES = 1000000;
inline constexpr size_t PROOF_NODES = 2000000;
inline constexpr uint64_t PROOF_WORK = 30000000;
// Inputs of gates that are looked at to find coins. Bounds half a second.
inline constexpr uint64_t COIN_LOOKS = 5000000;

// --- orders of the inputs ----------------------------------------------------------------------

// Connected vertices that are ordered narrowly, and of those that wait how many are looked at for
// the next place. With few vertices strip 100 takes five times as long; candidates: bounds, for
// 2000 change nothing.
inline constexpr size_t NARROW_REGION = 60000;
inline constexpr size_t NARROW_CANDIDATES = 200;
// A polished order: vertices up to which it is annealed, starts below and above that, moves, and
// vertices looked at by all moves together. A sixth of the moves: evidence on a colouring 20 and
// grid 6 half as large again; four times as many: 1.4 times as long.
inline constexpr size_t POLISHED_VERTICES = 2000;
inline constexpr size_t POLISH_STARTS = 60, LARGE_STARTS = 4;
inline constexpr size_t POLISH_MOVES = 30000, POLISH_STEPS = 60000000;
// Bits that an order costs for each open input, and for each open exit and entry (Polisher::cost).
// Inputs at twice: colouring 18 takes 1.4 times as long; at half: circuits of smokers 25 are 1.8
// times as large; exits at a quarter: colouring 18 2.5 times as long; at four times: 8 times.
inline constexpr double OPEN_INPUT = 1.6, OPEN_EXIT = 0.5;
// How much worse (as a logarithm of the cost) a move may be at first, and one move in how many goes
// anywhere. A fifth of the heat, or every move far: colouring 18 three times as long; five times the
// heat, or a quarter of the far moves, changes nothing but the circuits of smokers 25.
inline constexpr double POLISH_HEAT = 0.4;
inline constexpr uint32_t POLISH_FAR = 4;

// --- tables ------------------------------------------------------------------------------------

// Open gates above which tables give up, and words of 64 above which a false gate is told to its
// consumers late. Bound memory and time of very wide programs.
inline constexpr uint32_t WIDEST_TABLE = 8192;
inline constexpr uint32_t EAGER_WORDS = 16;
// Suffixes multiplied with a prefix side by side; numbers that are multiplied, and moved by a step,
// in a unit of work; and how many steps' work the last product may take before another step is
// made.
inline constexpr size_t BLOCK = 128;
inline constexpr uint64_t PER_PRODUCT = 100, PER_STEP = 3, ANOTHER_STEP = 16;

// --- networks ----------------------------------------------------------------------------------

// Combinations of parents' states: tables with so few are never taken apart into groups between
// (of one head, and of a cluster), with so many they always are. No network notices a quarter or
// four times of them.
inline constexpr double FEW_COMBINATIONS = 16, FEW_FOR_CLUSTERS = 1024, MOST_COMBINATIONS = 1 << 21;
// Looking for an order of elimination: how many times the entries that are allowed it may begin
// with, steps for each entry, random attempts, and steps of an attempt for each variable, with
// nodes and with numbers as entries.
inline constexpr double NEAR = 16, ORDER_STEPS = 10;
inline constexpr uint32_t ORDER_ATTEMPTS = 100;
inline constexpr double NODE_ATTEMPT = 20, NUMBER_ATTEMPT = 400;
// The share by which scores of a random attempt are changed at most. A tenth or ten times as much:
// sums over Grids_11 take 1.3 to 1.4 times as long.
inline constexpr double ORDER_NOISE = 0.2;
// Steps of all attempts after which no more are made if none was small enough. linkage_16 needs
// five of them, some 10^6 steps; bounds a second on networks that are too wide.
inline constexpr double HOPELESS_STEPS = 1e8;
// Entries from which on numbers take the place of nodes where the weights are known.
inline constexpr double NUMBER_ENTRIES = 5e6;
// Entries of a table that is always multiplied with others of its bucket, and the share of the
// whole bucket that others may have.
inline constexpr double SMALL_TABLE = 4096, SMALL_SHARE = 16;
// Logarithms of weights that differ by less are ties, as in dpasp.inference.map.
inline constexpr double CLOSE = 1e-10;
// Where a maximum is too large to be exact: entries of all tables of an order that is taken anyway,
// and of one of the parts that a larger bucket is divided into, and random changes after which
// states climb again. Bound some seconds.
inline constexpr double ANY_ORDER = 1e30, DIVIDED_BUCKET = 1 << 16;
inline constexpr size_t ASCENTS = 20000;
// Where sums are left beside the maximum: changes of one group, an elimination each, and the weight
// that lets other states in. Bound some seconds.
inline constexpr size_t CLIMBS = 30;
inline constexpr double LET_IN = 1e-9;
// Entries of a table of weights, over the states of all groups that its atoms depend on.
inline constexpr double MOST_TABLE = 5e7;
// Entries of a part without groups above which its atoms are not summed together: a circuit is the
// better way then, and looking for an order takes longer than making it.
inline constexpr double UNGROUPED_ENTRIES = 1e6;
// A mass below this may have lost digits: doubles end near 1e-308.
inline constexpr double TINY = 1e-250;

// --- the search --------------------------------------------------------------------------------

// Occurrences of a variable up to which clauses are looked for that others imply; pairs of clauses
// that are resolved to eliminate one, and literals of what that makes; literals and clauses looked
// at to find literals that fail. Bound what simplifying takes.
inline constexpr size_t SEARCH_OCCURRENCES = 2000, SEARCH_RESOLVENTS = 400;
inline constexpr size_t SEARCH_LONG_RESOLVENT = 24;
inline constexpr uint64_t SEARCH_PROBING = 4000000;
// Neighbours of a variable above which a tree decomposition does not count the edges between them.
inline constexpr size_t SEARCH_FILL = 400;
// What its place in a tree decomposition adds to what a variable is worth to be decided, beside the
// clauses that mention it and its part in conflicts: so much (divided by the number of variables,
// times e to the number of variables per bag) and at most so much. Without it, counts of
// mc2022_track2_007 and _013 take two and three times as long.
inline constexpr double SEARCH_PULL = 100, SEARCH_MOST_PULL = 1e7;
// How much more the next conflict counts than the last one, and the clauses learnt after which half
// of them are dropped (a tenth more each time): bounds memory. Three counts notice neither 1.005
// and 1.5, nor a tenth and ten times of the clauses.
inline constexpr double SEARCH_RECENT = 1.05;
inline constexpr size_t SEARCH_LEARNT = 4000;
// Literals and clauses looked at in a unit of work.
inline constexpr uint64_t SEARCH_PER_UNIT = 12;
// The share of its work that a search has done from which on it is a round ahead of the other ways,
// and below which it is left out once the rounds are long.
inline constexpr double SEARCH_PROGRESS = 0.01, SEARCH_HOPELESS = 1e-4;
// Bytes of what is remembered of components.
inline constexpr size_t SEARCH_MEMORY = size_t(1) << 30;

// --- evaluation --------------------------------------------------------------------------------

// Multiplications of an evaluation that is over before a signal must be answered: some 50 ms.
inline constexpr double BRIEF_EVALUATION = 5e7;

}  // namespace dpasp::tuning
