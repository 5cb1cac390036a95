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
#include "lists/perceptron.hh"
#include "lists/stagewise.hh"

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

// Trees of minima, sums of margins and stagewise steps, without Python: what the sanitizers run.


namespace loglinear::tests::lists_stagewise {

using namespace loglinear::lists;
using namespace loglinear;

namespace {

// Random lists of pairs with their columns.
struct Problem {
  std::vector<std::int64_t> row_ptr{0}, column_ptr, list_ptr{0};
  std::vector<std::int32_t> feature, pair, place, reference;
  std::vector<double> value, column_value, base, errors, reference_errors;
  std::size_t n_features;

  Problem(unsigned seed, std::size_t n_lists, std::size_t features) : n_features(features) {
    std::mt19937 random(seed);
    std::vector<std::vector<std::pair<std::int32_t, double>>> columns(features);
    for (std::size_t i = 0; i < n_lists; ++i) {
      const unsigned n = random() % 5;
      reference.push_back(0);
      reference_errors.push_back(random() % 2);
      for (unsigned c = 0; c < n; ++c) {
        for (std::size_t k = 0; k < features; ++k) {
          if (random() % 4) continue;
          const double v = static_cast<double>(random() % 5) - 2.0;
          if (v == 0.0) continue;
          feature.push_back(static_cast<std::int32_t>(k));
          value.push_back(v);
          columns[k].push_back({static_cast<std::int32_t>(base.size()), v});
        }
        base.push_back(static_cast<double>(random() % 100) / 50.0 - 1.0);
        errors.push_back(random() % 3);
        place.push_back(static_cast<std::int32_t>(c + 1));
        row_ptr.push_back(static_cast<std::int64_t>(feature.size()));
      }
      list_ptr.push_back(static_cast<std::int64_t>(base.size()));
    }
    column_ptr.push_back(0);
    for (const auto& column : columns) {
      for (const auto& [p, v] : column) pair.push_back(p), column_value.push_back(v);
      column_ptr.push_back(static_cast<std::int64_t>(pair.size()));
    }
  }

  SparseMatrix<std::int32_t> rows() const { return {row_ptr, feature, value, n_features}; }
  SparseMatrix<std::int32_t> columns() const { return {column_ptr, pair, column_value, base.size()}; }
};

struct Record {
  std::vector<std::int32_t> feature;
  std::vector<double> change, loss, l1, alpha, held_out;
  std::vector<std::uint8_t> backward;
  std::vector<std::int64_t> n_nonzeros;
  explicit Record(std::size_t n)
      : feature(n), change(n), loss(n), l1(n), alpha(n), held_out(n), backward(n), n_nonzeros(n) {}
  StagewiseRecord view() { return {feature, change, loss, l1, alpha, backward, n_nonzeros, held_out}; }
};

}  // namespace

TEST(minimum_tree_is_the_minimum) {
  std::mt19937 random(3);
  for (const std::size_t n : {1u, 2u, 15u, 16u, 17u, 255u, 256u, 257u, 5000u}) {
    MinimumTree tree(n);
    std::vector<double> keys(n, MinimumTree::kNone);
    CHECK(tree.minimum() == MinimumTree::kNone);
    for (int round = 0; round < 200; ++round) {
      std::vector<std::int32_t> changed;
      for (unsigned c = 1 + random() % 7; c > 0; --c) {
        const auto place = static_cast<std::int32_t>(random() % n);
        keys[place] = random() % 9 == 0 ? MinimumTree::kNone : static_cast<double>(random() % 50);
        tree.keys()[place] = keys[place];
        changed.push_back(place);
      }
      tree.update(changed);
      const auto least = std::min_element(keys.begin(), keys.end());
      CHECK(tree.minimum() == *least);
      if (*least != MinimumTree::kNone) CHECK(tree.first() == static_cast<std::size_t>(least - keys.begin()));
    }
    for (std::size_t i = 0; i < n; ++i) tree.keys()[i] = keys[i] = static_cast<double>((i * 7919) % 1009);
    tree.rebuild();
    CHECK(tree.first() == static_cast<std::size_t>(std::min_element(keys.begin(), keys.end()) - keys.begin()));
  }
}

TEST(stagewise_steps_keep_what_they_say) {
  const Problem problem(5, 60, 40);
  const auto rows = problem.rows(), columns = problem.columns();
  const ListArrays lists{&rows, &columns, problem.base, problem.list_ptr, problem.place, problem.reference,
                         problem.errors, problem.reference_errors};
  for (const auto method : {StagewiseMethod::boosting, StagewiseMethod::fslr, StagewiseMethod::f_boosting,
                            StagewiseMethod::blasso}) {
    StagewiseRule rule;
    rule.method = method;
    rule.step = 0.05;
    rule.shrinkage = 0.2;
    std::vector<double> losses;
    for (const int threads : {1, 3}) {
      ThreadPool pool(threads);
      Stagewise state(pool, rows, columns, problem.base, problem.errors, rule);
      state.hold_out(lists);
      state.start(pool, std::vector<double>(40, 0.0), 0, std::nan(""), INFINITY, 0);
      Record record(4500);
      const auto [n, end] = state.run(pool, 0, record.view());
      CHECK(n > 100);
      // the same from the weights alone
      MarginSums sums(pool, rows, columns, problem.base, problem.errors, 0.05);
      sums.rebuild(pool, state.weights());
      CHECK(std::fabs(sums.loss() - state.loss()) <= 1e-10 * sums.loss());
      HeldOutLists held_out(lists);
      held_out.rebuild(pool, state.weights());
      CHECK(held_out.errors() == state.held_out_errors());
      std::vector<double> followed(n + 1);
      follow(held_out, pool, std::vector<double>(40, 0.0), std::span(record.feature).first(n),
             std::span(record.change).first(n), followed);
      CHECK(followed.back() == state.held_out_errors());
      if (losses.empty()) losses = record.loss;
      CHECK(losses == record.loss);
      // taken again from where sums were last made
      Stagewise again(pool, rows, columns, problem.base, problem.errors, rule);
      std::vector<double> weights(40, 0.0);
      const auto fresh = static_cast<std::size_t>(state.fresh_at());
      for (std::size_t t = 0; t < fresh; ++t) weights[record.feature[t]] += record.change[t];
      again.start(pool, weights, state.fresh_at(), record.alpha[n - 1], INFINITY, 0);
      again.replay(pool, std::span(record.feature).subspan(fresh, n - fresh),
                   std::span(record.change).subspan(fresh, n - fresh));
      CHECK(again.loss() == state.loss() && again.l1() == state.l1());
    }
  }
}

TEST(stagewise_checks_what_it_is_given) {
  const Problem problem(1, 20, 10), other(2, 20, 9);
  const auto rows = problem.rows(), columns = problem.columns(), wrong = other.columns();
  ThreadPool pool(1);
  StagewiseRule rule;
  CHECK_THROWS((Stagewise(pool, rows, wrong, problem.base, {}, rule)), InvalidInput);
  CHECK_THROWS((Stagewise(pool, rows, columns, std::span(problem.base).first(1), {}, rule)), InvalidInput);
  CHECK_THROWS((Stagewise(pool, rows, columns, problem.base, std::span(problem.errors).first(1), rule)), InvalidInput);
  Stagewise state(pool, rows, columns, problem.base, {}, rule);
  CHECK_THROWS((state.start(pool, std::vector<double>(3, 0.0), 0, 0.0, 0.0, 0)), InvalidInput);
  state.start(pool, std::vector<double>(10, 0.0), 0, std::nan(""), INFINITY, 0);
  const std::vector<std::int32_t> far{10};
  CHECK_THROWS((state.replay(pool, far, std::vector<double>{0.5})), InvalidInput);
  Record record(4);
  record.change.pop_back();
  CHECK_THROWS((state.run(pool, 0, record.view())), InvalidInput);
}

TEST(perceptron_counts_its_updates) {
  const Problem problem(7, 50, 20);
  const auto rows = problem.rows(), columns = problem.columns();
  const ListArrays lists{&rows, &columns, problem.base, problem.list_ptr, problem.place, problem.reference,
                         problem.errors, problem.reference_errors};
  ListPerceptron perceptron(lists);
  std::vector<std::int64_t> order(50);
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
  CHECK(perceptron.pass(order) > 0);
  std::vector<double> average(20);
  perceptron.average(average);
  for (const double w : average) CHECK(std::isfinite(w));
  order[0] = 50;
  CHECK_THROWS((perceptron.pass(order)), InvalidInput);
}

}  // namespace loglinear::tests::lists_stagewise
