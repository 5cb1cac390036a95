// Composite models of two small sources: levels and clusters against naive summation, threads, and bad arrays.
#include <cmath>
#include <vector>

#include "check.hh"
#include "composite/clusters.hh"
#include "composite/levels.hh"
#include "util/errors.hh"

namespace loglinear::tests::composite {

using namespace loglinear::composite;

namespace {

// Source 0 has contexts 1, 2 of depth 1 and 3 (below 1), 4 (below 2) of depth 2; source 1 has contexts 1, 2.
struct Small {
  std::vector<std::uint32_t> starts0{0, 1, 3, 5}, parent0{0, 0, 0, 1, 2}, entry0{0, 0, 3, 5, 7, 8};
  std::vector<std::uint32_t> word0{0, 1, 3, 1, 2, 0, 3, 2}, above0{kNone, kNone, kNone, kNone, kNone, 0, 2, 4};
  std::vector<std::uint32_t> starts1{0, 1, 3}, parent1{0, 0, 0}, entry1{0, 0, 2, 4};
  std::vector<std::uint32_t> word1{0, 3, 1, 2}, above1{kNone, kNone, kNone, kNone};
  std::vector<double> value1{1.0, 0.5, 2.0, -1.0};
  std::vector<std::uint32_t> leaf0{0, 1, 3, 3, 2, 4}, leaf1{1, 2, 1, 2, 0, 2};
  std::vector<double> count{1, 2, 3, 1, 2, 4}, observed;
  Problem problem;

  Small() {
    observed.assign(4 + 8 + 4, 0.25);
    problem.n_words = 4;
    problem.sources = {{starts0, parent0, entry0, word0, above0, {}, 4},
                       {starts1, parent1, entry1, word1, above1, value1, 12}};
    problem.leaf = {leaf0, leaf1};
    problem.count = count;
    problem.observed = observed;
  }
};

std::vector<double> weights(double scale) {
  std::vector<double> w(16);
  for (std::size_t j = 0; j < w.size(); ++j) w[j] = scale * std::sin(1.7 * static_cast<double>(j + 1));
  return w;
}

template <class Method>
void check_method(ThreadPool& pool, const Small& small, const Method& method, double scale) {
  const auto w = weights(scale);
  std::vector<double> expected(16), found(16), z(6), naive_z(6), hv(16), naive_hv(16);
  std::uint64_t terms = 0;
  const double loss = naive(pool, small.problem, w, expected, terms);
  CHECK(std::abs(method.value_and_gradient(pool, w, found) - loss) < 1e-9 * (1 + std::abs(loss)));
  naive_log_z(pool, small.problem, w, naive_z);
  method.log_z(pool, w, z);
  const auto v = weights(0.3);
  naive_hessian_vector(pool, small.problem, w, v, naive_hv);
  method.hessian_vector(pool, w, v, hv);
  for (std::size_t j = 0; j < 16; ++j) CHECK(std::abs(found[j] - expected[j]) < 1e-9);
  for (std::size_t j = 0; j < 16; ++j) CHECK(std::abs(hv[j] - naive_hv[j]) < 1e-9);
  for (std::size_t x = 0; x < 6; ++x) CHECK(std::abs(z[x] - naive_z[x]) < 1e-9 * (1 + std::abs(naive_z[x])));
}

}  // namespace

TEST(composite_methods_equal_naive_summation) {
  const Small small;
  small.problem.check();
  for (const int threads : {1, 2}) {
    ThreadPool pool(threads);
    for (const double scale : {0.5, 3.0, 15.0, 500.0}) {
      check_method(pool, small, Clusters(pool, small.problem, {}, 1 << 20), scale);
      check_method(pool, small, Clusters(pool, small.problem, {}, 1 << 20, 1), scale);
      check_method(pool, small, Levels(pool, small.problem, {{{0, 1}, {0, 2}, {1, 1}}}), scale);
      check_method(pool, small, Levels(pool, small.problem, {{{0, 1}, {1, 1}}, {{0, 2}}}), scale);
      check_method(pool, small, Levels(pool, small.problem, {{{1, 1}}, {{0, 1}}, {{0, 2}}}), scale);
    }
  }
}

TEST(composite_problems_refuse_bad_arrays) {
  const auto refused = [](auto change) {
    Small small;
    change(small);
    try {
      small.problem.check();
    } catch (const InvalidInput&) {
      return true;
    }
    return false;
  };
  CHECK(!refused([](Small&) {}));
  CHECK(refused([](Small& s) { s.word0[1] = 9; }));
  CHECK(refused([](Small& s) { s.word0[1] = 0; }));
  CHECK(refused([](Small& s) { s.parent0[3] = 4; }));
  CHECK(refused([](Small& s) { s.above0[5] = 1; }));
  CHECK(refused([](Small& s) { s.entry0[2] = 7; }));
  CHECK(refused([](Small& s) { s.entry0[2] = 1u << 30; }));  // nothing is read before all of them ascend
  CHECK(refused([](Small& s) { s.problem.sources[1].offset = SIZE_MAX; }));
  CHECK(refused([](Small& s) { s.leaf0[0] = 9; }));
  CHECK(refused([](Small& s) { s.leaf0[0] = 2; }));
}

}  // namespace loglinear::tests::composite
