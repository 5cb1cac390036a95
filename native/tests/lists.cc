// Features of candidates, differences, edit distances and losses of lists, without Python: what the sanitizers run.
#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "check.hh"
#include "lists/edit_distance.hh"
#include "lists/features.hh"
#include "lists/loss.hh"

namespace loglinear::tests::lists {

using namespace loglinear::lists;
using namespace loglinear::text;
using namespace loglinear;

namespace {

PackedStrings packed(const std::vector<std::string>& strings) {
  PackedStrings result;
  for (const auto& s : strings) result.push_back(s);
  return result;
}

CandidateFeatureOptions everything() {
  CandidateFeatureOptions options;
  options.word_orders = {1, 2, 3};
  options.max_skip = 2;
  options.headwords = Headwords::cjk;
  options.character_orders = {1, 2};
  return options;
}

std::int64_t slow_distance(const std::vector<std::int32_t>& a, const std::vector<std::int32_t>& b) {
  std::vector<std::int64_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<std::int64_t>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::int64_t diagonal = row[0];
    row[0] = static_cast<std::int64_t>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::int64_t substituted = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row.back();
}

}  // namespace

TEST(candidate_features_of_hostile_bytes) {
  std::mt19937 random(1);
  std::vector<std::string> texts;
  for (int t = 0; t < 300; ++t) {
    std::string text;
    for (unsigned n = random() % 40; n > 0; --n) text.push_back(static_cast<char>(random() % 256));
    texts.push_back(text);
  }
  texts.push_back("<s> </s> <s>");
  texts.push_back("");
  const PackedStrings strings = packed(texts);
  std::vector<std::int64_t> list_ptr{0, 0};
  while (list_ptr.back() < static_cast<std::int64_t>(texts.size()))
    list_ptr.push_back(std::min<std::int64_t>(list_ptr.back() + random() % 6, static_cast<std::int64_t>(texts.size())));
  ThreadPool one(1), three(3);
  const CandidateFeatureOptions options = everything();
  const CandidateFeatures a = fit_candidate_features(one, strings, list_ptr, options, 1);
  const CandidateFeatures b = fit_candidate_features(three, strings, list_ptr, options, 1);
  CHECK(a.names.blob == b.names.blob && a.rows.indices == b.rows.indices && a.rows.values == b.rows.values);
  const StringIndex index(a.names);
  const CountRows again = count_candidate_features(three, strings, list_ptr, options, index);
  CHECK(again.indptr == a.rows.indptr && again.indices == a.rows.indices && again.values == a.rows.values);
  std::vector<std::int32_t> reference(list_ptr.size() - 1, 0);
  const CountRows pairs =
      candidate_differences(three, a.rows.indptr, a.rows.indices, a.rows.values, list_ptr, reference);
  for (double v : pairs.values) CHECK(v != 0.0);
}

TEST(candidate_features_check_what_they_are_given) {
  ThreadPool pool(1);
  const PackedStrings texts = packed({"a b", "a"});
  const auto fit = [&](std::vector<std::int64_t> list_ptr, std::vector<std::int32_t> orders) {
    CandidateFeatureOptions options;
    options.word_orders = std::move(orders);
    fit_candidate_features(pool, texts, list_ptr, options, 1);
  };
  fit({0, 2}, {1});
  CHECK_THROWS(fit({0, 3}, {1}), InvalidInput);
  CHECK_THROWS(fit({0, 2, 1, 2}, {1}), InvalidInput);
  CHECK_THROWS(fit({}, {1}), InvalidInput);
  CHECK_THROWS(fit({0, 2}, {2, 1}), InvalidInput);
  CHECK_THROWS(fit({0, 2}, {0}), InvalidInput);
  CHECK_THROWS(fit({0, 2}, {33}), InvalidInput);
  const std::vector<std::int64_t> indptr{0, 2, 2}, list_ptr{0, 2};
  const std::vector<double> values{1.0, 1.0};
  const auto differ = [&](std::vector<std::int32_t> indices, std::vector<std::int32_t> reference) {
    candidate_differences(pool, indptr, indices, values, list_ptr, reference);
  };
  differ({0, 4}, {1});
  CHECK_THROWS(differ({4, 4}, {1}), InvalidInput);
  CHECK_THROWS(differ({0, 4}, {2}), InvalidInput);
  CHECK_THROWS(differ({0, 4}, {-1}), InvalidInput);
  CHECK_THROWS(differ({0, 4}, {}), InvalidInput);
  CHECK_THROWS(differ({0}, {1}), InvalidInput);
}

TEST(edit_distances_equal_the_table) {
  std::mt19937 random(2);
  for (int round = 0; round < 400; ++round) {
    std::vector<std::int32_t> a(random() % 150), b(random() % 150);
    const auto alphabet = static_cast<std::int32_t>(2 + random() % 5);
    for (auto& x : a) x = static_cast<std::int32_t>(random()) % alphabet;
    b = a;
    b.resize(random() % 150, 1);
    for (unsigned n = random() % 60; n > 0 && !b.empty(); --n)
      b[random() % b.size()] = static_cast<std::int32_t>(random()) % alphabet;
    CHECK(edit_distance(a, b) == slow_distance(a, b));
    CHECK(edit_distance(b, a) == slow_distance(a, b));
  }
}

TEST(list_losses_have_the_derivatives_they_say) {
  ThreadPool pool(2);
  const std::vector<std::int64_t> list_ptr{0, 0, 3, 4, 4};
  const std::vector<double> errors{1.0, 0.0, 2.5, 1.0}, m{0.3, -1.0, 2.0, -0.5};
  for (const ListLoss kind : {ListLoss::exponential, ListLoss::log, ListLoss::expected_error}) {
    for (const bool by_errors : {false, true}) {
      if (kind == ListLoss::expected_error && !by_errors) continue;
      const std::vector<double> used = by_errors ? errors : std::vector<double>{};
      const auto value = [&](std::vector<double> x) { return list_loss(pool, kind, list_ptr, used, x); };
      std::vector<double> d = m;
      list_loss(pool, kind, list_ptr, used, d);
      for (std::size_t p = 0; p < m.size(); ++p) {
        std::vector<double> up = m, down = m;
        up[p] += 1e-6;
        down[p] -= 1e-6;
        CHECK(std::abs(d[p] - (value(up) - value(down)) / 2e-6) < 1e-6);
      }
    }
  }
  std::vector<double> x = m;
  CHECK_THROWS(list_loss(pool, ListLoss::expected_error, list_ptr, {}, x), InvalidInput);
  const std::vector<std::int64_t> short_ptr{0, 3};
  CHECK_THROWS(list_loss(pool, ListLoss::log, short_ptr, {}, x), InvalidInput);
  const std::vector<double> few{1.0};
  CHECK_THROWS(list_loss(pool, ListLoss::log, list_ptr, few, x), InvalidInput);
}

TEST(choices_prefer_the_first_of_equal_ones) {
  ThreadPool pool(1);
  const std::vector<std::int64_t> list_ptr{0, 2, 2};
  const std::vector<std::int32_t> places{0, 2}, reference{1, -1};
  std::vector<std::int32_t> out(2);
  const auto choose = [&](std::vector<double> margins) {
    choose_candidates(pool, list_ptr, margins, places, reference, out);
    return out[0];
  };
  CHECK(choose({0.0, 0.0}) == 0);
  CHECK(choose({1.0, 0.0}) == 1);
  CHECK(choose({1.0, -1.0}) == 2);
  CHECK(choose({-1.0, -1.0}) == 0);
  CHECK(out[1] == -1);
}

}  // namespace loglinear::tests::lists
