// Bounds and clocks of the native code that no program of a reasonable size reaches; run by
// test_native.py. Prints what went wrong; nothing is well.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <thread>

// One file for the compiler, which is quicker than three.
#include "circuit.cpp"
#include "diagram.hpp"
#include "gates.cpp"
#include "limits.cpp"

// How often this thread may still take memory before there is none; -1: always.
static thread_local int allocations = -1;

void *operator new(size_t size) {
    if (allocations == 0) throw std::bad_alloc();
    if (allocations > 0) --allocations;
    if (void *memory = std::malloc(size ? size : 1)) return memory;
    throw std::bad_alloc();
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }

using namespace dpasp;

namespace {

int failures = 0;

template <class Work> void expect(Reason reason, const char *what, Work work) {
    try {
        work();
        std::printf("%s: not stopped\n", what);
    } catch (const Stopped &stop) {
        if (stop.reason == reason) return;
        std::printf("%s: stopped for another reason: %s\n", what, stop.what());
    }
    ++failures;
}

template <class Work> void expect_done(const char *what, Work work) {
    try {
        work();
    } catch (const Stopped &stop) {
        std::printf("%s: stopped: %s\n", what, stop.what());
        ++failures;
    }
}

// Numbers of nodes, edges and inputs have 32 bits; what would need more is refused.
void bounds() {
    auto conjunctions = [](size_t most) {
        Gates gates({{2, 0}, {2, 2}, {2, 4}});
        gates.most_inputs = most;
        Lit a = gates.value(0, 0), b = gates.value(1, 0), c = gates.value(2, 0);
        gates.both(a, b);
        gates.both(b, c);  // four inputs together
    };
    expect_done("inputs of gates", [&] { conjunctions(4); });
    expect(Reason::Size, "inputs of gates", [&] { conjunctions(3); });

    auto sums = [](size_t most) {
        Builder builder(most);  // two leaves are there already
        uint32_t leaf = builder.leaf({Value::E, 0, 1});
        builder.sum({{0, leaf}, {1, Builder::TRUE_NODE}});
        builder.sum({{2, leaf}, {3, Builder::TRUE_NODE}});
    };
    expect_done("nodes of a circuit", [&] { sums(5); });
    expect(Reason::Size, "nodes of a circuit", [&] { sums(4); });
    expect(Reason::Size, "edges of a circuit", [] {
        Builder builder(5);
        builder.sum({{0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}});
    });
    expect(Reason::Size, "leaves of a circuit", [] { Builder(2).leaf({Value::E, 0, 1}); });

    auto variables = [](size_t most) {
        Budget budget;
        Watch watch;
        Diagram diagram({2, 3}, budget, watch, most);
        Dd two[2] = {DD_TRUE, DD_FALSE}, three[3] = {DD_TRUE, DD_FALSE, DD_TRUE};
        diagram.make(0, two);
        diagram.make(1, three);  // five children together
    };
    expect_done("children of a diagram", [&] { variables(5); });
    expect(Reason::Size, "children of a diagram", [&] { variables(4); });
}

constexpr uint32_t LEVELS = 2000;

// The time is over when the clock is looked at first.
void clocks() {
    Budget budget;
    Limits passed(0, -1);
    passed.clock = std::make_shared<std::function<double()>>([now = 0.0]() mutable { return now++; });
    Watch free, over(passed);
    std::vector<ChoiceShape> shapes;
    for (uint32_t level = 0; level < LEVELS; ++level) shapes.push_back({2, 2 * level});
    Diagram diagram(std::vector<uint32_t>(LEVELS, 2), budget, free);
    Dd parity = DD_TRUE;
    for (uint32_t level = LEVELS; level-- > 0;) {
        Dd children[2] = {parity, parity ^ 1u};
        parity = diagram.make(level, children);
    }
    Builder builder;
    auto copy = [&](Watch &watch) {
        Copier copier(diagram, shapes, LEVELS, builder, watch);
        return copier.copy(parity, parity ^ 1u, DD_FALSE);
    };
    expect(Reason::Time, "copying a diagram", [&] { copy(over); });
    std::vector<uint32_t> roots;
    expect_done("copying a diagram", [&] { roots.push_back(copy(free)); });
    Watch late(passed);
    expect(Reason::Time, "gathering", [&] { Circuit::gather(builder, roots, 2 * LEVELS, late); });
    expect_done("gathering", [&] { Circuit::gather(builder, roots, 2 * LEVELS, free); });
}

// Memory may end anywhere while threads are prepared: no thread is left behind then.
void crowded() {
    std::atomic<int> running{0};
    auto work = [&](size_t, Watch &) {
        ++running;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        --running;
        return false;
    };
    int refused = 0;
    for (int room = 0; room < 40; ++room) {
        Spare spare(8);
        Watch watch;
        std::function<bool(size_t, Watch &)> task = work;
        allocations = room;
        try {
            run_in_turn(8, spare, watch, task);
        } catch (const std::bad_alloc &) {
            ++refused;
        }
        allocations = -1;
        if (running.load() == 0) continue;
        std::printf("a thread was left behind after %d pieces of memory\n", room);
        ++failures;
    }
    if (refused == 0 || refused == 40) {
        std::printf("memory ended in %d of 40 runs\n", refused);
        ++failures;
    }
}

}  // namespace

int main() {
    bounds();
    clocks();
    crowded();
    return failures != 0;
}
