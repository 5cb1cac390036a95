// Natural logarithms to decimal text of base-ten logarithms and back, whatever the locale.
//
// The change of base is done with two doubles for one number (about 32 digits), so that 17 digits read back as the very
// double that was written: a single product would miss one double in eight. (Dekker, "A floating-point technique for
// extending the available precision", 1971.)
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "util/decimal.hh"

namespace loglinear {

struct Wide {  // hi + lo, |lo| at most half a unit in the last place of hi
  double hi, lo;
};

namespace log10_detail {

inline constexpr Wide kLn10{2.302585092994046, -2.1707562233822494e-16};
inline constexpr Wide kLog10E{0.4342944819032518, 1.098319650216765e-17};

inline Wide renormalised(double hi, double lo) {
  const double sum = hi + lo;
  return {sum, lo - (sum - hi)};
}
inline Wide times(Wide a, Wide b) {
  const double product = a.hi * b.hi;
  return renormalised(product, std::fma(a.hi, b.hi, -product) + (a.hi * b.lo + a.lo * b.hi));
}
inline Wide over(Wide a, double b) {
  const double quotient = a.hi / b;
  return renormalised(quotient, (std::fma(-quotient, b, a.hi) + a.lo) / b);
}
inline Wide scaled(Wide a, int tens) {  // a * 10^tens
  for (; tens > kMostTens; tens -= kMostTens) a = times(a, {kTens[kMostTens], 0.0});
  for (; tens < -kMostTens; tens += kMostTens) a = over(a, kTens[kMostTens]);
  return tens < 0 ? over(a, kTens[-tens]) : times(a, {kTens[tens], 0.0});
}
inline std::uint64_t rounded(Wide a) {
  const double whole = std::floor(a.hi);
  return static_cast<std::uint64_t>(whole) + static_cast<std::uint64_t>(std::llround((a.hi - whole) + a.lo));
}

// The power of ten at or below x > 0, give or take one.
inline int exponent_of(double x) {
  if (x >= 1e6 || x < 1e-6) return static_cast<int>(std::floor(std::log10(x)));
  int exponent = 0;  // logarithms of probabilities are mostly of this size
  if (x >= 1.0)
    while (x >= kTens[exponent + 1]) ++exponent;
  else
    while (x * kTens[-exponent] < 1.0) --exponent;
  return exponent;
}
// y times 10^tens, rounded to a whole number of so many digits: few need no second double.
inline std::uint64_t significand_of(Wide y, int tens, int digits) {
  if (digits <= 9 && tens >= 0 && tens <= kMostTens) return static_cast<std::uint64_t>(y.hi * kTens[tens] + 0.5);
  return rounded(scaled(y, tens));
}

}  // namespace log10_detail

inline constexpr std::size_t kMostLog10Text = 48;  // characters that write_log10 may need

// log10(e^x) in `digits` significant digits (at most 17), trailing zeros left out; returns the end of the text.
// x must be finite.
inline char* write_log10(double x, int digits, char* out) {
  using namespace log10_detail;
  const Wide y = times({std::fabs(x), 0.0}, kLog10E);
  if (y.hi < 1e-290) return *out = '0', out + 1;  // below it the second double loses its digits
  if (x < 0) *out++ = '-';
  const std::uint64_t least = static_cast<std::uint64_t>(kTens[digits - 1]);
  int exponent = exponent_of(y.hi);
  std::uint64_t significand = significand_of(y, digits - 1 - exponent, digits);
  if (significand >= 10 * least) ++exponent, significand = significand_of(y, digits - 1 - exponent, digits);
  else if (significand < least) --exponent, significand = significand_of(y, digits - 1 - exponent, digits);

  char figures[20];
  int n = digits;
  for (int i = digits; i-- > 0; significand /= 10) figures[i] = static_cast<char>('0' + significand % 10);
  while (n > 1 && figures[n - 1] == '0') --n;
  const auto put = [&](int from, int to) {  // figures [from, to), zeros past the last
    for (int i = from; i < to; ++i) *out++ = i < n ? figures[i] : '0';
  };
  if (exponent >= 0 && exponent < 17) {
    put(0, exponent + 1);
    if (n > exponent + 1) *out++ = '.', put(exponent + 1, n);
  } else if (exponent < 0 && exponent >= -5) {
    *out++ = '0', *out++ = '.';
    for (int i = -1; i > exponent; --i) *out++ = '0';
    put(0, n);
  } else {
    put(0, 1);
    if (n > 1) *out++ = '.', put(1, n);
    *out++ = 'e';
    if (exponent < 0) *out++ = '-', exponent = -exponent;
    if (exponent >= 100) *out++ = static_cast<char>('0' + exponent / 100);
    if (exponent >= 10) *out++ = static_cast<char>('0' + exponent / 10 % 10);
    *out++ = static_cast<char>('0' + exponent % 10);
  }
  return out;
}

// [+-] digits [. digits] [e [+-] digits] at `begin` as a natural logarithm, to the nearest double where there are at
// most 19 significant digits (more are cut). Returns the end of the number, or nullptr where there is none; what is
// beyond the range of a double is infinite or zero.
inline const char* read_log10(const char* begin, const char* end, double& out) {
  using namespace log10_detail;
  Decimal number;
  const char* const p = read_decimal(begin, end, number);
  if (p == nullptr) return nullptr;
  const auto [significand, exponent, n_significant, exact, negative, text] = number;
  double value = 0.0;
  if (significand == 0 || exponent + n_significant < -320) {
    value = 0.0;
  } else if (exponent + n_significant > 300) {  // no logarithm of a probability
    value = HUGE_VAL;
  } else {
    const double hi = static_cast<double>(significand);
    const auto rest = static_cast<std::int64_t>(significand - static_cast<std::uint64_t>(hi));
    const Wide wide = times(scaled({hi, static_cast<double>(rest)}, static_cast<int>(exponent)), kLn10);
    value = wide.hi + wide.lo;
  }
  out = negative ? -value : value;
  return p;
}

}  // namespace loglinear
