// Numbers that neither overflow nor underflow.
#pragma once

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstdint>

namespace dpasp {

// Tells whether a result in this thread has been too small or too large for a double since this was
// made; the processor remembers that.
class DoublesEnd {
  public:
    DoublesEnd() { std::feclearexcept(FE_UNDERFLOW | FE_OVERFLOW); }
    static bool met() { return std::fetestexcept(FE_UNDERFLOW | FE_OVERFLOW) != 0; }
};

// Whether a result may have lost digits, if some numbers were too small or too large.
inline bool doubtful(double number) {
    double size = std::fabs(number);
    return !(size > 1e-280 && size < 1e280);
}

// A number m * 2^e with |m| in [1, 2) or 0: counts, masses and slopes of any size.
struct Scaled {
    double m = 0;
    int64_t e = 0;

    Scaled() = default;
    Scaled(double value) : m(value), e(0) { normalise(); }  // NOLINT: meant to be implicit

    // From a logarithm; 0 below -1e17, where exponents of products could overflow.
    static Scaled of_log(double log) {
        if (std::isnan(log)) return Scaled(log);
        if (log < -1e17) return Scaled(0.0);
        log = std::min(log, 1e17);
        double shift = std::floor(log / 0.6931471805599453);
        Scaled result(std::exp(log - shift * 0.6931471805599453));
        result.e += int64_t(shift);
        return result;
    }
    static Scaled power(int64_t e) {  // of 2
        Scaled result(1);
        result.e = e;
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
    bool operator==(const Scaled &o) const { return m == o.m && e == o.e; }
    bool operator<(const Scaled &o) const {  // for nonnegative numbers
        if (m == 0 || o.m == 0) return m < o.m;
        return e != o.e ? e < o.e : m < o.m;
    }
    friend Scaled operator*(Scaled a, const Scaled &b) { return a *= b; }
    friend Scaled operator/(Scaled a, const Scaled &b) { return a /= b; }
    friend Scaled operator+(Scaled a, const Scaled &b) { return a += b; }
};

}  // namespace dpasp
