// Enumerated total choices folded into the circuit type.
#include "fold.hpp"

namespace dpasp {
namespace {

class Folder {
  public:
    Folder(const Enumerated &table, uint32_t question, Builder &builder)
        : table_(table), question_(question), builder_(builder) {}

    // The rows from `begin` to `end` agree on all choices before `choice`.
    uint32_t fold(size_t begin, size_t end, size_t choice) {
        if (begin == end) return Builder::FALSE_NODE;
        if (choice == table_.shapes.size()) return leaf(begin);
        const ChoiceShape &shape = table_.shapes[choice];
        std::vector<uint32_t> children;
        for (uint32_t v = 0; v < shape.values; ++v) {
            size_t stop = begin;
            while (stop < end && value(stop, choice) == v) ++stop;
            children.push_back(fold(begin, stop, choice + 1));
            begin = stop;
        }
        return builder_.decision(shape.leaf, children);
    }

  private:
    const Enumerated &table_;
    uint32_t question_;
    Builder &builder_;

    uint32_t value(size_t row, size_t choice) const {
        return uint32_t(table_.values[row * table_.shapes.size() + choice]);
    }

    uint32_t leaf(size_t row) {
        const double *counts = table_.counts + (row * table_.questions + question_) * 3;
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

Circuit fold(const Enumerated &table) {
    Builder builder;
    std::vector<uint32_t> roots;
    uint32_t weights = 0;
    for (const ChoiceShape &shape : table.shapes) weights += shape.values;
    for (uint32_t k = 0; k < table.questions; ++k)
        roots.push_back(Folder(table, k, builder).fold(0, table.rows, 0));
    return Circuit::gather(builder, roots, weights);
}

}  // namespace dpasp
