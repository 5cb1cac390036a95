// The thread pool, checked views, strings, numbers and words of text.
#include <atomic>
#include <cmath>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "check.hh"
#include "linear/vector.hh"
#include "util/interner.hh"
#include "util/parse_double.hh"
#include "util/thread_pool.hh"
#include "util/views.hh"
#include "util/words.hh"

namespace loglinear::tests::util {

using namespace loglinear::linear;
using namespace loglinear;

namespace {

std::vector<double> noise(std::size_t n, unsigned seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<double> g;
  std::vector<double> out(n);
  for (auto& x : out) x = g(rng);
  return out;
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for_each_word(text, [&](std::string_view word) { words.emplace_back(word); });
  return words;
}

PackedStrings pack(const std::vector<std::string>& strings) {
  PackedStrings packed;
  for (const auto& s : strings) packed.push_back(s);
  return packed;
}

double number(const std::string& text) {
  double value = -1;
  CHECK(parse_double(text.data(), text.data() + text.size(), value) == text.data() + text.size());
  return value;
}

}  // namespace

TEST(pool_runs_every_chunk_once) {
  for (int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    for (std::size_t n : {0, 1, 2, 1000}) {
      std::vector<std::atomic<int>> hits(n);
      pool.run(n, [&](std::size_t c) { ++hits[c]; });
      bool all = true;
      for (auto& h : hits) all = all && h == 1;
      CHECK(all);
    }
  }
}

TEST(pool_sums_do_not_depend_on_threads) {
  const auto x = noise(1 << 20, 1);
  ThreadPool one(1), four(4);
  CHECK(dot(one, x, x) == dot(four, x, x));
  CHECK(max_abs(one, x) == max_abs(four, x));
}

TEST(pool_carries_exceptions_and_goes_on) {
  ThreadPool pool(3);
  for (int round = 0; round < 20; ++round) {
    CHECK_THROWS(pool.run(50, [](std::size_t c) { if (c % 7 == 3) throw InvalidInput("chunk"); }), InvalidInput);
    std::atomic<int> sum{0};
    pool.run(10, [&](std::size_t) { ++sum; });
    CHECK(sum == 10);
  }
  CHECK_THROWS(ThreadPool(0), InvalidInput);
}

TEST(pool_serves_callers_at_once) {
  ThreadPool pool(2);
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  const auto x = noise(300000, 2);
  const double expected = dot(pool, x, x);
  for (int c = 0; c < 4; ++c)
    callers.emplace_back([&] {
      for (int i = 0; i < 25; ++i)
        if (dot(pool, x, x) != expected) ++wrong;
    });
  for (auto& c : callers) c.join();
  CHECK(wrong == 0);
}

TEST(sparse_matrix_refuses_what_kernels_rely_on) {
  std::vector<std::int64_t> p{0, 1, 2};
  std::vector<std::int32_t> i{0, 1}, low{-1, 1}, high{0, 2};
  std::vector<double> v{1, 2}, bad{1, NAN};
  CHECK((SparseMatrix<std::int32_t>(p, i, v, 2).n_rows() == 2));
  CHECK_THROWS((SparseMatrix<std::int32_t>(p, low, v, 2)), InvalidInput);
  CHECK_THROWS((SparseMatrix<std::int32_t>(p, high, v, 2)), InvalidInput);
  CHECK_THROWS((SparseMatrix<std::int32_t>(p, i, bad, 2)), InvalidInput);
  std::vector<std::int64_t> falls{0, 2, 1, 2}, shorter{0, 1};
  CHECK_THROWS((SparseMatrix<std::int32_t>(falls, i, v, 2)), InvalidInput);
  CHECK_THROWS((SparseMatrix<std::int32_t>(shorter, i, v, 2)), InvalidInput);
  CHECK_THROWS((SparseMatrix<std::int32_t>({}, i, v, 2)), InvalidInput);
}

TEST(interner_numbers_by_first_occurrence) {
  Interner interner;
  for (int pass = 0; pass < 2; ++pass)
    for (int i = 0; i < 5000; ++i) CHECK(interner.intern(std::to_string(i * 7919)) == i);
  CHECK(interner.intern("") == 5000);
  const StringIndex index(interner.strings());
  for (int i = 0; i < 5000; ++i) CHECK(index.find(std::to_string(i * 7919)) == i);
  CHECK(index.find("") == 5000);
  CHECK(index.find("x") == -1);
  CHECK_THROWS(StringIndex(pack({"a", "b", "a"})), InvalidInput);
}

TEST(strings_are_checked) {
  const std::string blob = "abc";
  const auto check = [&](std::vector<std::int64_t> offsets) { Strings{blob, offsets}.check(); };
  check({0, 1, 1, 3});
  CHECK_THROWS(check({}), InvalidInput);
  CHECK_THROWS(check({0, 4}), InvalidInput);
  CHECK_THROWS(check({0, 2, 1, 3}), InvalidInput);
  CHECK_THROWS(gather(pack({"a"}), std::vector<std::int64_t>{1}), InvalidInput);
}

TEST(numbers_are_rounded_correctly) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t bits = random();
    double value;
    std::memcpy(&value, &bits, 8);
    if (!std::isfinite(value)) continue;
    char text[64];
    for (const char* format : {"%.17g", "%.6g", "%.25e"}) {
      std::snprintf(text, sizeof text, format, value);
      CHECK(number(text) == std::strtod(text, nullptr));
    }
  }
  CHECK(std::isinf(number("1e400")));
  CHECK(number("-1e-400") == 0.0);
  for (std::string bad : {"", "+", "-", ".", "e5", "nan", "inf", "--1", "+-1"}) {
    double value;
    CHECK(parse_double(bad.data(), bad.data() + bad.size(), value) == nullptr);
  }
}

TEST(words_of_malformed_text) {
  CHECK((words_of("don't 'a' b''c d'") == std::vector<std::string>{"don't", "a", "b", "c", "d"}));
  CHECK((words_of("a\xFFz \xC3") == std::vector<std::string>{"a", "z"}));
  CHECK((words_of("\xC3\xA9t\xC3\xA9\xE2\x80\xA6x\xF0\x9F\x98\x80") ==
         std::vector<std::string>{"\xC3\xA9t\xC3\xA9", "x\xF0\x9F\x98\x80"}));
  CHECK((words_of("a'\xFF") == std::vector<std::string>{"a"}));
  std::mt19937 random(2);
  for (int i = 0; i < 2000; ++i) {
    std::string text(random() % 30, ' ');
    for (char& c : text) c = static_cast<char>(random());
    for (const auto& word : words_of(text)) CHECK(!word.empty());
  }
}

}  // namespace loglinear::tests::util
