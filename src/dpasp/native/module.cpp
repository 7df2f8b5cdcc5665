// The Python module: arrays in, arrays out, no objects for nodes.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <limits>

#include "compile.hpp"
#include "tuning.hpp"
#include "worlds.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace dpasp;

namespace {

using Integers = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Cube = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

template <class T> nb::object array(std::vector<T> items, std::vector<size_t> shape) {
    auto *held = new std::vector<T>(std::move(items));
    nb::capsule owner(held, [](void *p) noexcept { delete static_cast<std::vector<T> *>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T>(held->data(), shape.size(), shape.data(), owner));
}

template <class T> nb::object array(std::vector<T> items) {
    std::vector<size_t> shape{items.size()};
    return array(std::move(items), shape);
}

// One number of each item.
template <class T, class Get> nb::object column(const std::vector<T> &items, Get get) {
    std::vector<decltype(get(items[0]))> numbers;
    numbers.reserve(items.size());
    for (const T &item : items) numbers.push_back(get(item));
    return array(std::move(numbers));
}

nb::dict report(const Compiled &compiled) {
    nb::list parts;
    for (const PartReport &part : compiled.parts) {
        nb::dict item;
        item["choices"] = part.choices;
        item["guesses"] = part.guesses;
        item["gates"] = part.gates;
        item["width"] = part.width;
        item["way"] = name(part.attempted.way);
        item["order"] = part.attempted.order_name();
        item["nodes"] = part.nodes;
        item["seconds"] = part.seconds;
        if (part.entries > 0) item["entries"] = uint64_t(part.entries);
        parts.append(item);
    }
    nb::dict result;
    result["parts"] = parts;
    result["of_weights"] = compiled.of_weights;
    result["determined"] = compiled.atoms_determined;
    result["inner"] = compiled.atoms_inner;
    result["guesses"] = compiled.guesses;
    result["gates"] = compiled.gates;
    return result;
}

Ground ground(int64_t atoms, const Integers &rules, const Integers &choices,
              const Integers &questions, const Integers &own, const Integers &observed,
              const std::optional<Integers> &tables) {
    auto numbers = [](const Integers &array) { return Numbers{array.data(), array.shape(0)}; };
    return read_ground(atoms, {numbers(rules), numbers(choices), numbers(questions), numbers(own),
                               numbers(observed), tables ? numbers(*tables) : Numbers{nullptr, 0}});
}

Options options(const std::string &mode, const std::string &way, const std::string &order,
                size_t nodes, uint64_t work, std::vector<double> weights, int threads) {
    Options result{std::nullopt, std::nullopt,       mode_named(mode), nodes,
                   work,         std::move(weights), threads};
    if (threads < 1) throw std::invalid_argument("there is at least one thread");
    if (way != "auto") result.way = way_named(way);
    if (order != "auto") result.order = order_named(order);
    if (nodes < 1 || nodes > MOST_NODES)
        throw std::invalid_argument("a part may have from 1 to " + std::to_string(MOST_NODES) +
                                    " nodes, not " + std::to_string(nodes));
    return result;
}

enum class Run { Deep, Brief };

// Runs native work without the interpreter lock and returns its result. The work gets a watch, and
// a number to tell its progress. Deep work gets a deep stack; about every 20 ms `progress` (or
// None) is called with that number and signals are handled. Brief work runs in this thread.
template <class Work>
auto watched(const Limits &limits, const Work &work, Run run = Run::Deep,
             nb::handle progress = nb::none()) {
    std::atomic<bool> stop{false};
    std::atomic<double> done{0};
    Watch watch(limits, &stop);
    std::optional<decltype(work(watch, done))> result;
    bool interrupted = false;
    auto tick = [&] {
        nb::gil_scoped_acquire hold;
        if (stop) return;
        if (!progress.is_none()) {
            PyObject *told = PyObject_CallFunction(progress.ptr(), "d", done.load());
            if (!told) stop = interrupted = true;
            Py_XDECREF(told);
        }
        if (!stop && PyErr_CheckSignals() != 0) stop = interrupted = true;
    };
    auto deep = [&](uintptr_t floor) {
        watch.set_floor(floor);
        result = work(watch, done);
    };
    try {
        nb::gil_scoped_release free;
        if (run == Run::Deep)
            run_deep(deep, tick);
        else
            result = work(watch, done);
    } catch (const Stopped &) {
        if (!interrupted) throw;
    } catch (const std::bad_alloc &) {
        if (!interrupted) throw Stopped(Reason::Memory, "out of memory");
    }
    if (interrupted) throw nb::python_error();  // what Python has raised
    return std::move(*result);
}

nb::object compile_ground(const Ground &ground, const Options &options, const Limits &limits,
                          const nb::object &progress) {
    auto work = [&](Watch &watch, auto &done) { return compile(ground, options, watch, done); };
    Compiled compiled = watched(limits, work, Run::Deep, progress);
    nb::dict statistics = report(compiled);
    return nb::make_tuple(nb::cast(std::move(compiled.circuit)), statistics);
}

nb::dict plan_ground(const Ground &ground, const Options &options, const Limits &limits) {
    auto work = [&](Watch &watch, auto &) { return plan(ground, options, watch); };
    return report(watched(limits, work));
}

// For each question, the logarithm of the mass of the evidence with the query. None if the program
// is no network, or its tables have fewer than `least` entries.
nb::object shares_of(const Ground &ground, const Options &options, double least,
                     const Limits &limits) {
    auto work = [&](Watch &watch, auto &) { return shares(ground, options, least, {}, watch); };
    std::optional<Shares> found = watched(limits, work);
    if (!found) return nb::none();
    std::vector<double> out;
    for (const Scaled &share : found->questions) out.push_back(share.log());
    return nb::make_tuple(array(std::move(out), {found->questions.size()}),
                          uint64_t(found->entries), found->width);
}

// The logarithms of the largest weight (or a bound on it) and of the one that was found; and for at
// most `ties` that attain it, whether each query holds. None if the program is no network.
nb::object maxima_of(const Ground &ground, const Options &options, size_t ties, bool sums,
                     bool bounded, const Limits &limits) {
    Goal goal{ties, sums, bounded};
    auto work = [&](Watch &watch, auto &) { return shares(ground, options, 0, goal, watch); };
    std::optional<Shares> found = watched(limits, work);
    if (!found) return nb::none();
    std::vector<int64_t> out;
    const Maximum &best = found->largest;
    for (const auto &row : best.ties) out.insert(out.end(), row.begin(), row.end());
    return nb::make_tuple(best.log, best.found,
                          array(std::move(out), {best.ties.size(), found->questions.size()}));
}

// Long evaluations run so that signals are handled meanwhile.
Run evaluation(const Circuit &circuit, size_t batch) {
    bool brief = evaluation_work(circuit, batch) <= tuning::BRIEF_EVALUATION;
    return brief ? Run::Brief : Run::Deep;
}

Request request(uint32_t fields, bool log, int threads) {
    if (fields >> FIELDS) throw nb::value_error("unknown field");
    return {fields, log, threads};
}

std::vector<double> numbers(size_t rows, size_t columns) {
    if (columns && rows > SIZE_MAX / sizeof(double) / columns)
        throw Stopped(Reason::Memory, "out of memory");
    try {
        return std::vector<double>(rows * columns);
    } catch (const std::exception &) {
        throw Stopped(Reason::Memory, "out of memory");
    }
}

nb::object masses(const Circuit &circuit, const Matrix &weights, uint32_t fields, bool log,
                  int threads, const Limits &limits) {
    if (weights.shape(0) != circuit.weights) throw nb::value_error("wrong number of weights");
    Columns columns{weights.data(), weights.shape(1)};
    Request wanted = request(fields, log, threads);
    auto work = [&](Watch &watch, auto &) {
        std::vector<double> out = numbers(circuit.roots.size() * FIELDS, columns.batch);
        evaluate(circuit, columns, wanted, nullptr, out.data(), watch);
        return out;
    };
    return array(watched(limits, work, evaluation(circuit, columns.batch)),
                 {circuit.roots.size(), FIELDS, columns.batch});
}

// The masses and a slope for each weight; along directions, if there are any.
nb::object with_slopes(const Circuit &circuit, const Matrix &weights, const Cube &seeds,
                       const Matrix *directions, const Request &wanted, const Limits &limits) {
    Columns columns{weights.data(), weights.shape(1)};
    if (weights.shape(0) != circuit.weights || seeds.shape(0) != circuit.roots.size() ||
        seeds.shape(1) != FIELDS || seeds.shape(2) != weights.shape(1) ||
        (directions && (directions->shape(0) != weights.shape(0) ||
                        directions->shape(1) != weights.shape(1))))
        throw nb::value_error("arrays of the wrong shape");
    auto both = [&](Watch &watch, auto &) {
        std::vector<double> out = numbers(circuit.roots.size() * FIELDS, columns.batch);
        std::vector<double> slopes = numbers(circuit.weights, columns.batch);
        Slopes asked{seeds.data(), slopes.data(), directions ? directions->data() : nullptr};
        evaluate(circuit, columns, wanted, &asked, out.data(), watch);
        return std::make_pair(std::move(out), std::move(slopes));
    };
    auto [out, slopes] = watched(limits, both, evaluation(circuit, columns.batch));
    return nb::make_tuple(array(std::move(out), {circuit.roots.size(), FIELDS, columns.batch}),
                          array(std::move(slopes), {size_t(circuit.weights), columns.batch}));
}

nb::object gradient(const Circuit &circuit, const Matrix &weights, const Cube &seeds,
                    uint32_t fields, bool log, int threads, const Limits &limits, bool of_logs) {
    Request wanted = request(fields, log, threads);
    wanted.of_logs = log && of_logs;
    return with_slopes(circuit, weights, seeds, nullptr, wanted, limits);
}

nb::object curvature(const Circuit &circuit, const Matrix &weights, const Cube &seeds,
                     const Matrix &directions, uint32_t fields, bool log, int threads,
                     const Limits &limits) {
    return with_slopes(circuit, weights, seeds, &directions, request(fields, log, threads), limits);
}

using Values = nb::ndarray<const int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

Circuit fold_table(const Integers &widths, const Values &values, const Cube &counts,
                   const Limits &limits) {
    Enumerated table;
    int64_t leaf = 0;
    for (size_t i = 0; i < widths.shape(0); ++i) {
        int64_t width = widths.data()[i];
        if (width < 1 || width > INT32_MAX - leaf)
            throw std::invalid_argument("a choice of " + std::to_string(width) + " values");
        table.shapes.push_back({uint32_t(width), uint32_t(leaf)});
        leaf += width;
    }
    table.rows = values.shape(0);
    table.questions = counts.shape(1);
    if (values.shape(1) != table.shapes.size() || counts.shape(0) != table.rows ||
        counts.shape(2) != 3)
        throw nb::value_error("arrays of the wrong shape");
    table.values = values.data();
    table.counts = counts.data();
    return watched(limits, [&](Watch &watch, auto &) { return fold(table, watch); });
}

// A decision is given by the first leaf of its choice, the number of children, and the children.
Circuit join_circuits(const std::vector<Circuit *> &circuits, const std::vector<Integers> &leaves,
                      const Integers &flat, uint32_t weights, const Limits &limits) {
    if (circuits.size() != leaves.size()) throw nb::value_error("lists of other lengths");
    std::vector<CaseCircuit> cases;
    for (size_t i = 0; i < circuits.size(); ++i) {
        if (!circuits[i] || leaves[i].shape(0) != circuits[i]->weights)
            throw nb::value_error("leaves that do not fit a case");
        cases.push_back({circuits[i], leaves[i].data()});
    }
    std::vector<Decision> decisions;
    const int64_t *at = flat.data(), *end = at + flat.shape(0);
    while (at < end) {
        if (end - at < 2 || at[0] < 0 || at[0] > UINT32_MAX || at[1] < 0 || at[1] > end - at - 2)
            throw nb::value_error("decisions that are cut short");
        decisions.push_back({uint32_t(at[0]), {at + 2, at + 2 + at[1]}});
        at += 2 + at[1];
    }
    auto work = [&](Watch &watch, auto &) { return join(cases, decisions, weights, watch); };
    return watched(limits, work);
}

Worlds worlds(const Ground &ground, const Integers &steps, const Integers &outputs) {
    return Worlds(ground, {steps.data(), steps.shape(0)}, {outputs.data(), outputs.shape(0)});
}

// The bits [outputs, words] of worlds, and their weights, if they have any.
template <class Work>
nb::object drawn(const Worlds &worlds, const Vector &weights, size_t words, const Limits &limits,
                 Run run, const Work &work) {
    if (weights.shape(0) != worlds.leaves())
        throw nb::value_error("weights that do not fit the choices");
    Worlds::Drawn drawn = watched(limits, [&](Watch &watch, auto &) { return work(watch); }, run);
    nb::object bits = array(std::move(drawn.bits), {worlds.outputs(), words});
    return nb::make_tuple(bits, array(std::move(drawn.weights)));
}

// Of blocks of worlds.
nb::object draw_worlds(const Worlds &worlds, const Vector &weights, uint64_t seed, uint64_t first,
                       size_t blocks, const Limits &limits) {
    return drawn(worlds, weights, blocks * WORDS, limits, Run::Deep, [&](Watch &watch) {
        return worlds.draw(weights.data(), seed, first, blocks, watch);
    });
}

// Of the candidates of a move.
nb::object move_chains(const Worlds &worlds, const Vector &weights, uint64_t seed, uint64_t number,
                       const Values &states, const Integers &free, const Limits &limits) {
    if (states.shape(0) != WORDS || states.shape(1) != worlds.choices() ||
        free.shape(0) != worlds.choices())
        throw nb::value_error("states that do not fit the choices");
    return drawn(worlds, weights, WORDS, limits, Run::Brief, [&](Watch &watch) {
        return worlds.move(weights.data(), seed, number, {states.data(), free.data()}, watch);
    });
}

// The circuit's arrays: op, begin, end of nodes; weight, child of edges; kinds, qe, e of values.
nb::dict arrays(const Circuit &circuit) {
    nb::dict result;
    result["op"] = column(circuit.nodes, [](const Node &node) { return int64_t(node.op); });
    result["begin"] = column(circuit.nodes, [](const Node &node) { return int64_t(node.begin); });
    result["end"] = column(circuit.nodes, [](const Node &node) { return int64_t(node.end); });
    result["weight"] = column(circuit.edges, [](const Edge &edge) { return int64_t(edge.weight); });
    result["child"] = column(circuit.edges, [](const Edge &edge) { return int64_t(edge.child); });
    result["kinds"] = column(circuit.values, [](const Value &v) { return int64_t(v.packed()); });
    result["qe"] = column(circuit.values, [](const Value &value) { return value.qe; });
    result["e"] = column(circuit.values, [](const Value &value) { return value.e; });
    result["layers"] = column(circuit.layers, [](uint32_t start) { return int64_t(start); });
    result["roots"] = column(circuit.roots, [](uint32_t root) { return int64_t(root); });
    return result;
}

// The limits, with a clock from Python or None. If the clock fails, the time counts as over, and
// Python reports why.
Limits limits_of(double seconds, double megabytes, const nb::object &clock) {
    Limits limits(seconds, megabytes);
    if (clock.is_none()) return limits;
    limits.clock = std::make_shared<const std::function<double()>>([clock] {
        nb::gil_scoped_acquire hold;
        nb::object now = nb::steal(PyObject_CallNoArgs(clock.ptr()));
        double told = now.is_valid() ? PyFloat_AsDouble(now.ptr()) : -1;
        if (!PyErr_Occurred()) return told;
        PyErr_WriteUnraisable(clock.ptr());
        return std::numeric_limits<double>::infinity();
    });
    return limits;
}

// The texts are bytes, each with the exit code that goes with it.
using Words = std::pair<std::vector<std::pair<int, nb::bytes>>, int>;

void sentinel(Sentinel *self, const Limits &limits, const Words &late, const Words &large) {
    auto words = [](const Words &given) {
        LastWords last{{}, given.second};
        for (const auto &[descriptor, text] : given.first)
            last.texts.emplace_back(descriptor, std::string(text.c_str(), text.size()));
        return last;
    };
    new (self) Sentinel(limits, words(late), words(large));
}

}  // namespace

// Turns a stop into a Python exception with its reason.
void translate_stop(const std::exception_ptr &problem, void *type) {
    try {
        std::rethrow_exception(problem);
    } catch (const Stopped &stopped) {
        nb::object raised = nb::borrow(static_cast<PyObject *>(type))(stopped.what());
        raised.attr("reason") = nb::cast(stopped.reason);
        PyErr_SetObject(static_cast<PyObject *>(type), raised.ptr());
    }
}

NB_MODULE(_native, m) {
    m.doc() = "The compiler and the evaluation of circuits.";
    m.attr("build") = DPASP_BUILD;
    m.attr("compiler") = DPASP_COMPILER;
    m.attr("options") = DPASP_OPTIONS;
#if !defined(DPASP_SANITIZE)
    // Objects that a script still has when the interpreter ends (such as a tensor with its
    // gradient) are not leaks that its user should read about.
    nb::set_leak_warnings(false);
#endif
    nb::enum_<Reason>(m, "Reason")
        .value("SIZE", Reason::Size)
        .value("TIME", Reason::Time)
        .value("MEMORY", Reason::Memory)
        .value("INTERRUPT", Reason::Interrupt)
        .value("HEAD_CYCLE", Reason::HeadCycle)
        .value("OBSERVED", Reason::Observed);
    nb::object stopped =
        nb::steal(PyErr_NewException("dpasp.native._native.Stopped", nullptr, nullptr));
    m.attr("Stopped") = stopped;
    nb::register_exception_translator(translate_stop, stopped.ptr());
    nb::class_<Ground>(m, "Ground")
        .def(nb::new_(&ground), "atoms"_a, "rules"_a, "choices"_a, "questions"_a, "own"_a,
             "observed"_a, "tables"_a.none() = nb::none());
    nb::class_<Options>(m, "Options")
        .def(nb::new_(&options), "mode"_a, "way"_a, "order"_a, "nodes"_a, "work"_a,
             "weights"_a = std::vector<double>(), "threads"_a = 1);
    nb::class_<Limits>(m, "Limits")
        .def(nb::new_(&limits_of), "seconds"_a, "megabytes"_a, "clock"_a.none() = nb::none());
    m.def("memory_in_use", &megabytes_in_use);
    nb::class_<Sentinel>(m, "Sentinel")
        .def("__init__", &sentinel, "limits"_a, "late"_a, "large"_a)
        .def("send_away", &Sentinel::send_away, nb::call_guard<nb::gil_scoped_release>());
    nb::class_<Circuit>(m, "Circuit")
        .def_prop_ro("weights", [](const Circuit &c) { return c.weights; })
        .def_prop_ro("nodes", [](const Circuit &c) { return c.nodes.size(); })
        .def_prop_ro("edges", [](const Circuit &c) { return c.edges.size(); })
        .def_prop_ro("depth", [](const Circuit &c) { return c.layers.size() - 1; })
        .def_prop_ro("questions", [](const Circuit &c) { return c.roots.size(); })
        .def_prop_ro("total", [](const Circuit &c) { return c.total; })
        .def_prop_ro("definite", [](const Circuit &c) { return c.definite; })
        .def("masses", &masses, "weights"_a, "fields"_a, "log"_a, "threads"_a, "limits"_a)
        .def("gradient", &gradient, "weights"_a, "seeds"_a, "fields"_a, "log"_a, "threads"_a,
             "limits"_a, "of_logs"_a = false)
        .def("curvature", &curvature, "weights"_a, "seeds"_a, "directions"_a, "fields"_a, "log"_a,
             "threads"_a, "limits"_a)
        .def("arrays", &arrays)
        .def("to_bytes",
             [](const Circuit &c) {
                 auto data = c.to_bytes();
                 return nb::bytes(data.data(), data.size());
             })
        .def_static("from_bytes", [](const nb::bytes &data) {
            try {
                return Circuit::from_bytes(data.c_str(), data.size());
            } catch (const std::runtime_error &problem) {
                throw nb::value_error(problem.what());
            }
        });
    nb::class_<Worlds>(m, "Worlds")
        .def(nb::new_(&worlds), "ground"_a, "steps"_a, "outputs"_a)
        .def("draw", &draw_worlds, "weights"_a, "seed"_a, "first"_a, "blocks"_a, "limits"_a)
        .def("move", &move_chains, "weights"_a, "seed"_a, "number"_a, "states"_a, "free"_a,
             "limits"_a);
    m.attr("worlds_in_block") = BLOCK;
    m.def("fold", &fold_table, "widths"_a, "values"_a, "counts"_a, "limits"_a);
    m.def("join", &join_circuits, "circuits"_a, "leaves"_a, "decisions"_a, "weights"_a, "limits"_a);
    m.def("compile", &compile_ground, "ground"_a, "options"_a, "limits"_a, "progress"_a.none());
    m.def("shares", &shares_of, "ground"_a, "options"_a, "least"_a, "limits"_a);
    m.def("maxima", &maxima_of, "ground"_a, "options"_a, "ties"_a, "sums"_a,
          "bounded"_a, "limits"_a);
    m.def("plan", &plan_ground, "ground"_a, "options"_a, "limits"_a);
}
