#include "cluster/exchange.hh"

#include <algorithm>

#include "cluster/batches.hh"
#include "simd/loops.hh"

namespace loglinear::cluster {
namespace {

inline double g(double x) { return x_log_x(x); }

// Sums the neighbours of a word by their classes.
void sum_by_class(std::span<const Neighbour> entries, std::uint32_t word, const std::vector<std::uint32_t>& labels,
                  std::vector<std::int32_t>& out, std::vector<std::uint32_t>& classes) {
  for (const std::uint32_t d : classes) out[d] = 0;
  classes.clear();
  for (const Neighbour& entry : entries) {
    if (entry.word == word) continue;
    const std::uint32_t d = labels[entry.word];
    if (out[d] == 0) classes.push_back(d);
    out[d] += entry.count;
  }
}

std::int32_t count_of_self(std::span<const Neighbour> entries, std::uint32_t word) {
  const auto found = std::lower_bound(entries.begin(), entries.end(), word,
                                      [](const Neighbour& entry, std::uint32_t w) { return entry.word < w; });
  return found != entries.end() && found->word == word ? found->count : 0;
}

}  // namespace

Exchange::Exchange(const Bigrams& bigrams, std::size_t n_classes, std::span<const std::uint32_t> labels)
    : bigrams_(bigrams), n_classes_(n_classes), labels_(labels.begin(), labels.end()), order_(bigrams.by_count()),
      table_(n_classes + 1) {
  check_labels(bigrams, n_classes, labels_);
  sum_counts();
  around_.resize(kChunks);
  for (Surroundings& around : around_) {
    around.after.assign(table_.n, 0), around.before.assign(table_.n, 0);
    around.gains.assign(table_.stride, 0.0), around.adjusted.assign(table_.stride, 0.0);
  }
}

void Exchange::sum_counts() {
  for (std::size_t w = 0; w < bigrams_.n_words; ++w) {
    table_.totals[labels_[w]] += bigrams_.count[w];
    for (const Neighbour& entry : bigrams_.after.of(w)) table_.add(labels_[w], labels_[entry.word], entry.count);
  }
}

double Exchange::log_likelihood() const { return bigrams_.word_term() + table_.objective(); }

void Exchange::collect(std::uint32_t word, Surroundings& around) const {
  around.self = count_of_self(bigrams_.after.of(word), word);
  sum_by_class(bigrams_.after.of(word), word, labels_, around.after, around.after_classes);
  sum_by_class(bigrams_.before.of(word), word, labels_, around.before, around.before_classes);
}

// Gains of putting a word, taken out of its class, into each class.
void Exchange::gains(std::uint32_t word, Surroundings& around) const {
  const simd::ClusterLoops& loops = simd::loops().cluster;
  const std::size_t from = labels_[word], n = n_classes_;
  double* const out = around.gains.data();
  std::fill_n(out, n, 0.0);
  loops.add_scaled_gains(table_.totals.data(), bigrams_.count[word], -2.0, out, n);
  const auto side = [&](const std::vector<std::int32_t>& counts, const std::vector<double>& terms,
                        const std::vector<std::uint32_t>& classes, const std::vector<std::int32_t>& more,
                        const std::vector<std::int32_t>& taken) {
    for (const std::size_t d : classes) {
      if (d != from) {
        loops.add_gains(&counts[d * table_.stride], &terms[d * table_.stride], more[d], 1.0, out, n);
      } else {  // the other entries of the row are without the word
        for (std::size_t c = 0; c < n; ++c) around.adjusted[c] = counts[d * table_.stride + c] - taken[c];
        around.adjusted[from] = 0.0;  // whatever: that class is done below
        loops.add_scaled_gains(around.adjusted.data(), more[d], 1.0, out, n);
      }
    }
  };
  side(table_.transposed, table_.transposed_terms, around.after_classes, around.after, around.before);
  side(table_.counts, table_.terms, around.before_classes, around.before, around.after);
  for (std::size_t c = 0; c < n; ++c) {
    const std::int32_t s = around.after[c], p = around.before[c];
    if (s + p + around.self == 0 || c == from || (around.self == 0 && (s == 0 || p == 0))) continue;
    const double x = table_.count(c, c);
    out[c] += g(x + s + p + around.self) - g(x + s) - g(x + p) + g(x);
  }
  out[from] = put_gain(word, from, around);
}

// Gain of putting a word, taken out of its class, into class `to`.
double Exchange::put_gain(std::uint32_t word, std::size_t to, const Surroundings& around) const {
  const std::size_t from = labels_[word];
  const bool back = to == from;
  const double total = table_.totals[to] - (back ? bigrams_.count[word] : 0);
  double sum = -2.0 * (g(total + bigrams_.count[word]) - g(total));
  const std::int32_t self = around.self, s_to = around.after[to], p_to = around.before[to];
  for (const std::size_t d : around.after_classes) {
    if (d == to) continue;
    double x = table_.count(to, d);  // N(to, d) without the word
    if (back) x -= around.after[d];
    else if (d == from) x -= around.before[to];
    sum += g(x + around.after[d]) - g(x);
  }
  for (const std::size_t d : around.before_classes) {
    if (d == to) continue;
    double x = table_.count(d, to);  // N(d, to) without the word
    if (back) x -= around.before[d];
    else if (d == from) x -= around.after[to];
    sum += g(x + around.before[d]) - g(x);
  }
  const double more = s_to + p_to + self, x = table_.count(to, to) - (back ? more : 0.0);
  return sum + g(x + more) - g(x);
}

std::uint32_t Exchange::best_class(std::uint32_t word, Surroundings& around) const {
  collect(word, around);
  gains(word, around);
  const auto first = around.gains.begin();
  return static_cast<std::uint32_t>(std::max_element(first, first + n_classes_) - first);
}

void Exchange::move(std::uint32_t word, std::size_t to, const Surroundings& around) {
  const std::size_t from = labels_[word];
  for (const std::size_t d : around.after_classes) {
    table_.add(from, d, -around.after[d]);
    table_.add(to, d, around.after[d]);
  }
  for (const std::size_t d : around.before_classes) {
    table_.add(d, from, -around.before[d]);
    table_.add(d, to, around.before[d]);
  }
  table_.add(from, from, -around.self), table_.add(to, to, around.self);
  table_.totals[from] -= bigrams_.count[word], table_.totals[to] += bigrams_.count[word];
  labels_[word] = static_cast<std::uint32_t>(to);
}

bool Exchange::move_if_better(std::uint32_t word, std::size_t to) {
  if (to == labels_[word]) return false;
  collect(word, around_[0]);
  if (put_gain(word, to, around_[0]) - put_gain(word, labels_[word], around_[0]) <= kLeastGain) return false;
  move(word, to, around_[0]);
  return true;
}

std::size_t Exchange::pass(ThreadPool& pool) {
  return visit(
      pool, order_,
      [&](std::uint32_t word) {
        return n_classes_ * (std::min(bigrams_.after.of(word).size(), n_classes_) +
                             std::min(bigrams_.before.of(word).size(), n_classes_) + 2);
      },
      [&](std::uint32_t word, std::size_t chunk) { return best_class(word, around_[chunk]); },
      [&](std::uint32_t word, std::uint32_t to) { return move_if_better(word, to); });
}

}  // namespace loglinear::cluster
