// Evaluating a circuit: all masses of all questions in one pass, and their gradients.
#pragma once

#include "circuit.hpp"

namespace dpasp {

constexpr int FIELDS = 7;  // consistent, a, b, c, d, qe, e

struct Request {
    uint32_t fields = (1u << FIELDS) - 1;  // which of them are wanted
    bool log = false;                      // logarithms of masses, and gradients of those
    int threads = 1;
};

// `weights` is [leaves, batch], `out` is [questions, FIELDS, batch] (NaN where not wanted).
void evaluate(const Circuit &circuit, const double *weights, size_t batch, const Request &request,
              double *out);

// Also the gradient of sum(seeds * out) in `gradient`, [leaves, batch].
void differentiate(const Circuit &circuit, const double *weights, size_t batch,
                   const Request &request, const double *seeds, double *out, double *gradient);

}  // namespace dpasp
