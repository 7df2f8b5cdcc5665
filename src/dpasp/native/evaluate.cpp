#include "circuit.hpp"

#include <exception>
#include <limits>
#include <thread>
#include <type_traits>

namespace dpasp {
namespace {

// Functions of a total choice, summed with its probability. All but C and D are
// multiplicative over independent parts: [N > 0], [N_qe = N], [N_qe > 0], [N_e > 0],
// [N_qe = N_e > 0], [N_e = N], [N_e = N, N_qe > 0], N_qe / N and N_e / N.
// C = [N_e = N, N_qe = 0] and D = [N_e > N_qe] follow product rules of their own, so that
// nothing is ever subtracted.
enum Channel { S, A, B, E, F, G, H, QE, EE, C, D, CHANNELS };

// The channels to compute, their places, and the places of the fields.
struct Plan {
    int width = 0;
    int at[CHANNELS];
    int channel[CHANNELS];
    int field[FIELDS];  // -1: not wanted

    Plan(bool definite, uint32_t fields) {
        std::fill(at, at + CHANNELS, -1);
        std::fill(field, field + FIELDS, -1);
        // If all models of a total choice are of one kind, most channels coincide.
        static const int full[FIELDS] = {S, A, B, C, D, QE, EE};
        static const int brief[FIELDS] = {S, B, B, D, D, B, E};
        for (int f = 0; f < FIELDS; ++f) {
            if (!(fields >> f & 1u)) continue;
            int ch = definite ? brief[f] : full[f];
            field[f] = use(ch);
            if (ch == C) use(G), use(H);
            if (ch == D) use(E), use(definite ? B : F);
        }
        if (definite && at[D] >= 0) at[F] = at[B];
    }
    int use(int ch) {
        if (at[ch] < 0) {
            channel[width] = ch;
            at[ch] = width++;
        }
        return at[ch];
    }
};

double leaf_value(const Value &value, int channel) {
    uint8_t k = value.kinds;
    if (!k) return 0;
    switch (channel) {
    case S:
        return value.counted;
    case A:
        return k == Value::QE;
    case B:
        return (k & Value::QE) != 0;
    case E:
        return (k & (Value::QE | Value::E)) != 0;
    case F:
        return (k & Value::QE) && !(k & Value::E);
    case G:
        return !(k & Value::OTHER);
    case H:
        return !(k & Value::OTHER) && (k & Value::QE);
    case QE:
        return value.qe;
    case EE:
        return value.e;
    case C:
        return k == Value::E;
    default:
        return (k & Value::E) != 0;
    }
}

constexpr size_t BLOCK = 4096;  // nodes between two looks at the limits

// The numbers of one tile: [rows, tile] with `Number` double or Scaled.
template <class Number> class Tile {
  public:
    Tile(const Circuit &circuit, const Plan &plan, size_t size)
        : circuit_(circuit), plan_(plan), size_(size), step_(size * size_t(plan.width)),
          values_(circuit.nodes.size() * step_) {}

    void forward(const Number *weights, Watch &watch) {
        for (size_t i = 0; i < circuit_.nodes.size(); ++i) {
            if (i % BLOCK == BLOCK - 1) watch.look();
            const Node &node = circuit_.nodes[i];
            Number *mine = values_.data() + i * step_;
            if (node.op == Op::Leaf)
                fill(mine, circuit_.values[node.begin]);
            else if (node.op == Op::Sum)
                add(mine, node, weights);
            else
                multiply(mine, node);
        }
    }

    const Number *root(size_t question) const {
        return values_.data() + circuit_.roots[question] * step_;
    }

    // At first, `slopes` [nodes, width, tile] has the gradients at the roots.
    void backward(const Number *weights, std::vector<Number> &slopes, Number *gradient,
                  Watch &watch) const {
        for (size_t i = circuit_.nodes.size(); i-- > 0;) {
            if (i % BLOCK == BLOCK - 1) watch.look();
            const Node &node = circuit_.nodes[i];
            const Number *mine = slopes.data() + i * step_;
            if (node.op == Op::Sum)
                spread(mine, node, weights, slopes, gradient);
            else if (node.op == Op::Product)
                share(mine, node, slopes);
        }
    }

    size_t step() const { return step_; }

  private:
    const Circuit &circuit_;
    const Plan &plan_;
    size_t size_, step_;
    std::vector<Number> values_;

    void fill(Number *mine, const Value &value) const {
        for (int c = 0; c < plan_.width; ++c) {
            Number number(leaf_value(value, plan_.channel[c]));
            std::fill(mine + c * size_, mine + (c + 1) * size_, number);
        }
    }

    void add(Number *mine, const Node &node, const Number *weights) const {
        std::fill(mine, mine + step_, Number(0));
        for (uint32_t e = node.begin; e < node.end; ++e) {
            const Edge &edge = circuit_.edges[e];
            const Number *child = values_.data() + edge.child * step_;
            if (edge.weight == ONE) {
                for (size_t j = 0; j < step_; ++j) mine[j] += child[j];
                continue;
            }
            const Number *weight = weights + size_t(edge.weight) * size_;
            for (int c = 0; c < plan_.width; ++c)
                for (size_t j = 0; j < size_; ++j)
                    mine[c * size_ + j] += weight[j] * child[c * size_ + j];
        }
    }

    void multiply(Number *mine, const Node &node) const {
        const Number *x = values_.data() + circuit_.edges[node.begin].child * step_;
        const Number *y = values_.data() + circuit_.edges[node.begin + 1].child * step_;
        for (int c = 0; c < plan_.width; ++c) {
            size_t at = size_t(c) * size_;
            int ch = plan_.channel[c];
            if (ch != C && ch != D) {
                for (size_t j = 0; j < size_; ++j) mine[at + j] = x[at + j] * y[at + j];
                continue;
            }
            size_t whole = size_t(plan_.at[ch == D ? E : G]) * size_;
            size_t query = size_t(plan_.at[ch == D ? F : H]) * size_;
            for (size_t j = 0; j < size_; ++j)
                mine[at + j] = x[at + j] * y[whole + j] + x[query + j] * y[at + j];
        }
    }

    void spread(const Number *mine, const Node &node, const Number *weights,
                std::vector<Number> &slopes, Number *gradient) const {
        for (uint32_t e = node.begin; e < node.end; ++e) {
            const Edge &edge = circuit_.edges[e];
            const Number *child = values_.data() + edge.child * step_;
            Number *slope = slopes.data() + edge.child * step_;
            if (edge.weight == ONE) {
                for (size_t j = 0; j < step_; ++j) slope[j] += mine[j];
                continue;
            }
            const Number *weight = weights + size_t(edge.weight) * size_;
            Number *total = gradient + size_t(edge.weight) * size_;
            for (int c = 0; c < plan_.width; ++c)
                for (size_t j = 0; j < size_; ++j) {
                    size_t k = size_t(c) * size_ + j;
                    total[j] += mine[k] * child[k];
                    slope[k] += weight[j] * mine[k];
                }
        }
    }

    void share(const Number *mine, const Node &node, std::vector<Number> &slopes) const {
        uint32_t left = circuit_.edges[node.begin].child;
        uint32_t right = circuit_.edges[node.begin + 1].child;
        const Number *x = values_.data() + left * step_, *y = values_.data() + right * step_;
        Number *dx = slopes.data() + left * step_, *dy = slopes.data() + right * step_;
        for (int c = 0; c < plan_.width; ++c) {
            size_t at = size_t(c) * size_;
            int ch = plan_.channel[c];
            if (ch != C && ch != D) {
                for (size_t j = 0; j < size_; ++j) {
                    dx[at + j] += mine[at + j] * y[at + j];
                    dy[at + j] += mine[at + j] * x[at + j];
                }
                continue;
            }
            size_t whole = size_t(plan_.at[ch == D ? E : G]) * size_;
            size_t query = size_t(plan_.at[ch == D ? F : H]) * size_;
            for (size_t j = 0; j < size_; ++j) {
                dx[at + j] += mine[at + j] * y[whole + j];
                dy[whole + j] += mine[at + j] * x[at + j];
                dx[query + j] += mine[at + j] * y[at + j];
                dy[at + j] += mine[at + j] * x[query + j];
            }
        }
    }
};

// A number and its derivative along a direction.
template <class Real> struct Dual {
    Real value{}, slope{};

    Dual() = default;
    Dual(double constant) : value(constant), slope(0.0) {}  // NOLINT: meant to be implicit
    Dual(Real number, Real along) : value(number), slope(along) {}

    Dual &operator+=(const Dual &o) {
        value += o.value;
        slope += o.slope;
        return *this;
    }
    friend Dual operator+(Dual a, const Dual &b) { return a += b; }
    friend Dual operator*(const Dual &a, const Dual &b) {
        return {a.value * b.value, a.value * b.slope + a.slope * b.value};
    }
    friend Dual operator/(const Dual &a, const Dual &b) {
        Real quotient = a.value / b.value;
        return {quotient, (a.slope + -(quotient * b.slope)) / b.value};
    }
};

bool is_zero(double number) { return number == 0; }
bool is_zero(const Scaled &number) { return number.zero(); }
template <class Real> bool is_zero(const Dual<Real> &number) { return is_zero(number.value); }

// a / b, or 0 if b is 0.
template <class Number> Number over(const Number &a, const Number &b) {
    return is_zero(b) ? Number(0.0) : a / b;
}

double plain(double number) { return number; }
double plain(const Scaled &number) { return number.value(); }
template <class Real> double plain(const Dual<Real> &number) { return plain(number.slope); }
double logarithm(double number) { return number > 0 ? std::log(number) : -INFINITY; }
double logarithm(const Scaled &number) { return number.log(); }
template <class Real> double logarithm(const Dual<Real> &number) {
    return plain(over(number.slope, number.value));
}

// Runs `work` in several threads, including this one, and rethrows an exception. If a thread cannot
// be started, the others do its share.
void run_together(size_t threads, const std::function<void()> &work) {
    std::vector<std::exception_ptr> problems(threads);
    auto guarded = [&](size_t place) {
        try {
            work();
        } catch (...) {  // nothing may leave a thread
            problems[place] = std::current_exception();
        }
    };
    std::vector<std::thread> others;
    others.reserve(threads - 1);
    for (bool refused = false; others.size() + 1 < threads && !refused;) {
        try {
            others.emplace_back(guarded, others.size() + 1);
        } catch (const std::exception &) {
            refused = true;
        }
    }
    guarded(0);
    for (auto &other : others) other.join();
    for (auto &problem : problems)
        if (problem) std::rethrow_exception(problem);
}

struct Evaluation {
    const Circuit &circuit;
    const Plan plan;
    const Columns columns;
    const Request request;
    const Slopes *wanted;  // null: values only
    double *out;
    const Watch &limits;

    template <class Number> void run(size_t begin, size_t end, Watch &watch) const {
        size_t size = end - begin;
        std::vector<Number> local(circuit.weights * size);
        for (size_t w = 0; w < circuit.weights; ++w)
            for (size_t j = 0; j < size; ++j)
                local[w * size + j] = weight<Number>(w * columns.batch + begin + j);
        Tile<Number> tile(circuit, plan, size);
        tile.forward(local.data(), watch);
        for (size_t q = 0; q < circuit.roots.size(); ++q)
            for (int f = 0; f < FIELDS; ++f) {
                double *to = out + place(q, f, begin);
                if (plan.field[f] < 0) {
                    std::fill(to, to + size, std::numeric_limits<double>::quiet_NaN());
                    continue;
                }
                const Number *from = &number(tile, q, f, size, 0);
                if (request.log)
                    for (size_t j = 0; j < size; ++j) to[j] = logarithm(from[j]);
                else
                    for (size_t j = 0; j < size; ++j) to[j] = plain(from[j]);
            }
        if (wanted) back(tile, local, begin, size, watch);
    }

    // Along directions, numbers carry their derivatives.
    template <class Number> Number weight(size_t at) const {
        double own = columns.weights[at];
        if constexpr (std::is_same_v<Number, Scaled>)
            if (request.of_logs) return Scaled::of_log(own);
        if constexpr (std::is_same_v<Number, Dual<double>> || std::is_same_v<Number, Dual<Scaled>>)
            return {own, wanted->directions[at]};
        else
            return Number(own);
    }

    template <class Number>
    const Number &number(const Tile<Number> &tile, size_t q, int f, size_t size, size_t j) const {
        return tile.root(q)[size_t(plan.field[f]) * size + j];
    }

    size_t place(size_t q, int f, size_t j) const {
        return (q * FIELDS + size_t(f)) * columns.batch + j;
    }

    double &result(size_t q, int f, size_t j) const { return out[place(q, f, j)]; }

    template <class Number>
    void back(const Tile<Number> &tile, const std::vector<Number> &local, size_t begin, size_t size,
              Watch &watch) const {
        std::vector<Number> slopes(circuit.nodes.size() * tile.step(), Number(0));
        std::vector<Number> total(circuit.weights * size, Number(0));
        for (size_t q = 0; q < circuit.roots.size(); ++q)
            for (int f = 0; f < FIELDS; ++f) {
                if (plan.field[f] < 0) continue;
                Number *root =
                    slopes.data() + circuit.roots[q] * tile.step() + size_t(plan.field[f]) * size;
                for (size_t j = 0; j < size; ++j) {
                    double seed = wanted->seeds[place(q, f, begin + j)];
                    if (seed == 0) continue;
                    Number slope(seed);
                    if (request.log) slope = over(slope, number(tile, q, f, size, j));
                    root[j] += slope;
                }
            }
        tile.backward(local.data(), slopes, total.data(), watch);
        for (size_t w = 0; w < circuit.weights; ++w)
            for (size_t j = 0; j < size; ++j) {
                Number &slope = total[w * size + j];
                if (request.of_logs) slope = slope * local[w * size + j];
                wanted->slopes[w * columns.batch + begin + j] = plain(slope);
            }
    }

    // Whether a column has a result so small that parts of it may have been rounded to 0.
    bool any_doubtful(size_t j) const {
        for (size_t q = 0; q < circuit.roots.size(); ++q) {
            const Node &root = circuit.nodes[circuit.roots[q]];
            if (root.op == Op::Leaf) continue;
            for (int f = 0; f < FIELDS; ++f) {
                if (plan.field[f] < 0) continue;
                double found = result(q, f, j);
                if (doubtful(request.log ? std::exp(found) : found)) return true;
            }
        }
        return false;
    }

    // Computes with doubles, and again with scaled numbers only if doubles have ended. Gradients of
    // logarithms are quotients, which may lose their digits even otherwise.
    void run_tile(size_t begin, size_t end, Watch &watch) const {
        watch.look();
        if (wanted && wanted->directions)
            return request.log ? run<Dual<Scaled>>(begin, end, watch)
                               : run<Dual<double>>(begin, end, watch);
        if (request.log && (wanted || request.of_logs)) return run<Scaled>(begin, end, watch);
        DoublesEnd doubles_end;
        run<double>(begin, end, watch);
        if (wanted || !doubles_end.met()) return;
        for (size_t j = begin; j < end; ++j)
            if (any_doubtful(j)) run<Scaled>(j, j + 1, watch);
    }

    size_t rows() const { return circuit.nodes.size() * size_t(std::max(plan.width, 1)); }

    // The number of columns that are computed together, so few that the values of some layers stay
    // in cache, and that a large circuit does not take too much memory.
    size_t tile_size() const {
        constexpr size_t CACHED = size_t(1) << 22, HELD = size_t(1) << 28;  // numbers; bytes
        size_t tile = std::clamp<size_t>(columns.batch, 1, 256);
        while (tile > 16 && rows() > CACHED / tile) tile /= 2;
        while (tile > 1 && column_bytes() > HELD / tile) tile /= 2;
        return tile;
    }

    size_t column_bytes() const {
        size_t number = request.log ? sizeof(Scaled) : sizeof(double);
        return rows() * number * (!wanted ? 1 : wanted->directions ? 4 : 2);
    }

    // Threads take tiles one by one; the results do not depend on which thread takes which.
    void all() const {
        size_t tile = tile_size(), tiles = (columns.batch + tile - 1) / tile;
        size_t threads =
            std::clamp<size_t>(size_t(std::max(request.threads, 1)), 1, std::max<size_t>(1, tiles));
        limits.reserve(double(column_bytes()) * double(tile * threads) / 1048576.0);
        std::atomic<size_t> next{0};
        auto work = [&] {
            try {
                Watch watch = limits.copy();
                for (size_t i = next++; i < tiles; i = next++)
                    run_tile(i * tile, std::min((i + 1) * tile, columns.batch), watch);
            } catch (...) {
                next = tiles;  // the others need not go on
                throw;
            }
        };
        if (threads == 1)
            work();
        else
            run_together(threads, work);
    }
};

}  // namespace

void evaluate(const Circuit &circuit, const Columns &columns, const Request &request,
              const Slopes *slopes, double *out, const Watch &watch) {
    Plan plan(circuit.definite, request.fields);
    Evaluation{circuit, plan, columns, request, slopes, out, watch}.all();
}

double evaluation_work(const Circuit &circuit, size_t batch) {
    return double(circuit.nodes.size() + circuit.edges.size()) * double(batch);
}

}  // namespace dpasp
