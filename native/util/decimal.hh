// Decimal numbers in text: [+-] digits [. digits] [e [+-] digits].
#pragma once
#include <cstdint>

namespace loglinear {

// Powers of ten that doubles hold exactly.
inline constexpr double kTens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
inline constexpr int kMostTens = 22;

// significand * 10^exponent, with a sign.
struct Decimal {
  std::uint64_t significand = 0;  // the first 19 digits after leading zeros: as many as fit into 64 bits
  std::int64_t exponent = 0;
  int n_significant = 0;          // digits in the significand
  bool exact = true;              // no digit other than 0 was left out of the significand
  bool negative = false;
  const char* unsigned_text = nullptr;  // where the number begins, after its sign
};

// Reads a number as far as it goes. Returns its end, or nullptr where there is no digit. "nan" and "inf" are no
// numbers.
inline const char* read_decimal(const char* begin, const char* end, Decimal& out) {
  const auto is_digit = [end](const char* p) { return p < end && *p >= '0' && *p <= '9'; };
  const char* p = begin;
  out = {};
  out.negative = p < end && *p == '-';
  if (p < end && (*p == '-' || *p == '+')) ++p;
  out.unsigned_text = p;
  bool any = false;
  const auto take = [&](int shift) {  // shift: of the exponent, -1 behind the point
    for (; is_digit(p); ++p) {
      any = true;
      if (out.n_significant < 19) {
        out.significand = out.significand * 10 + static_cast<std::uint64_t>(*p - '0');
        out.n_significant += out.significand > 0;
        out.exponent += shift;
      } else {
        out.exact = out.exact && *p == '0';
        out.exponent += shift + 1;
      }
    }
  };
  take(0);
  if (p < end && *p == '.') ++p, take(-1);
  if (!any) return nullptr;
  if (p < end && (*p == 'e' || *p == 'E')) {
    const char* q = p + 1;
    const bool down = q < end && *q == '-';
    if (q < end && (*q == '-' || *q == '+')) ++q;
    if (is_digit(q)) {
      constexpr std::int64_t kBeyondAll = 1'000'000'000'000;  // more digits of an exponent no longer matter
      std::int64_t written = 0;
      for (; is_digit(q); ++q)
        if (written < kBeyondAll) written = written * 10 + (*q - '0');
      out.exponent += down ? -written : written;
      p = q;
    }
  }
  return p;
}

}  // namespace loglinear
