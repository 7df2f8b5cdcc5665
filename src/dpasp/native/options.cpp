#include "options.hpp"

#include <iterator>
#include <stdexcept>

namespace dpasp {
namespace {

// In the order of their enumerations.
constexpr const char *MODES[] = {"bits", "counts", "least"};
constexpr const char *WAYS[] = {"diagram", "tables", "search", "elimination"};
constexpr const char *ORDERS[] = {"narrow", "breadth",   "depth", "polished",
                                  "width",  "frequency", "tree"};

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

}  // namespace

const char *name(Mode mode) { return MODES[size_t(mode)]; }
const char *name(Way way) { return WAYS[size_t(way)]; }
const char *name(Order order) { return ORDERS[size_t(order)]; }

Mode mode_named(const std::string &name) { return Mode(find(MODES, name, "mode")); }
Way way_named(const std::string &name) { return Way(find(WAYS, name, "way")); }
Order order_named(const std::string &name) { return Order(find(ORDERS, name, "order")); }

}  // namespace dpasp
