// Evaluating a circuit: all masses of all questions in one pass, and their gradients.
#pragma once

#include "circuit.hpp"
#include "limits.hpp"

namespace dpasp {

constexpr int FIELDS = 7;  // consistent, a, b, c, d, qe, e

struct Request {
    uint32_t fields = (1u << FIELDS) - 1;  // which of them are wanted
    bool log = false;                      // logarithms of masses, and gradients of those
    int threads = 1;
    bool of_logs = false;  // with log: the weights are logarithms, and the gradient is by those
};

// The weights of every leaf, [leaves, batch]: one column is one evaluation.
struct Columns {
    const double *weights;
    size_t batch;
};

// `out` is [questions, FIELDS, batch] (NaN where not wanted). Every column is computed for
// itself, so that the number of threads and the columns beside it change no bit of a result.
void evaluate(const Circuit &circuit, const Columns &columns, const Request &request, double *out,
              const Watch &watch);

// Also the gradient of sum(seeds * out) in `gradient`, [leaves, batch].
struct Gradient {
    const double *seeds;
    double *gradient;
};
void differentiate(const Circuit &circuit, const Columns &columns, const Request &request,
                   const Gradient &gradient, double *out, const Watch &watch);

// The derivative along `directions`, [leaves, batch], of the masses (in `out`) and of the gradient
// of sum(seeds * out) (in `second`, [leaves, batch]): the Hessian times the directions.
struct Curvature {
    const double *seeds;
    const double *directions;
    double *second;
};
void differentiate_twice(const Circuit &circuit, const Columns &columns, const Request &request,
                         const Curvature &curvature, double *out, const Watch &watch);

// About how many multiplications an evaluation takes.
double evaluation_work(const Circuit &circuit, size_t batch);

}  // namespace dpasp
