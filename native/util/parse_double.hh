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
#include <system_error>
#include <string>

#include "util/decimal.hh"

namespace loglinear {

// [+-] digits [. digits] [e [+-] digits] at `begin`, as far as it goes; returns the end of the number, or nullptr where
// there is none. Too large gives infinity, too small gives zero. "nan" and "inf" are not numbers here.
inline const char* parse_double(const char* begin, const char* end, double& out) {
  Decimal number;
  const char* const p = read_decimal(begin, end, number);
  if (p == nullptr) return nullptr;
  const auto [significand, exponent, n_significant, exact, negative, digits] = number;

  double value = 0.0;
  if (significand == 0) {
    value = 0.0;
  } else if (exact && significand <= (std::uint64_t{1} << 53) && exponent >= -kMostTens && exponent <= kMostTens) {
    value = static_cast<double>(significand);
    value = exponent < 0 ? value / kTens[-exponent] : value * kTens[exponent];
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

}  // namespace loglinear
