#include "entries.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace dpasp {

// While they are whole numbers that a double holds exactly, divide by their greatest common
// divisor; beyond that, by the largest.
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
        // 40 bits are plenty, and let tables that differ by rounding alone be equal.
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

// Sort the entries, join equal ones, drop dominated ones, and bring counts to one scale.
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

// Drop entries whose undefined set holds that of another entry with the same future.
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

// Elements that the same entries hold are one; those that all or none hold do not matter.
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
    std::sort(columns.begin(), columns.end());
    columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
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
    for (Word word : table.words) {
        key.low = combine(key.low, word);
        key.high = combine(key.high ^ 0xc2b2ae3d27d4eb4fULL, word);
    }
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

}  // namespace dpasp
