// ARPA files: round trips, and any bytes at all, without Python.
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "check.hh"
#include "backoff/arpa.hh"
#include "backoff/mix.hh"
#include "util/errors.hh"
#include "util/log10_text.hh"

namespace loglinear::tests::backoff_arpa {

using namespace loglinear::backoff;
using namespace loglinear;

namespace {

const std::string kSmall =
    "\\data\\\nngram 1=5\nngram 2=3\nngram 3=2\n\n\\1-grams:\n-1 <unk>\n-99 <s> -0.5\n-0.7 </s>\n-0.3 a -0.25\n"
    "-0.9 b -0.125\n\n\\2-grams:\n-0.2 <s> a -0.1\n-0.4 a b\n-0.6 b </s>\n\n\\3-grams:\n-0.1 <s> a b\n-0.2 b a b\n\n"
    "\\end\\\n";

ArpaModel read(const std::string& text, int n_threads = 1, std::size_t chunk_size = 1 << 18) {
  ThreadPool pool(n_threads);
  ArpaModel result = parse_arpa(pool, text, chunk_size);
  const BackoffArrays model = result.model;
  model.shape.check_backoff(pool);
  model.check_values(pool);
  return result;
}

std::string write(const ArpaModel& read, int n_threads, int digits) {
  ThreadPool pool(n_threads);
  const ArpaText text(pool, read.model, read.words);
  std::string out = "\\data\\\n";
  for (std::size_t n = 1; n <= text.order(); ++n)
    out += "ngram " + std::to_string(n) + "=" + std::to_string(text.n_lines(n)) + "\n";
  for (std::size_t n = 1; n <= text.order(); ++n) {
    const std::vector<char> lines = text.lines(pool, n, 0, text.n_lines(n), digits);
    out += "\n\\" + std::to_string(n) + "-grams:\n" + std::string(lines.begin(), lines.end());
  }
  return out + "\n\\end\\\n";
}

std::string mutated(std::mt19937& random) {
  static const std::vector<std::string> tokens{"\n", "\t", " ", "\\", "-inf", "nan", "1e9", "\\end\\\n", "<s>",
                                               std::string(1, '\0'), "\xff", "0", "ngram 4=1\n", "\r"};
  std::string text = kSmall;
  for (std::size_t n = 1 + random() % 3; n; --n) {
    const std::size_t at = random() % (text.size() + 1);
    switch (random() % 4) {
      case 0: text.resize(at); break;
      case 1: text.insert(at, tokens[random() % tokens.size()]); break;
      case 2: text.erase(at, random() % 9); break;
      default: text.insert(at, text.substr(random() % (text.size() + 1), random() % 30));
    }
  }
  return text;
}

}  // namespace

TEST(log10_text_reads_back) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> unit(0, 1);
  char text[kMostLog10Text];
  for (int i = 0; i < 20000; ++i) {
    const double x = -std::pow(10.0, 20 * unit(random) - 15) * unit(random);
    double y = 0;
    const char* const end = write_log10(x, 17, text);
    CHECK(end - text <= static_cast<std::ptrdiff_t>(kMostLog10Text));
    CHECK(read_log10(text, end, y) == end && y == x);
    const char* const short_end = write_log10(x, 7, text);
    CHECK(read_log10(text, short_end, y) == short_end && std::fabs(y - x) <= 6e-7 * std::fabs(x));
  }
}

TEST(arpa_round_trip) {
  const ArpaModel first = read(kSmall);
  CHECK(first.words.size() == 4);
  CHECK(std::fabs(first.model.log_probability[2] + 0.3 * std::log(10.0)) < 1e-15);
  for (const int threads : {1, 3}) {
    const std::string text = write(first, threads, 17);
    const ArpaModel again = read(text, threads, 7);
    ThreadPool pool(threads);
    std::vector<double> values(again.model.log_probability.size());
    log_probabilities_of(pool, first.model, again.model.shape, values);
    CHECK(values == again.model.log_probability);
    CHECK(write(again, 1, 17) == text);
  }
}

TEST(arpa_any_bytes_any_chunks) {
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    const std::string text = mutated(random);
    std::string outcome[2];
    for (int k = 0; k < 2; ++k) {
      try {
        outcome[k] = write(k ? read(text, 2, 5) : read(text), 1, 9);
      } catch (const ParseError& error) {
        outcome[k] = std::to_string(error.line) + error.what();
      }
    }
    CHECK(outcome[0] == outcome[1]);
  }
}

}  // namespace loglinear::tests::backoff_arpa
