#include "ground.hpp"

#include "tuning.hpp"

namespace dpasp {

namespace {

constexpr int64_t MOST_ATOMS = int64_t(1) << 30;   // a literal is 2 * atom in 32 bits
constexpr size_t MOST_ENTRIES = size_t(1) << 30;   // they are numbered in 32 bits
constexpr int64_t MOST_WEIGHT = int64_t(1) << 60;  // of a body together: sums cannot overflow

// Reads an array from beginning to end, checking everything in it.
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

    // Reads how many numbers follow.
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

namespace {

class RuleReader {
  public:
    explicit RuleReader(const Ground &ground) : ground_(ground) { rules_.atoms = ground.atoms; }

    Rules read() {
        for (const GroundRule &rule : ground_.rules) {
            std::vector<uint32_t> heads = rule.heads;
            sort_unique(heads);
            if (!heads.empty())
                add(heads, rule);
            else if (!rule.choice)
                rules_.all.push_back({0, 0, rule.body});
        }
        rules_.index();
        return std::move(rules_);
    }

  private:
    const Ground &ground_;
    Rules rules_;
    std::vector<uint32_t> cluster_;  // positive components, made for the first disjunction

    void add(const std::vector<uint32_t> &heads, const GroundRule &rule) {
        bool shifted = !rule.choice && heads.size() > 1;
        if (shifted) refuse_cycle(heads);
        Body body = shifted && rule.body.weighted ? named(rule.body) : rule.body;
        for (uint32_t atom : heads) {
            Rule one{atom, rule.choice ? atom : 0, body};
            if (shifted)
                for (uint32_t other : heads)
                    if (other != atom) one.body.literals.push_back(-int32_t(other));
            const auto &literals = one.body.literals;
            bool says_nothing =  // a :- a
                !body.weighted &&
                std::find(literals.begin(), literals.end(), int32_t(atom)) != literals.end();
            if (!says_nothing) rules_.all.push_back(std::move(one));
        }
    }

    void refuse_cycle(const std::vector<uint32_t> &heads) {
        if (cluster_.empty()) cluster_ = positive_clusters();
        for (size_t i = 0; i < heads.size(); ++i)
            for (size_t j = i + 1; j < heads.size(); ++j)
                if (cluster_[heads[i]] == cluster_[heads[j]])
                    throw Stopped(Reason::HeadCycle, "a disjunction through a positive loop");
    }

    // The literal of a new atom that holds if and only if the weighted body does.
    Body named(const Body &weighted) {
        uint32_t atom = rules_.atoms++;
        rules_.all.push_back({atom, 0, weighted});
        Body plain;
        plain.literals = {int32_t(atom)};
        return plain;
    }

    // For each atom, the strongly connected component of the positive dependencies.
    std::vector<uint32_t> positive_clusters() const {
        std::vector<std::pair<uint32_t, uint32_t>> pairs;
        for (const GroundRule &rule : ground_.rules)
            for (int32_t b : rule.body.literals)
                if (b > 0)
                    for (uint32_t head : rule.heads) pairs.emplace_back(head, 2 * uint32_t(b));
        std::vector<uint32_t> cluster(ground_.atoms);
        uint32_t count = 0;
        for (const auto &part : components(Edges(ground_.atoms, pairs))) {
            for (uint32_t atom : part) cluster[atom] = count;
            ++count;
        }
        return cluster;
    }
};

}  // namespace

void Rules::index() {
    of.assign(atoms, {});
    constraints.clear();
    for (uint32_t r = 0; r < all.size(); ++r)
        (all[r].head ? of[all[r].head] : constraints).push_back(r);
}

Edges Rules::dependencies() const {
    std::vector<std::pair<uint32_t, uint32_t>> pairs;
    for (const Rule &rule : all)
        if (rule.head)
            for (int32_t b : rule.body.literals)
                pairs.emplace_back(rule.head, b > 0 ? 2 * uint32_t(b) : 2 * uint32_t(-b) + 1);
    return Edges(atoms, pairs);
}

Rules read_rules(const Ground &ground) { return RuleReader(ground).read(); }

namespace {

class Guesser {
  public:
    Guesser(const Rules &rules, Watch &watch)
        : watch_(watch), graph_(rules.dependencies()), home_(rules.atoms, 0) {
        result_.guessed.assign(rules.atoms, 0);
        result_.loose.assign(rules.atoms, 0);
        for (const Rule &rule : rules.all)
            if (rule.itself) result_.guessed[rule.itself] = 1;
    }

    Guesses run() {
        auto parts = components(graph_);
        for (auto &part : parts) mark_loose(part);
        break_loops(std::move(parts));
        return std::move(result_);
    }

  private:
    Watch &watch_;
    Edges graph_;
    std::vector<uint32_t> home_;  // by atom: the number of its component
    uint32_t components_ = 0;     // so far
    Guesses result_;

    void settle(const std::vector<uint32_t> &part) {
        ++components_;
        for (uint32_t a : part) home_[a] = components_;
    }

    // Components come bottom up. An atom is loose if a model may choose it, or an atom that it
    // depends on.
    void mark_loose(const std::vector<uint32_t> &part) {
        settle(part);
        bool loose = false;
        for (uint32_t a : part) {
            loose = loose || result_.guessed[a];
            for (uint32_t at = graph_.start[a]; at < graph_.start[a + 1]; ++at) {
                uint32_t edge = graph_.target[at], b = edge >> 1;
                loose = loose || (home_[b] == components_ ? (edge & 1u) : result_.loose[b]);
            }
        }
        if (loose)
            for (uint32_t a : part) result_.loose[a] = 1;
    }

    void break_loops(std::vector<std::vector<uint32_t>> todo) {
        std::vector<uint32_t> order(home_.size()), low(home_.size());
        auto follow = [&](uint32_t from, uint32_t edge) {
            return home_[edge >> 1] == home_[from] && !((edge & 1u) && result_.guessed[edge >> 1]);
        };
        while (!todo.empty()) {
            watch_.check();
            std::vector<uint32_t> part = std::move(todo.back());
            todo.pop_back();
            settle(part);
            if (!guess_in(part)) continue;
            for (uint32_t a : part) order[a] = low[a] = 0;
            for (auto &smaller : components(part, graph_, order, low, follow))
                todo.push_back(std::move(smaller));
        }
    }

    // Guesses the atom that is most often negated inside the part; false if none is.
    bool guess_in(const std::vector<uint32_t> &part) {
        std::unordered_map<uint32_t, uint32_t> times;
        uint32_t best = 0, most = 0;
        for (uint32_t a : part)
            for (uint32_t at = graph_.start[a]; at < graph_.start[a + 1]; ++at) {
                uint32_t edge = graph_.target[at], b = edge >> 1;
                if (!(edge & 1u) || home_[b] != home_[a] || result_.guessed[b]) continue;
                uint32_t now = ++times[b];
                if (now > most || (now == most && b < best)) best = b, most = now;
            }
        if (!most) return false;
        result_.guessed[best] = 1;
        if (part.size() > tuning::LARGE_LOOP)
            for (auto &[atom, _] : times) result_.guessed[atom] = 1;
        return true;
    }
};

}  // namespace

Guesses choose_guesses(const Rules &rules, Watch &watch) { return Guesser(rules, watch).run(); }

}  // namespace dpasp
