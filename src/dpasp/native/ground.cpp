#include "ground.hpp"

#include <stdexcept>
#include <string>

namespace dpasp {
namespace {

constexpr int64_t MOST_ATOMS = int64_t(1) << 30;   // a literal is 2 * atom in 32 bits
constexpr size_t MOST_ENTRIES = size_t(1) << 30;   // they are numbered in 32 bits
constexpr int64_t MOST_WEIGHT = int64_t(1) << 60;  // of a body together: sums cannot overflow

// Reads one array from its beginning to its end, and trusts nothing in it.
class Cursor {
  public:
    Cursor(const char *what, Numbers numbers, uint32_t atoms)
        : what_(what), numbers_(numbers), atoms_(atoms) {}

    bool more() const { return at_ < numbers_.size; }

    int64_t take() {
        if (!more()) fail("is cut short");
        return numbers_.data[at_++];
    }

    int64_t between(int64_t least, int64_t most) {
        int64_t number = take();
        if (number < least || number > most)
            fail("holds " + std::to_string(number) + " where a number from " +
                 std::to_string(least) + " to " + std::to_string(most) + " belongs");
        return number;
    }

    // How many numbers follow.
    size_t length() { return size_t(between(0, int64_t(numbers_.size - at_) - 1)); }

    uint32_t atom() { return uint32_t(between(1, int64_t(atoms_) - 1)); }

    int32_t literal(bool may_be_never = false) {
        auto literal = int32_t(between(1 - int64_t(atoms_), int64_t(atoms_) - 1));
        if (!literal && !may_be_never) fail("holds the literal 0");
        return literal;
    }

    [[noreturn]] void fail(const std::string &problem) const {
        throw std::invalid_argument(std::string("the array of ") + what_ + " " + problem);
    }

  private:
    const char *what_;
    Numbers numbers_;
    uint32_t atoms_;
    size_t at_ = 0;
};

void read_weights(Cursor &cursor, Body &body) {
    body.weighted = true;
    body.bound = cursor.between(-MOST_WEIGHT, MOST_WEIGHT);
    int64_t left = MOST_WEIGHT;
    for (size_t i = 0; i < body.literals.size(); ++i) {
        body.weights.push_back(cursor.between(-left, left));
        left -= body.weights.back() < 0 ? -body.weights.back() : body.weights.back();
    }
}

GroundRule read_rule(Cursor &cursor) {
    GroundRule rule;
    int64_t flags = cursor.between(0, 3);
    rule.choice = flags & 1;
    for (size_t left = cursor.length(); left > 0; --left) rule.heads.push_back(cursor.atom());
    size_t size = cursor.length();
    rule.body.literals.reserve(size);
    for (; size > 0; --size) rule.body.literals.push_back(cursor.literal());
    if (flags & 2) read_weights(cursor, rule.body);
    return rule;
}

GroundChoice read_choice(Cursor &cursor) {
    GroundChoice choice;
    size_t size = cursor.length();
    int64_t flags = cursor.between(0, 3);
    choice.nothing = flags & 1;
    choice.interval = flags & 2;
    for (; size > 0; --size) choice.selectors.push_back(cursor.atom());
    if (!choice.values()) cursor.fail("holds a choice without values");
    return choice;
}

std::vector<int32_t> read_conjunction(Cursor &cursor) {
    std::vector<int32_t> literals;
    for (size_t left = cursor.length(); left > 0; --left) literals.push_back(cursor.literal(true));
    return literals;
}

GroundTable read_table(Cursor &cursor, size_t &entries) {
    GroundTable table;
    table.first = entries;
    size_t size = 1;
    for (size_t left = cursor.length(); left > 0; --left) {
        table.sets.push_back(read_conjunction(cursor));
        size *= table.sets.back().size();
        if (!size || size > MOST_ENTRIES) cursor.fail("holds a table of no or too many entries");
    }
    entries += size;
    if (entries > MOST_ENTRIES) cursor.fail("holds too many entries");
    return table;
}

}  // namespace

Ground read_ground(int64_t atoms, const GroundArrays &arrays) {
    if (atoms < 1 || atoms > MOST_ATOMS)
        throw std::invalid_argument("a program of " + std::to_string(atoms) + " atoms");
    Ground ground;
    ground.atoms = uint32_t(atoms);
    for (Cursor cursor("rules", arrays.rules, ground.atoms); cursor.more();)
        ground.rules.push_back(read_rule(cursor));
    std::vector<uint8_t> chosen(ground.atoms, 0);
    for (Cursor cursor("choices", arrays.choices, ground.atoms); cursor.more();) {
        ground.choices.push_back(read_choice(cursor));
        for (uint32_t atom : ground.choices.back().selectors)
            if (chosen[atom]++) cursor.fail("holds atom " + std::to_string(atom) + " twice");
    }
    for (Cursor cursor("questions", arrays.questions, ground.atoms); cursor.more();) {
        GroundQuestion question;
        question.query = read_conjunction(cursor);
        question.evidence = read_conjunction(cursor);
        ground.questions.push_back(std::move(question));
    }
    for (Cursor cursor("own atoms", arrays.own, ground.atoms); cursor.more();) {
        uint32_t atom = cursor.atom();
        ground.own.emplace_back(atom, cursor.atom());
    }
    for (Cursor cursor("observed atoms", arrays.observed, ground.atoms); cursor.more();)
        ground.observed.push_back(cursor.atom());
    for (Cursor cursor("tables", arrays.tables, ground.atoms); cursor.more();)
        ground.tables.push_back(read_table(cursor, ground.entries));
    return ground;
}

}  // namespace dpasp
