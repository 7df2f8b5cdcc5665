// What each atom is: a gate over values of choices and guesses.
//
// Atoms are defined bottom up along their dependencies; a loop is solved for its least
// fixpoint. A guess stands for its atom wherever the atom is negated, and must agree with the
// atom's definition.
#pragma once

#include "gates.hpp"
#include "guesses.hpp"

namespace dpasp {

class Definitions {
  public:
    Definitions(const Ground &ground, const Rules &rules, const Guesses &guesses, Gates &gates,
                Watch &watch);

    // Defines the atoms that are `needed`; those that are `late` stand last in a loop.
    void define(const std::vector<uint8_t> &needed, const std::vector<uint8_t> &late);

    // After that: the gates of atoms, of literals over them (0 is false) and of bodies.
    Lit value(uint32_t atom) const { return value_[atom]; }
    Lit literal(int32_t literal) const;
    Lit body(const Rule &rule);

    std::vector<Lit> agreements;  // what must hold for the guesses to agree with the rules

  private:
    struct Loop;

    void define_one(uint32_t atom);
    void define_loop(const std::vector<uint32_t> &part, const std::vector<uint8_t> &late);
    void settle(uint32_t atom, Lit lit);
    bool depends_on_itself(uint32_t atom, const Edges &graph) const;
    std::vector<Lit> solve_linear(const Loop &loop, const std::vector<uint8_t> &late);
    std::vector<Lit> solve_other(const Loop &loop);
    template <class Inside> Lit body(const Rule &rule, Inside inside);

    const Rules &rules_;
    const Guesses &guesses_;
    Gates &gates_;
    Watch &watch_;
    std::vector<Lit> value_;         // by atom: the literal that stands for it
    std::vector<Lit> guess_;         // by atom, where guessed
    std::vector<uint8_t> selector_;  // by atom: whether it is a value of a choice
};

}  // namespace dpasp
