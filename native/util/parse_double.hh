// Decimal text to the nearest double, whatever the locale.
//
// Short numbers, nearly all there are, take the exact route: a significand below 2^53 times or over a power of ten up
// to 10^22 is one correctly rounded operation. The rest goes to the standard library, which has from_chars for doubles
// in libstdc++ but not in every libc++; there a stream with the classic locale does the same, slowly.
#pragma once
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <locale>
#include <sstream>
#include <string>

namespace loglinear::util {

// [+-] digits [. digits] [e [+-] digits] at `begin`, as far as it goes; returns the end of the number, or nullptr where
// there is none. Too large gives infinity, too small gives zero. "nan" and "inf" are not numbers here.
inline const char* parse_double(const char* begin, const char* end, double& out) {
  static constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                       1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  const char* p = begin;
  const bool negative = p < end && *p == '-';
  if (p < end && (*p == '-' || *p == '+')) ++p;
  const char* const digits = p;  // from_chars takes no plus sign

  std::uint64_t significand = 0;
  std::int64_t exponent = 0;   // of ten, to be applied to the significand
  std::int64_t n_digits = 0;   // all of them
  int n_significant = 0;       // those in the significand, after leading zeros
  bool exact = true;           // no non-zero digit was left out of the significand
  const auto take = [&](char c, int shift) {
    ++n_digits;
    if (n_significant < 19) {
      significand = significand * 10 + static_cast<std::uint64_t>(c - '0');
      if (significand) ++n_significant;
      exponent += shift;
    } else {
      exact = exact && c == '0';
      exponent += shift + 1;
    }
  };
  for (; p < end && *p >= '0' && *p <= '9'; ++p) take(*p, 0);
  if (p < end && *p == '.') {
    ++p;
    for (; p < end && *p >= '0' && *p <= '9'; ++p) take(*p, -1);
  }
  if (n_digits == 0) return nullptr;
  if (p < end && (*p == 'e' || *p == 'E')) {
    const char* q = p + 1;
    const bool down = q < end && *q == '-';
    if (q < end && (*q == '-' || *q == '+')) ++q;
    if (q < end && *q >= '0' && *q <= '9') {
      std::int64_t written = 0;
      for (; q < end && *q >= '0' && *q <= '9'; ++q)
        if (written < 1'000'000'000'000) written = written * 10 + (*q - '0');
      exponent += down ? -written : written;
      p = q;
    }
  }

  double value = 0.0;
  if (significand == 0) {
    value = 0.0;
  } else if (exact && significand <= (std::uint64_t{1} << 53) && exponent >= -22 && exponent <= 22) {
    value = static_cast<double>(significand);
    value = exponent < 0 ? value / kPowers[-exponent] : value * kPowers[exponent];
  } else if (exponent + n_significant > 310) {  // at least 1e310
    value = std::numeric_limits<double>::infinity();
  } else if (exponent + n_significant < -330) {  // below 1e-330
    value = 0.0;
  } else {
#if defined(__cpp_lib_to_chars)
    if (std::from_chars(digits, p, value).ec == std::errc::result_out_of_range)
      value = exponent > 0 || exponent + n_significant > 0 ? std::numeric_limits<double>::infinity() : 0.0;
#else
    std::istringstream stream(std::string(digits, p));
    stream.imbue(std::locale::classic());
    stream >> value;
    if (std::abs(value) == std::numeric_limits<double>::max() && stream.fail())
      value = std::numeric_limits<double>::infinity();
#endif
  }
  out = negative ? -value : value;
  return p;
}

}  // namespace loglinear::util
