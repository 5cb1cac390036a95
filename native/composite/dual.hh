// A number with its derivative along one direction, so that one template computes values and second derivatives.
#pragma once
#include <cmath>

namespace loglinear::composite {

struct Dual {
  double v = 0.0, d = 0.0;

  Dual() = default;
  Dual(double value) : v(value) {}  // NOLINT: constants mix with duals as they do with doubles
  Dual(double value, double derivative) : v(value), d(derivative) {}

  Dual& operator+=(const Dual& b) { return v += b.v, d += b.d, *this; }
  Dual& operator-=(const Dual& b) { return v -= b.v, d -= b.d, *this; }
  Dual& operator*=(const Dual& b) { return d = d * b.v + v * b.d, v *= b.v, *this; }
};

inline Dual operator+(Dual a, const Dual& b) { return a += b; }
inline Dual operator-(Dual a, const Dual& b) { return a -= b; }
inline Dual operator*(Dual a, const Dual& b) { return a *= b; }
inline Dual operator/(const Dual& a, const Dual& b) { return {a.v / b.v, (a.d - a.v / b.v * b.d) / b.v}; }

inline double value_of(double a) { return a; }
inline double value_of(const Dual& a) { return a.v; }

// exp(x) given its value e and the derivative of x.
inline void set_exp(double& out, double e, double) { out = e; }
inline void set_exp(Dual& out, double e, double dx) { out = {e, e * dx}; }

// What a gradient array gets: the value of a double, the derivative of a dual.
inline double written(double a) { return a; }
inline double written(const Dual& a) { return a.d; }

}  // namespace loglinear::composite
