#include "sweep.hpp"

namespace dpasp {

// Divides whole numbers that doubles represent exactly by their greatest common divisor, and larger
// ones by the largest.
double to_one_scale(std::vector<double> &counts) {
    double largest = 0;
    bool whole = true;
    for (double count : counts) {
        largest = std::max(largest, count);
        whole = whole && count == std::floor(count);
    }
    if (whole && largest < 4503599627370496.0) {
        uint64_t divisor = 0;
        for (size_t i = 0; i < counts.size() && divisor != 1; ++i)
            divisor = std::gcd(divisor, uint64_t(counts[i]));
        if (divisor > 1)
            for (double &count : counts) count /= double(divisor);
        return double(divisor);
    }
    for (double &count : counts) {
        // 40 bits are enough, and make tables equal that differ only by rounding.
        int exponent = 0;
        double m = std::frexp(std::max(count / largest, 1e-290), &exponent);
        count = std::ldexp(std::round(std::ldexp(m, 40)), exponent - 40);
    }
    return largest;
}

Table Entries::first() const {
    Table table;
    table.count = 1;
    table.words.assign(stride(0), 0);
    if (counting()) put_count(&table.words.back(), 1.0);
    return table;
}

// Sorts the entries, merges equal ones, drops dominated ones, and divides the counts.
double Entries::tidy(Table &table) const {
    sort(table);
    if (mode == Mode::Least) {
        minimise(table);
        for (int i = 0; i < 2; ++i) rename(table), sort(table);
    }
    return counting() ? rescale(table) : 1;
}

void Entries::sort(Table &table) const {
    uint32_t width = stride(table.elements), key = width - (counting());
    if (table.count < 2) return;
    std::vector<uint32_t> index(table.count);
    std::iota(index.begin(), index.end(), 0);
    const Word *data = table.words.data();
    std::sort(index.begin(), index.end(), [&](uint32_t a, uint32_t b) {
        const Word *x = data + size_t(a) * width, *y = data + size_t(b) * width;
        return std::lexicographical_compare(x, x + key, y, y + key);
    });
    std::vector<Word> sorted;
    sorted.reserve(table.words.size());
    uint32_t count = 0;
    for (uint32_t i : index) {
        const Word *entry = data + size_t(i) * width;
        if (count && std::equal(entry, entry + key, sorted.end() - width)) {
            if (counting()) {
                Word *last = &sorted.back();
                put_count(last, get_count(last) + get_count(entry + key));
            }
            continue;
        }
        sorted.insert(sorted.end(), entry, entry + width);
        ++count;
    }
    table.words = std::move(sorted);
    table.count = count;
}

// Drops entries whose undefined set contains that of another entry with the same future.
void Entries::minimise(Table &table) const {
    uint32_t width = stride(table.elements), sets = set_words(table.elements);
    std::vector<Word> kept;
    uint32_t count = 0;
    const Word *data = table.words.data();
    auto future = [&](const Word *x, uint32_t w) { return w ? x[w] : x[0] & ~Word(3); };
    for (uint32_t i = 0; i < table.count; ++i) {
        const Word *mine = data + size_t(i) * width;
        bool dominated = false;
        for (uint32_t j = 0; j < table.count && !dominated; ++j) {
            const Word *other = data + size_t(j) * width;
            bool same = true, inside = true, equal = true;
            for (uint32_t w = 0; w < words && same; ++w) same = future(mine, w) == future(other, w);
            if (!same) continue;
            for (uint32_t w = words; w < words + sets; ++w) {
                inside = inside && (other[w] & ~mine[w]) == 0;
                equal = equal && other[w] == mine[w];
            }
            dominated = inside && !equal;
        }
        if (dominated) continue;
        kept.insert(kept.end(), mine, mine + width);
        ++count;
    }
    table.words = std::move(kept);
    table.count = count;
}

// Merges elements that are in the same entries, and drops those that are in all or none.
void Entries::rename(Table &table) const {
    uint32_t width = stride(table.elements);
    std::vector<std::vector<Word>> columns;
    size_t rows = (table.count + 63) / 64;
    for (uint32_t c = 0; c < table.elements; ++c) {
        std::vector<Word> column(rows, 0);
        uint32_t ones = 0;
        for (uint32_t i = 0; i < table.count; ++i) {
            Word word = table.words[size_t(i) * width + words + c / 64];
            if (word >> (c % 64) & 1) column[i / 64] |= Word(1) << (i % 64), ++ones;
        }
        if (ones && ones < table.count) columns.push_back(std::move(column));
    }
    sort_unique(columns);
    Table result;
    result.count = table.count;
    result.elements = uint32_t(columns.size());
    uint32_t narrow = stride(result.elements);
    result.words.assign(size_t(table.count) * narrow, 0);
    for (uint32_t i = 0; i < table.count; ++i) {
        const Word *from = table.words.data() + size_t(i) * width;
        Word *to = result.words.data() + size_t(i) * narrow;
        std::copy(from, from + words, to);
        for (uint32_t c = 0; c < columns.size(); ++c)
            if (columns[c][i / 64] >> (i % 64) & 1) to[words + c / 64] |= Word(1) << (c % 64);
        to[narrow - 1] = from[width - 1];
    }
    table = std::move(result);
}

double Entries::rescale(Table &table) const {
    uint32_t width = stride(table.elements);
    std::vector<double> counts(table.count);
    for (uint32_t i = 0; i < table.count; ++i)
        counts[i] = get_count(&table.words[size_t(i) * width + width - 1]);
    double scale = to_one_scale(counts);
    for (uint32_t i = 0; i < table.count; ++i)
        put_count(&table.words[size_t(i) * width + width - 1], counts[i]);
    return scale;
}

Key Entries::hash(const Table &table) const {
    Key key{table.count, table.elements + 0x5bd1e995u};
    for (Word word : table.words) key.mix_in(word);
    return key;
}

Value Entries::value(const Table &table) const {
    uint32_t width = stride(table.elements);
    double counts[3] = {0, 0, 0};
    Value value;
    for (uint32_t i = 0; i < table.count; ++i) {
        const Word *entry = table.words.data() + size_t(i) * width;
        int kind = entry[0] & 2 ? 2 : entry[0] & 1 ? 1 : 0;
        counts[kind] += counting() ? get_count(entry + width - 1) : 1;
        value.kinds |= uint8_t(1 << kind);
    }
    double all = counts[0] + counts[1] + counts[2];
    value.qe = counts[0] / all;
    value.e = (counts[0] + counts[1]) / all;
    return value;
}
// The second way: determinisation along an order of the inputs.
//
// Inputs are read one by one. A *table* holds the entries of all assignments of the guesses read
// so far, with counts. Prefixes of choices with equal tables are one state; states and choices
// make a decision diagram, and the last table says which models there are.

namespace {

class Tables {
  public:
    Tables(const Job &job, const std::vector<Input> &order, const Ask &ask, Mode mode)
        : gates_(job.problem.gates), order_(order), sweep_(job, order, ask, mode),
          share_(1.0 / double(job.asks.size())), budget_(job.budget), builder_(job.builder) {}

    uint32_t compile() {
        std::vector<Table> layer(1, sweep_.entries.first());
        std::vector<std::vector<uint32_t>> steps;  // children, `values` a state
        for (uint32_t s = 0; s < order_.size(); ++s) {
            steps.emplace_back();
            layer = advance(s, layer, steps.back());
            budget_.advance(share_ / double(order_.size()));
        }
        std::vector<uint32_t> nodes;
        for (const Table &table : layer)
            nodes.push_back(builder_.leaf(sweep_.entries.value(table)));
        for (uint32_t s = uint32_t(order_.size()); s-- > 0;) {
            uint32_t values = sweep_.values(s);
            std::vector<uint32_t> before(steps[s].size() / values), children(values);
            for (size_t i = 0; i < before.size(); ++i) {
                for (uint32_t v = 0; v < values; ++v) {
                    uint32_t to = steps[s][i * values + v];
                    children[v] = to == UINT32_MAX ? Builder::FALSE_NODE : nodes[to];
                }
                before[i] = order_[s].choice
                                ? builder_.decision(gates_.choices[order_[s].id].leaf, children)
                                : children[0];
            }
            nodes = std::move(before);
        }
        return nodes[0];
    }

  private:
    const Gates &gates_;
    const std::vector<Input> &order_;
    Sweep sweep_;
    double share_;  // of the whole attempt
    Budget &budget_;
    Builder &builder_;

    std::vector<Table> advance(uint32_t s, const std::vector<Table> &layer,
                               std::vector<uint32_t> &edges) {
        Catalogue known;
        std::vector<Table> next;
        uint32_t values = sweep_.values(s);
        edges.reserve(layer.size() * values);
        size_t held = 0;  // words of this layer
        for (const Table &table : layer)
            for (uint32_t v = 0; v < values; ++v) {
                Table result = sweep_.next(s, table, v);
                budget_.charge(sweep_.work(result));
                if (!result.count) {
                    edges.push_back(UINT32_MAX);
                    continue;
                }
                sweep_.entries.tidy(result);
                auto [number, fresh] =
                    known.find(sweep_.entries.hash(result), uint32_t(next.size()),
                               [&](uint32_t other) { return next[other].same(result); });
                edges.push_back(number);
                if (!fresh) continue;
                held += result.words.size();
                if (++budget_.size > budget_.nodes || held > 2 * budget_.nodes)
                    throw Stopped(Reason::Size, "tables of more entries than were allowed");
                next.push_back(std::move(result));
            }
        return next;
    }
};

}  // namespace

std::vector<uint32_t> compile_tables(const Job &job, const std::vector<Input> &order) {
    // Without atoms that may be undefined, lstable only needs counts.
    bool least = job.mode == Mode::Least && !job.part.undefined.empty();
    Mode mode = job.mode == Mode::Least && !least ? Mode::Counts : job.mode;
    std::vector<uint32_t> roots;
    for (const Ask &ask : job.asks) roots.push_back(Tables(job, order, ask, mode).compile());
    return roots;
}

}  // namespace dpasp
