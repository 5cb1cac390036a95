// Fuzz targets: what a stranger's bytes reach, as functions of bytes.
//
// A target reads its input piece by piece (Input), as the text of a file or as arrays such as model files have, and uses
// what the checks let through as a program would. It may throw InvalidInput or ParseError; every other exception, a
// report of a sanitizer or more time and memory than the limits of the run is a finding. libFuzzer drives the targets
// where clang is the compiler (libfuzzer.cc), a loop of our own elsewhere and in the native tests (mutate.hh).
//
// Arrays are written one byte per number, so that a change of a byte is a change of a number, to a likely or to an
// extreme one. Seed is the inverse of Input: targets make their first inputs from the arrays of small models.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "util/errors.hh"
#include "util/interner.hh"
#include "util/thread_pool.hh"

namespace loglinear::fuzz {

using Bytes = std::vector<std::uint8_t>;

// What bytes from kPlain on stand for. Smaller ones are the number itself or, in an array of doubles, eighths: 0 .. 8,
// then -1/8 .. -17.
inline constexpr unsigned kPlain = 200, kEighths = 64;
inline constexpr std::int64_t kIntegers[] = {
    -1, -2, -3, 200, 255, 256, 1000, 4095, 4096, 32767, 65535, 65536, 1 << 20, 1 << 30, (1LL << 31) - 1, -(1LL << 31), 1LL << 31,
    (1LL << 32) - 2, 1LL << 32, 1LL << 40, 1LL << 62, std::numeric_limits<std::int64_t>::max(),
    std::numeric_limits<std::int64_t>::min()};
inline constexpr double kReals[] = {std::numeric_limits<double>::quiet_NaN(),
                                    std::numeric_limits<double>::infinity(),
                                    -std::numeric_limits<double>::infinity(),
                                    1e308, -1e308, 1e-308, -99.0, 710.0, -745.0, 1e9, 0.3, 1.0 / 3.0};

template <class T>
T number_of(std::uint8_t byte) {
  if constexpr (std::is_floating_point_v<T>) {
    if (byte <= kEighths) return static_cast<T>(byte / 8.0);
    if (byte < kPlain) return static_cast<T>((static_cast<double>(kEighths) - byte) / 8.0);
    return static_cast<T>(kReals[(byte - kPlain) % std::size(kReals)]);
  } else {
    return static_cast<T>(byte < kPlain ? byte : kIntegers[(byte - kPlain) % std::size(kIntegers)]);
  }
}

class Input {
 public:
  explicit Input(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  std::uint8_t byte() {  // 0 behind the end
    if (bytes_.empty()) return 0;
    const std::uint8_t b = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return b;
  }
  std::size_t below(std::size_t n) { return byte() % n; }
  bool flag() { return byte() & 1; }
  template <class T = std::size_t>
  T number() {
    return number_of<T>(byte());
  }

  // One thread, or two for one value of a byte in eight: these cost most of the time.
  ThreadPool& pool() {
    static ThreadPool one(1), two(2);
    return byte() % 8 == 7 ? two : one;
  }
  std::size_t chunk_size() { return std::size_t{1} << below(16); }

  // All that is left, in memory of its own size, so that a read behind its end is seen.
  std::vector<char> text() {
    std::vector<char> all(bytes_.begin(), bytes_.end());
    bytes_ = {};
    return all;
  }
  std::string_view short_text() {
    const std::size_t n = byte();
    const std::span<const std::uint8_t> taken = take(n);
    return {reinterpret_cast<const char*>(taken.data()), taken.size()};
  }
  template <class T>
  std::vector<T> array() {
    const std::size_t n = byte();
    std::vector<T> values;
    values.reserve(n);
    for (const std::uint8_t b : take(n)) values.push_back(number_of<T>(b));
    return values;
  }
  template <class T>
  std::vector<T> array(std::size_t n) {  // of a length that is known; zeros where the input is short
    std::vector<T> values(n);
    for (T& value : values) value = number<T>();
    return values;
  }
  PackedStrings strings() {  // bytes and offsets, which need not fit together
    PackedStrings s;
    const std::string_view blob = short_text();
    s.blob.assign(blob.begin(), blob.end());
    s.offsets = array<std::int64_t>();
    return s;
  }

 private:
  std::span<const std::uint8_t> take(std::size_t n) {
    const std::span<const std::uint8_t> taken = bytes_.first(n < bytes_.size() ? n : bytes_.size());
    bytes_ = bytes_.subspan(taken.size());
    return taken;
  }
  std::span<const std::uint8_t> bytes_;
};

class Seed {
 public:
  Seed& byte(std::size_t b) {
    bytes_.push_back(static_cast<std::uint8_t>(b));
    return *this;
  }
  template <class T>
  Seed& number(T value) {  // the nearest that there is a byte for
    for (unsigned b = 0; b < 256; ++b)
      if (number_of<T>(static_cast<std::uint8_t>(b)) == value) return byte(b);
    if constexpr (std::is_floating_point_v<T>) return number<T>(static_cast<T>(static_cast<int>(value * 8)) / 8);
    return byte(0);
  }
  Seed& text(std::string_view s) {
    bytes_.insert(bytes_.end(), s.begin(), s.end());
    return *this;
  }
  Seed& short_text(std::string_view s) { return byte(s.size()).text(s); }
  template <class Values>
  Seed& array(const Values& values) {
    byte(values.size());
    for (const auto value : values) number(value);
    return *this;
  }
  Seed& strings(Strings s) { return short_text({s.blob.data(), s.blob.size()}).array(s.offsets); }
  operator Bytes() const { return bytes_; }

 private:
  Bytes bytes_;
};

struct Target {
  std::string name;
  void (*use)(Input&);
  std::vector<Bytes> (*seeds)();
  std::vector<std::string> words;  // that mutations may insert

  // A finding leaves this function as an exception, or the process.
  void run(std::span<const std::uint8_t> bytes) const {
    Input input(bytes);
    try {
      use(input);
    } catch (const InvalidInput&) {
    } catch (const ParseError&) {
    }
  }
};

inline std::vector<Target>& targets() {
  static std::vector<Target> all;
  return all;
}
inline bool add_target(Target target) {
  targets().push_back(std::move(target));
  return true;
}

// What a target says of its own results: unlike assert, also where NDEBUG is defined.
struct Broken : std::logic_error {
  using std::logic_error::logic_error;
};
inline void expect(bool condition, const char* what) {
  if (!condition) throw Broken(what);
}

}  // namespace loglinear::fuzz
