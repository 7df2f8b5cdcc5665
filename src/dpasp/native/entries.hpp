// Tables of inner assignments: what the second way remembers of a prefix of the inputs.
#pragma once

#include <cstring>
#include <vector>

#include "circuit.hpp"
#include "hashing.hpp"
#include "options.hpp"

namespace dpasp {

using Word = uint64_t;

// Entries of equal width, one after the other: bits, then (lstable) an undefined set, then
// (maxent, lstable) a count.
struct Table {
    std::vector<Word> words;
    uint32_t count = 0;
    uint32_t elements = 0;  // lstable: how many elements undefined sets are made of

    bool same(const Table &o) const {
        return count == o.count && elements == o.elements && words == o.words;
    }
};

inline void put_count(Word *at, double count) { std::memcpy(at, &count, 8); }
inline double get_count(const Word *at) {
    double count = 0;
    std::memcpy(&count, at, 8);
    return count;
}
// Counts only matter up to a common factor: equal proportions become equal numbers. Gives back
// what they were divided by.
double to_one_scale(std::vector<double> &counts);

inline uint32_t set_words(uint32_t elements) { return (elements + 63) / 64; }

// How entries are laid out, and tables brought to the form in which equal ones are equal.
struct Entries {
    // The first bits of an entry say whether the query and the evidence are already broken.
    static constexpr uint32_t QUERY = 0, EVIDENCE = 1, FIRST_SLOT = 2;

    Mode mode;
    uint32_t words = 1;  // of bits

    bool counting() const { return mode != Mode::Bits; }
    uint32_t stride(uint32_t elements) const {
        return words + (mode == Mode::Least ? set_words(elements) : 0) + counting();
    }

    Table first() const;  // the table of the empty prefix
    // Sorted, without repetitions, at one scale; gives back what the counts were divided by.
    double tidy(Table &table) const;
    void sort(Table &table) const;  // equal entries become one, and their counts add up
    Key hash(const Table &table) const;
    Value value(const Table &table) const;  // which models there are, when all is read

  private:
    void minimise(Table &table) const;
    void rename(Table &table) const;
    double rescale(Table &table) const;
};

}  // namespace dpasp
