// How to compile: the ways, the orders, what is counted, and how much each may take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dpasp {

// What is known of the models of a total choice: which kinds there are (enough for credal),
// how many of each kind (maxent), or how many with the least undefined sets (lstable).
enum class Mode { Bits, Counts, Least };

// To add a way: name it here and in `options.cpp`, declare its function in `ways.hpp`, write
// that in a file of its own, and say in `compile.cpp` when it is tried.
enum class Way { Diagram, Tables, Search, Elimination };

// The first four are orders of the inputs, for tables and diagrams; then come those of the search
// and of the elimination.
enum class Order { Narrow, Breadth, Depth, Polished, Width, Frequency, Tree };

const char *name(Mode mode);
const char *name(Way way);
const char *name(Order order);

// What has that name; std::invalid_argument, with the names that there are, if nothing has.
Mode mode_named(const std::string &name);
Way way_named(const std::string &name);
Order order_named(const std::string &name);

constexpr size_t MOST_NODES = size_t(1) << 30;  // an edge of a diagram is 2 * node in 32 bits

// What is left out has its default in Python (circuits/compiler.py), not a second one here.
struct Options {
    std::optional<Way> way;      // all of them unless one is given
    std::optional<Order> order;  // all of them unless one is given
    Mode mode;
    size_t nodes;   // the most nodes a part may take
    uint64_t work;  // the most work of one attempt
    // Of the leaves, if they are known: a large elimination then ends in numbers, and the circuit
    // is of these weights alone.
    std::vector<double> weights;
    int threads = 1;  // at most; the circuit does not depend on it
};

}  // namespace dpasp
