#include "circuit.hpp"

#include <cstring>

#include "collections.hpp"

namespace dpasp {

Builder::Builder(size_t most) : most_(most), slots_(1 << 10, Slot{0, 0}) {
    leaf(Value{});
    leaf(Value{Value::QE, 1, 1});
}

uint32_t Builder::leaf(const Value &value) {
    uint64_t bits[2];
    std::memcpy(bits, &value.qe, 8);
    std::memcpy(bits + 1, &value.e, 8);
    uint64_t hash = combine(combine(value.packed(), bits[0]), bits[1]);
    auto [from, to] = leaves_.equal_range(hash);
    for (; from != to; ++from)
        if (values[nodes[from->second].begin] == value) return from->second;
    make_room(0);
    uint32_t id = uint32_t(nodes.size());
    nodes.push_back({Op::Leaf, uint32_t(values.size()), 0});
    values.push_back(value);
    leaves_.emplace(hash, id);
    return id;
}

uint32_t Builder::leaf(uint8_t kinds, Scaled qe, Scaled e) {
    constexpr int64_t STEP = -900;  // the binary exponent that one double may have
    auto take = [=](Scaled &number) {
        Scaled part = number;
        part.e = std::max(part.e, STEP);
        number = number.zero() ? Scaled(1) : Scaled::power(number.e - part.e);
        return part.value();
    };
    double first = take(qe), second = take(e);
    uint32_t node = leaf({kinds, first, second});
    while (qe.e < 0 || e.e < 0) {  // a model of the best kind changes nothing but the shares
        first = take(qe), second = take(e);
        node = product(node, leaf({Value::QE, first, second}));
    }
    return node;
}

void Builder::make_room(size_t new_edges) const {
    if (nodes.size() >= most_ || edges.size() + new_edges > most_)
        throw Stopped(Reason::Size,
                      "a circuit of more than " + std::to_string(most_) + " nodes or edges");
}

uint32_t Builder::hash(Op op, const Edge *list, size_t count) {
    uint64_t hash = uint64_t(op);
    for (size_t i = 0; i < count; ++i)
        hash = combine(hash, (uint64_t(uint32_t(list[i].weight)) << 32) | list[i].child);
    return uint32_t(hash >> 32);
}

uint32_t Builder::find(Op op, const Edge *list, size_t count) {
    uint32_t own = hash(op, list, count);
    size_t mask = slots_.size() - 1, at = own >> shift_;
    for (; slots_[at].node; at = (at + 1) & mask) {
        if (slots_[at].hash != own) continue;
        const Node &node = nodes[slots_[at].node];
        if (node.op == op && node.end - node.begin == count &&
            std::equal(list, list + count, edges.begin() + node.begin))
            return slots_[at].node;
    }
    make_room(count);
    uint32_t id = uint32_t(nodes.size()), start = uint32_t(edges.size());
    edges.insert(edges.end(), list, list + count);
    nodes.push_back({op, start, uint32_t(edges.size())});
    slots_[at] = {own, id};
    if (2 * nodes.size() > slots_.size()) grow();
    return id;
}

// Doubles the slots; nodes keep their order, so that memory is accessed sequentially.
void Builder::grow() {
    if (shift_ == 0) return;
    --shift_;
    std::vector<Slot> before(slots_.size() * 2, Slot{0, 0});
    before.swap(slots_);
    size_t mask = slots_.size() - 1;
    for (const Slot &slot : before) {
        if (!slot.node) continue;
        size_t at = slot.hash >> shift_;
        while (slots_[at].node) at = (at + 1) & mask;
        slots_[at] = slot;
    }
}

uint32_t Builder::sum(std::vector<Edge> list) {
    list.erase(std::remove_if(list.begin(), list.end(),
                              [](const Edge &edge) { return edge.child == FALSE_NODE; }),
               list.end());
    if (list.empty()) return FALSE_NODE;
    return sum(list.data(), list.size());
}

uint32_t Builder::sum(const Edge *list, size_t count) {
    if (count == 1 && list[0].weight == ONE) return list[0].child;
    auto before = [](const Edge &a, const Edge &b) {
        return a.weight != b.weight ? a.weight < b.weight : a.child < b.child;
    };
    if (std::is_sorted(list, list + count, before)) return find(Op::Sum, list, count);
    scratch_.assign(list, list + count);
    std::sort(scratch_.begin(), scratch_.end(), before);
    return find(Op::Sum, scratch_.data(), count);
}

uint32_t Builder::decision(uint32_t first, const std::vector<uint32_t> &children) {
    bool same = true;
    for (uint32_t child : children) same = same && child == children[0];
    if (same) return children[0];  // the weights of a choice sum to 1
    std::vector<Edge> list;
    for (size_t v = 0; v < children.size(); ++v) list.push_back({int32_t(first + v), children[v]});
    return sum(std::move(list));
}

uint32_t Builder::product(uint32_t a, uint32_t b) {
    if (a == FALSE_NODE || b == FALSE_NODE) return FALSE_NODE;
    if (a == TRUE_NODE) return b;
    if (b == TRUE_NODE) return a;
    if (a > b) std::swap(a, b);
    Edge both[2] = {{ONE, a}, {ONE, b}};
    return find(Op::Product, both, 2);
}

std::vector<uint32_t> Builder::take(Builder &&other, std::vector<uint32_t> roots, Watch &watch) {
    if (nodes.size() == TRUE_NODE + 1) {  // there is nothing here yet
        *this = std::move(other);
        return roots;
    }
    return copy(other, std::move(roots), [](Edge &) {}, watch);
}

namespace {

constexpr uint32_t UNUSED = UINT32_MAX;

// For each node, the longest path to a leaf, or UNUSED if no root reaches it.
std::vector<uint32_t> depths(const Builder &builder, const std::vector<uint32_t> &roots,
                             Watch &watch) {
    const auto &nodes = builder.nodes;
    std::vector<uint32_t> depth(nodes.size(), UNUSED);
    for (uint32_t root : roots) depth[root] = 0;
    for (size_t i = nodes.size(); i-- > 0;) {
        watch.check();
        if (depth[i] != UNUSED && nodes[i].op != Op::Leaf)
            for (uint32_t e = nodes[i].begin; e < nodes[i].end; ++e)
                depth[builder.edges[e].child] = 0;
    }
    for (size_t i = 0; i < nodes.size(); ++i) {
        watch.check();
        if (depth[i] != UNUSED && nodes[i].op != Op::Leaf)
            for (uint32_t e = nodes[i].begin; e < nodes[i].end; ++e)
                depth[i] = std::max(depth[i], depth[builder.edges[e].child] + 1);
    }
    return depth;
}

}  // namespace

Circuit Circuit::gather(const Builder &builder, const std::vector<uint32_t> &roots,
                        uint32_t weights, Watch &watch) {
    std::vector<uint32_t> depth = depths(builder, roots, watch), count(1, 0);
    for (uint32_t d : depth) {
        if (d == UNUSED) continue;
        if (d >= count.size()) count.resize(d + 1, 0);
        ++count[d];
    }
    Circuit circuit;
    circuit.weights = weights;
    circuit.layers.assign(1, 0);
    for (uint32_t c : count) circuit.layers.push_back(circuit.layers.back() + c);
    std::vector<uint32_t> next(circuit.layers.begin(), circuit.layers.end() - 1);
    std::vector<uint32_t> place(depth.size(), 0), by_place(circuit.layers.back());
    for (uint32_t i = 0; i < depth.size(); ++i) {
        watch.check();
        if (depth[i] == UNUSED) continue;
        place[i] = next[depth[i]]++;
        by_place[place[i]] = i;
    }
    circuit.nodes.reserve(by_place.size());
    for (uint32_t i : by_place) {
        watch.check();
        circuit.take(builder, builder.nodes[i], place);
    }
    for (uint32_t root : roots) circuit.roots.push_back(place[root]);
    return circuit;
}

// Appends a node of the builder; `place` says where its children are now.
void Circuit::take(const Builder &builder, const Node &node, const std::vector<uint32_t> &place) {
    if (node.op == Op::Leaf) {
        const Value &value = builder.values[node.begin];
        nodes.push_back({Op::Leaf, uint32_t(values.size()), 0});
        values.push_back(value);
        definite = definite && (value.kinds & (value.kinds - 1)) == 0;
        return;
    }
    auto start = uint32_t(edges.size());
    for (uint32_t e = node.begin; e < node.end; ++e)
        edges.push_back({builder.edges[e].weight, place[builder.edges[e].child]});
    nodes.push_back({node.op, start, uint32_t(edges.size())});
}

bool Circuit::valid() const {
    if (layers.empty() || layers[0] != 0 || layers.back() != nodes.size()) return false;
    for (size_t l = 1; l < layers.size(); ++l)
        if (layers[l] < layers[l - 1]) return false;
    for (size_t l = 0; l + 1 < layers.size(); ++l)
        for (uint32_t i = layers[l]; i < layers[l + 1]; ++i) {
            const Node &node = nodes[i];
            if (node.op == Op::Leaf) {
                if (node.begin >= values.size()) return false;
                continue;
            }
            if (node.op != Op::Sum && node.op != Op::Product) return false;
            if (node.begin > node.end || node.end > edges.size()) return false;
            if (node.op == Op::Product && node.end - node.begin != 2) return false;
            for (uint32_t e = node.begin; e < node.end; ++e)
                if (edges[e].child >= layers[l] || edges[e].weight >= int32_t(weights) ||
                    edges[e].weight < -1)
                    return false;
        }
    for (uint32_t root : roots)
        if (root >= nodes.size()) return false;
    return true;
}

namespace {

constexpr char MAGIC[8] = {'d', 'p', 'a', 's', 'p', 'c', '0', '2'};

template <class T> void put(std::vector<char> &out, const std::vector<T> &items) {
    uint64_t count = items.size();
    const char *head = reinterpret_cast<const char *>(&count);
    out.insert(out.end(), head, head + 8);
    const char *data = reinterpret_cast<const char *>(items.data());
    out.insert(out.end(), data, data + count * sizeof(T));
}

struct Source {
    const char *at, *end;
    void take(void *to, size_t bytes) {
        if (size_t(end - at) < bytes) throw std::runtime_error("the circuit is cut short");
        if (bytes) std::memcpy(to, at, bytes);
        at += bytes;
    }
    template <class T> void take(std::vector<T> &items) {
        uint64_t count = 0;
        take(&count, 8);
        if (count > size_t(end - at) / sizeof(T))
            throw std::runtime_error("the circuit is cut short");
        items.resize(count);
        take(items.data(), count * sizeof(T));
    }
};

// Fixed layouts, without padding, for storage.
struct PackedNode {
    uint32_t op, begin, end;
};
struct PackedValue {
    double qe, e;
    uint64_t kinds;
};

}  // namespace

std::vector<char> Circuit::to_bytes() const {
    std::vector<char> out(MAGIC, MAGIC + 8);
    std::vector<uint32_t> head{weights, uint32_t(definite), uint32_t(total)};
    std::vector<PackedNode> packed;
    packed.reserve(nodes.size());
    for (const Node &node : nodes) packed.push_back({uint32_t(node.op), node.begin, node.end});
    std::vector<PackedValue> numbers;
    numbers.reserve(values.size());
    for (const Value &value : values) numbers.push_back({value.qe, value.e, value.packed()});
    put(out, head);
    put(out, packed);
    put(out, edges);
    put(out, numbers);
    put(out, layers);
    put(out, roots);
    return out;
}

Circuit Circuit::from_bytes(const char *data, size_t size) {
    Source source{data, data + size};
    char magic[8];
    source.take(magic, 8);
    if (std::memcmp(magic, MAGIC, 8) != 0) throw std::runtime_error("not a circuit");
    Circuit circuit;
    std::vector<uint32_t> head;
    std::vector<PackedNode> packed;
    std::vector<PackedValue> numbers;
    source.take(head);
    source.take(packed);
    source.take(circuit.edges);
    source.take(numbers);
    source.take(circuit.layers);
    source.take(circuit.roots);
    if (head.size() != 3) throw std::runtime_error("not a circuit");
    circuit.weights = head[0];
    circuit.definite = head[1] != 0;
    circuit.total = head[2] != 0;
    for (auto &node : packed) {
        if (node.op > 2) throw std::runtime_error("not a circuit");
        circuit.nodes.push_back({Op(node.op), node.begin, node.end});
    }
    for (auto &value : numbers)
        circuit.values.push_back(
            {uint8_t(value.kinds & 7u), value.qe, value.e, !(value.kinds & Value::UNCOUNTED)});
    if (source.at != source.end || !circuit.valid()) throw std::runtime_error("not a circuit");
    return circuit;
}

namespace {

// Reads the rows one after another. For each choice, it has the nodes of the values that are
// complete under the present prefix; so there is no recursion.
class Folder {
  public:
    Folder(const Enumerated &table, Builder &builder, Watch &watch)
        : table_(table), builder_(builder), watch_(watch) {
        differs_.reserve(table.rows);
        for (size_t row = 0; row < table.rows; ++row) differs_.push_back(check(row));
    }

    uint32_t fold(size_t question) {
        uint32_t node = Builder::FALSE_NODE;
        open_.clear();
        for (const ChoiceShape &shape : table_.shapes)
            open_.emplace_back(shape.values, Builder::FALSE_NODE);
        for (size_t row = 0; row < table_.rows; ++row) {
            bool last = row + 1 == table_.rows;
            node = leaf(row, question);
            // The next row differs from here on: deeper nodes are complete.
            size_t first = last ? 0 : differs_[row + 1] + 1;
            for (size_t choice = table_.shapes.size(); choice-- > first;) {
                open_[choice][value(row, choice)] = node;
                node = close(choice);
            }
            if (!last) open_[first - 1][value(row, first - 1)] = node;
        }
        return node;
    }

  private:
    const Enumerated &table_;
    Builder &builder_;
    Watch &watch_;
    std::vector<size_t> differs_;              // by row: the first choice that the row changes
    std::vector<std::vector<uint32_t>> open_;  // by choice: a node for each value

    uint32_t value(size_t row, size_t choice) const {
        return uint32_t(table_.values[row * table_.shapes.size() + choice]);
    }

    size_t check(size_t row) const {
        size_t n = table_.shapes.size();
        const int64_t *mine = table_.values + row * n;
        for (size_t i = 0; i < n; ++i) {
            watch_.check();
            if (mine[i] < 0 || mine[i] >= int64_t(table_.shapes[i].values))
                throw std::invalid_argument("a total choice has a value that there is not");
        }
        if (row == 0) return 0;
        size_t i = 0;
        while (i < n && mine[i] == mine[i - n]) ++i;
        if (i == n || mine[i] < mine[i - n])
            throw std::invalid_argument("the total choices are not in lexicographic order");
        return i;
    }

    uint32_t close(size_t choice) {
        watch_.check();
        uint32_t node = builder_.decision(table_.shapes[choice].leaf, open_[choice]);
        std::fill(open_[choice].begin(), open_[choice].end(), Builder::FALSE_NODE);
        return node;
    }

    uint32_t leaf(size_t row, size_t question) {
        const double *counts = table_.counts + (row * table_.questions + question) * 3;
        double all = counts[0] + counts[1] + counts[2];
        Value result;
        for (int k = 0; k < 3; ++k)
            if (counts[k] > 0) result.kinds |= uint8_t(1 << k);
        if (!result.kinds) return Builder::FALSE_NODE;
        result.qe = counts[0] / all;
        result.e = (counts[0] + counts[1]) / all;
        return builder_.leaf(result);
    }
};

}  // namespace

Circuit fold(const Enumerated &table, Watch &watch) {
    Builder builder;
    Folder folder(table, builder, watch);
    std::vector<uint32_t> roots;
    uint32_t weights = 0;
    for (const ChoiceShape &shape : table.shapes) weights += shape.values;
    for (size_t k = 0; k < table.questions; ++k) roots.push_back(folder.fold(k));
    return Circuit::gather(builder, roots, weights, watch);
}

namespace {

// Copies the nodes of a case to the builder; returns its roots there.
std::vector<uint32_t> copy(const CaseCircuit &one, uint32_t weights, Builder &builder,
                           Watch &watch) {
    const Circuit &circuit = *one.circuit;
    for (uint32_t leaf = 0; leaf < circuit.weights; ++leaf)
        if (one.leaves[leaf] < 0 || one.leaves[leaf] >= int64_t(weights))
            throw std::invalid_argument("a case has a leaf that there is not");
    auto rename = [&](Edge &edge) {
        if (edge.weight != ONE) edge.weight = int32_t(one.leaves[edge.weight]);
    };
    return builder.copy(circuit, circuit.roots, rename, watch);
}

void check(const Decision &decision, size_t known, uint32_t weights) {
    if (decision.children.empty() || decision.first + decision.children.size() > weights)
        throw std::invalid_argument("a decision about a choice that there is not");
    for (int64_t child : decision.children)
        if (child != NO_CASE && (child < 0 || child >= int64_t(known)))
            throw std::invalid_argument("a decision before what it decides about");
}

}  // namespace

Circuit join(const std::vector<CaseCircuit> &cases, const std::vector<Decision> &decisions,
             uint32_t weights, Watch &watch) {
    if (cases.empty() || (decisions.empty() && cases.size() > 1))
        throw std::invalid_argument("cases that nothing joins");
    Builder builder;
    std::vector<std::vector<uint32_t>> roots;  // of the cases, then of the decisions
    for (const CaseCircuit &one : cases) {
        roots.push_back(copy(one, weights, builder, watch));
        if (roots.back().size() != roots[0].size())
            throw std::invalid_argument("cases with other questions");
    }
    std::vector<uint32_t> children;
    for (const Decision &decision : decisions) {
        watch.check();
        check(decision, roots.size(), weights);
        std::vector<uint32_t> joined;
        for (size_t question = 0; question < roots[0].size(); ++question) {
            children.clear();
            for (int64_t child : decision.children)
                children.push_back(child == NO_CASE ? Builder::FALSE_NODE
                                                    : roots[size_t(child)][question]);
            joined.push_back(builder.decision(decision.first, children));
        }
        roots.push_back(std::move(joined));
    }
    Circuit circuit = Circuit::gather(builder, roots.back(), weights, watch);
    circuit.total = true;
    for (const CaseCircuit &one : cases) circuit.total = circuit.total && one.circuit->total;
    return circuit;
}

std::vector<uint32_t> weigh_coins(const Builder &from, const std::vector<uint32_t> &roots,
                                  uint32_t first, Builder &to, Watch &watch) {
    // Values have two kinds, so that evaluation uses their numbers.
    uint32_t halves[] = {to.leaf({Value::QE | Value::E, 0.5, 0.5}),
                         to.leaf({Value::QE | Value::E, 0.5, 0.5, false})};
    auto weigh = [&](Edge &edge) {
        if (edge.weight == ONE || uint32_t(edge.weight) < first) return;
        edge.child = to.product(halves[(uint32_t(edge.weight) - first) % 2], edge.child);
        edge.weight = ONE;
    };
    return to.copy(from, roots, weigh, watch);
}

}  // namespace dpasp
