// A part of a problem as clauses, and what makes them fewer without changing a weighted count.
//
// A literal is 2 * variable, plus 1 when negated, as of gates; variable 0 is true.
#pragma once

#include <vector>

#include "ways.hpp"

namespace dpasp {

using Clause = std::vector<Lit>;

// What a variable stands for: a value of a choice, a gate that the choices determine, or something
// that models may disagree on.
enum class Role : uint8_t { Choice, Determined, Inner };

struct Variable {
    Role role = Role::Determined;
    bool kept = true;    // it must not be eliminated: it is weighed, counted or asked for
    bool whole = false;  // a choice of two values: where nothing mentions it, it sums to 1
    bool gone = false;   // it is fixed, or another stands for it
};

struct Formula {
    std::vector<Variable> variables;
    std::vector<Clause> clauses;
    std::vector<std::vector<Edge>> weights;  // by literal: what it multiplies by where it holds
    bool possible = true;                    // false: no assignment satisfies the clauses

    // What stands for a literal of the problem: a literal, TRUE_LIT or FALSE_LIT.
    Lit of(Lit lit) const {
        Lit own = place[gate_of(lit)];
        return negated(lit) ? negate(own) : own;
    }
    std::vector<Lit> place;  // by gate, or by variable while the formula is being simplified
};

// The clauses of what is asserted, of `evidence`, which is asserted too, and of what they and
// `asked` depend on. Choices of more than two values have a variable for each value that occurs.
Formula read_formula(const Job &job, const std::vector<Lit> &evidence,
                     const std::vector<Lit> &asked);

// Units, equivalent literals, subsumed clauses and literals, literals whose opposite fails, and
// variables that are not kept where resolving them away makes no more clauses.
void simplify(Formula &formula, Budget &budget, Watch &watch);

}  // namespace dpasp
