// The Python face of the native code: arrays in, arrays out, nothing per node.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include "compile.hpp"
#include "evaluate.hpp"
#include "fold.hpp"
#include "worker.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace dpasp;

namespace {

using Integers = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Cube = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

std::vector<int64_t> list(const Integers &array) {
    return {array.data(), array.data() + array.shape(0)};
}

template <class T> nb::object array(std::vector<T> items, std::vector<size_t> shape) {
    auto *held = new std::vector<T>(std::move(items));
    nb::capsule owner(held, [](void *p) noexcept { delete static_cast<std::vector<T> *>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T>(held->data(), shape.size(), shape.data(), owner));
}

template <class T> nb::object array(std::vector<T> items) {
    std::vector<size_t> shape{items.size()};
    return array(std::move(items), shape);
}

const char *word(Reason reason) {
    switch (reason) {
    case Reason::Size:
        return "size";
    case Reason::Time:
        return "time";
    case Reason::Memory:
        return "memory";
    case Reason::Interrupt:
        return "interrupt";
    case Reason::Observed:
        return "observed";
    default:
        return "head-cycle";
    }
}

nb::dict report(const Compiled &compiled) {
    nb::list parts;
    for (const PartReport &part : compiled.parts) {
        nb::dict item;
        item["choices"] = part.choices;
        item["guesses"] = part.guesses;
        item["gates"] = part.gates;
        item["width"] = part.width;
        item["way"] = part.way;
        item["order"] = part.order;
        item["nodes"] = part.nodes;
        item["seconds"] = part.seconds;
        parts.append(item);
    }
    nb::dict result;
    result["parts"] = parts;
    result["determined"] = compiled.atoms_determined;
    result["inner"] = compiled.atoms_inner;
    result["guesses"] = compiled.guesses;
    result["gates"] = compiled.gates;
    return result;
}

nb::object compile_ground(uint32_t atoms, Integers rules, Integers choices, Integers questions,
                          Integers own, Integers observed, const std::string &mode,
                          const std::string &way, const std::string &order, size_t nodes,
                          size_t work, double seconds, double megabytes, nb::object progress, bool plan) {
    Ground ground{atoms,     list(rules), list(choices), list(questions), list(own),
                  list(observed)};
    Options options;
    options.way = way;
    options.order = order;
    options.mode = mode == "bits" ? Mode::Bits : mode == "least" ? Mode::Least : Mode::Counts;
    options.nodes = nodes;
    options.work = work;
    options.plan = plan;
    std::atomic<bool> stop{false};
    std::atomic<double> done{0};
    Watch watch;
    watch.stop = &stop;
    watch.deadline = seconds;
    watch.megabytes = megabytes;
    Compiled compiled;
    bool interrupted = false;
    // Signals and progress are Python's; the work itself never touches the interpreter.
    auto tick = [&] {
        nb::gil_scoped_acquire hold;
        if (stop) return;
        if (!progress.is_none()) {
            PyObject *result = PyObject_CallFunction(progress.ptr(), "d", done.load());
            if (!result) stop = interrupted = true;
            Py_XDECREF(result);
        }
        if (!stop && PyErr_CheckSignals() != 0) stop = interrupted = true;
    };
    nb::object reason;
    try {
        nb::gil_scoped_release free;
        run_deep([&] { compiled = compile(ground, options, watch, done); }, tick);
    } catch (const Stopped &stopped) {
        if (!interrupted)
            reason = nb::cast(std::string(word(stopped.reason)) + ": " + stopped.what());
    } catch (const std::bad_alloc &) {
        if (!interrupted) reason = nb::cast(std::string("memory: out of memory"));
    }
    if (interrupted) throw nb::python_error();
    if (reason.is_valid()) return reason;
    nb::dict statistics = report(compiled);
    return nb::make_tuple(nb::cast(std::move(compiled.circuit)), statistics);
}

nb::object masses(const Circuit &circuit, Matrix weights, uint32_t fields, bool log, int threads) {
    if (weights.shape(0) != circuit.weights) throw nb::value_error("wrong number of weights");
    size_t batch = weights.shape(1);
    std::vector<double> out(circuit.roots.size() * FIELDS * batch);
    {
        nb::gil_scoped_release free;
        evaluate(circuit, weights.data(), batch, {fields, log, threads}, out.data());
    }
    return array(std::move(out), {circuit.roots.size(), FIELDS, batch});
}

nb::object gradient(const Circuit &circuit, Matrix weights, Cube seeds, uint32_t fields, bool log,
                    int threads) {
    size_t batch = weights.shape(1);
    if (weights.shape(0) != circuit.weights || seeds.shape(0) != circuit.roots.size() ||
        seeds.shape(1) != FIELDS || seeds.shape(2) != batch)
        throw nb::value_error("arrays of the wrong shape");
    std::vector<double> out(circuit.roots.size() * FIELDS * batch), slopes(circuit.weights * batch);
    {
        nb::gil_scoped_release free;
        differentiate(circuit, weights.data(), batch, {fields, log, threads}, seeds.data(),
                      out.data(), slopes.data());
    }
    return nb::make_tuple(array(std::move(out), {circuit.roots.size(), FIELDS, batch}),
                          array(std::move(slopes), {size_t(circuit.weights), batch}));
}

using Table = nb::ndarray<const int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

Circuit fold_table(Integers widths, Table values, Cube counts) {
    Enumerated table;
    uint32_t leaf = 0;
    for (size_t i = 0; i < widths.shape(0); ++i) {
        uint32_t width = uint32_t(widths.data()[i]);
        table.shapes.push_back({width, leaf});
        leaf += width;
    }
    table.rows = values.shape(0);
    table.questions = counts.shape(1);
    if (values.shape(1) != table.shapes.size() || counts.shape(0) != table.rows ||
        counts.shape(2) != 3)
        throw nb::value_error("arrays of the wrong shape");
    table.values = values.data();
    table.counts = counts.data();
    nb::gil_scoped_release free;
    return fold(table);
}

// The circuit's arrays: op, begin, end of nodes; weight, child of edges; kinds, counted, qe, e
// of values.
nb::dict arrays(const Circuit &circuit) {
    std::vector<int64_t> op, begin, end, weight, child, kinds, counted;
    std::vector<double> qe, e;
    for (const Node &node : circuit.nodes) {
        op.push_back(int64_t(node.op));
        begin.push_back(node.begin);
        end.push_back(node.end);
    }
    for (const Edge &edge : circuit.edges) {
        weight.push_back(edge.weight);
        child.push_back(edge.child);
    }
    for (const Value &value : circuit.values) {
        kinds.push_back(value.kinds);
        counted.push_back(value.counted);
        qe.push_back(value.qe);
        e.push_back(value.e);
    }
    nb::dict result;
    result["op"] = array(std::move(op));
    result["begin"] = array(std::move(begin));
    result["end"] = array(std::move(end));
    result["weight"] = array(std::move(weight));
    result["child"] = array(std::move(child));
    result["kinds"] = array(std::move(kinds));
    result["counted"] = array(std::move(counted));
    result["qe"] = array(std::move(qe));
    result["e"] = array(std::move(e));
    result["layers"] = array(std::vector<int64_t>(circuit.layers.begin(), circuit.layers.end()));
    result["roots"] = array(std::vector<int64_t>(circuit.roots.begin(), circuit.roots.end()));
    return result;
}

}  // namespace

NB_MODULE(_native, m) {
    m.doc() = "The compiler and the evaluation of circuits.";
    m.attr("build") = DPASP_BUILD;
    nb::class_<Circuit>(m, "Circuit")
        .def_prop_ro("weights", [](const Circuit &c) { return c.weights; })
        .def_prop_ro("nodes", [](const Circuit &c) { return c.nodes.size(); })
        .def_prop_ro("edges", [](const Circuit &c) { return c.edges.size(); })
        .def_prop_ro("depth", [](const Circuit &c) { return c.layers.size() - 1; })
        .def_prop_ro("questions", [](const Circuit &c) { return c.roots.size(); })
        .def_prop_ro("definite", [](const Circuit &c) { return c.definite; })
        .def("masses", &masses, "weights"_a, "fields"_a, "log"_a, "threads"_a)
        .def("gradient", &gradient, "weights"_a, "seeds"_a, "fields"_a, "log"_a, "threads"_a)
        .def("arrays", &arrays)
        .def("to_bytes",
             [](const Circuit &c) {
                 auto data = c.to_bytes();
                 return nb::bytes(data.data(), data.size());
             })
        .def_static("from_bytes", [](nb::bytes data) {
            try {
                return Circuit::from_bytes(data.c_str(), data.size());
            } catch (const std::runtime_error &problem) {
                throw nb::value_error(problem.what());
            }
        });
    m.def("fold", &fold_table, "widths"_a, "values"_a, "counts"_a);
    m.def("compile", &compile_ground, "atoms"_a, "rules"_a, "choices"_a, "questions"_a, "own"_a,
          "observed"_a, "mode"_a, "way"_a, "order"_a, "nodes"_a, "work"_a, "seconds"_a,
          "megabytes"_a, "progress"_a.none(), "plan"_a = false);
}
