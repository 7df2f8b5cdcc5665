// Numbers that neither overflow nor underflow.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace dpasp {

// A number m * 2^e with |m| in [1, 2) or 0: counts, masses and slopes of any size.
struct Scaled {
    double m = 0;
    int64_t e = 0;

    Scaled() = default;
    Scaled(double value) : m(value), e(0) { normalise(); }  // NOLINT: meant to be implicit

    // The number with a logarithm: 0 below -1e17, where exponents of products could overflow.
    static Scaled of_log(double log) {
        if (std::isnan(log)) return Scaled(log);
        if (log < -1e17) return Scaled(0.0);
        log = std::min(log, 1e17);
        double shift = std::floor(log / 0.6931471805599453);
        Scaled result(std::exp(log - shift * 0.6931471805599453));
        result.e += int64_t(shift);
        return result;
    }

    void normalise() {
        if (m == 0) {
            e = 0;
            return;
        }
        int shift = 0;
        m = std::frexp(m, &shift) * 2;
        e += shift - 1;
    }
    bool zero() const { return m == 0; }
    double log() const { return m == 0 ? -INFINITY : std::log(m) + double(e) * 0.6931471805599453; }
    double value() const {
        return m == 0 ? 0 : std::ldexp(m, int(std::clamp<int64_t>(e, -1200, 1200)));
    }
    Scaled &operator*=(const Scaled &o) {
        m *= o.m;
        e += o.e;
        normalise();
        return *this;
    }
    Scaled &operator+=(const Scaled &o) {
        if (o.m == 0) return *this;
        if (m == 0) return *this = o;
        int64_t shift = o.e - e;
        if (shift > 200) return *this = o;
        if (shift >= -200) m += std::ldexp(o.m, int(shift));
        normalise();
        return *this;
    }
    Scaled &operator/=(const Scaled &o) {
        m /= o.m;
        e -= o.e;
        normalise();
        return *this;
    }
    Scaled operator-() const {
        Scaled result = *this;
        result.m = -m;
        return result;
    }
    friend Scaled operator*(Scaled a, const Scaled &b) { return a *= b; }
    friend Scaled operator/(Scaled a, const Scaled &b) { return a /= b; }
    friend Scaled operator+(Scaled a, const Scaled &b) { return a += b; }
    // a / b for b > 0, as a plain number.
    friend double ratio(const Scaled &a, const Scaled &b) {
        if (a.m == 0) return 0;
        return std::ldexp(a.m / b.m, int(std::clamp<int64_t>(a.e - b.e, -1070, 1070)));
    }
};

}  // namespace dpasp
