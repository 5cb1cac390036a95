#include "cluster/exchange.hh"

#include <algorithm>
#include <cmath>
#include <string>

#include "simd/loops.hh"
#include "util/errors.hh"

namespace loglinear::cluster {
namespace {

constexpr double kLeastGain = 1e-5;             // below it, rounding could have made the gain
constexpr std::size_t kChunks = 16;             // of a batch
constexpr std::size_t kBatchWork = 1 << 19;     // terms g(x) that a batch takes: about half a millisecond
constexpr std::size_t kBatchWords = 256;        // so that few words decide in a state that others have left

inline double g(double x) { return x > 0.0 ? x * std::log(x) : 0.0; }

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
    : bigrams_(bigrams), n_classes_(n_classes), n_rows_(n_classes + 1), stride_((n_rows_ + 7) / 8 * 8),
      labels_(labels.begin(), labels.end()), order_(bigrams.by_count()) {
  if (n_classes == 0) throw InvalidInput("word classes: there must be at least one class");
  if (labels_.size() != bigrams.n_words) throw InvalidInput("word classes: there must be one class for each word");
  for (std::size_t w = 1; w < labels_.size(); ++w)
    if (labels_[w] >= n_classes)
      throw InvalidInput("word classes: word " + std::to_string(w) + " has class " + std::to_string(labels_[w]) +
                         " of " + std::to_string(n_classes));
  if (!labels_.empty()) labels_[0] = static_cast<std::uint32_t>(n_classes);
  sum_counts();
  around_.resize(kChunks);
  for (Surroundings& around : around_) {
    around.after.assign(n_rows_, 0), around.before.assign(n_rows_, 0);
    around.gains.assign(stride_, 0.0), around.adjusted.assign(stride_, 0.0);
  }
}

void Exchange::sum_counts() {
  counts_.assign(n_rows_ * stride_, 0), transposed_ = counts_;
  totals_.assign(stride_, 0.0);
  for (std::size_t w = 0; w < bigrams_.n_words; ++w) {
    totals_[labels_[w]] += bigrams_.count[w];
    for (const Neighbour& entry : bigrams_.after.of(w)) {
      counts_[labels_[w] * stride_ + labels_[entry.word]] += entry.count;
      transposed_[labels_[entry.word] * stride_ + labels_[w]] += entry.count;
    }
  }
  terms_.resize(counts_.size()), transposed_terms_.resize(counts_.size());
  for (std::size_t i = 0; i < counts_.size(); ++i) terms_[i] = g(counts_[i]), transposed_terms_[i] = g(transposed_[i]);
}

double Exchange::log_likelihood() const {
  double sum = bigrams_.word_term();
  for (const double term : terms_) sum += term;
  for (const double total : totals_) sum -= 2.0 * g(total);
  return sum;
}

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
  loops.add_scaled_gains(totals_.data(), bigrams_.count[word], -2.0, out, n);
  const auto side = [&](const std::vector<std::int32_t>& counts, const std::vector<double>& terms,
                        const std::vector<std::uint32_t>& classes, const std::vector<std::int32_t>& more,
                        const std::vector<std::int32_t>& taken) {
    for (const std::size_t d : classes) {
      if (d != from) {
        loops.add_gains(&counts[d * stride_], &terms[d * stride_], more[d], out, n);
      } else {  // the other entries of the row are without the word
        for (std::size_t c = 0; c < n; ++c) around.adjusted[c] = counts[d * stride_ + c] - taken[c];
        around.adjusted[from] = 0.0;  // whatever: that class is done below
        loops.add_scaled_gains(around.adjusted.data(), more[d], 1.0, out, n);
      }
    }
  };
  side(transposed_, transposed_terms_, around.after_classes, around.after, around.before);
  side(counts_, terms_, around.before_classes, around.before, around.after);
  for (std::size_t c = 0; c < n; ++c) {
    const std::int32_t s = around.after[c], p = around.before[c];
    if (s + p + around.self == 0 || c == from || (around.self == 0 && (s == 0 || p == 0))) continue;
    const double x = counts_[c * stride_ + c];
    out[c] += g(x + s + p + around.self) - g(x + s) - g(x + p) + g(x);
  }
  out[from] = put_gain(word, from, around);
}

// Gain of putting a word, taken out of its class, into class `to`.
double Exchange::put_gain(std::uint32_t word, std::size_t to, const Surroundings& around) const {
  const std::size_t from = labels_[word];
  const bool back = to == from;
  const double total = totals_[to] - (back ? bigrams_.count[word] : 0);
  double sum = -2.0 * (g(total + bigrams_.count[word]) - g(total));
  const std::int32_t self = around.self, s_to = around.after[to], p_to = around.before[to];
  for (const std::size_t d : around.after_classes) {
    if (d == to) continue;
    double x = counts_[to * stride_ + d];  // N(to, d) without the word
    if (back) x -= around.after[d];
    else if (d == from) x -= around.before[to];
    sum += g(x + around.after[d]) - g(x);
  }
  for (const std::size_t d : around.before_classes) {
    if (d == to) continue;
    double x = counts_[d * stride_ + to];  // N(d, to) without the word
    if (back) x -= around.before[d];
    else if (d == from) x -= around.after[to];
    sum += g(x + around.before[d]) - g(x);
  }
  const double more = s_to + p_to + self, x = counts_[to * stride_ + to] - (back ? more : 0.0);
  return sum + g(x + more) - g(x);
}

double Exchange::move_gain(std::uint32_t word, std::size_t to, const Surroundings& around) const {
  return put_gain(word, to, around) - put_gain(word, labels_[word], around);
}

std::uint32_t Exchange::best_class(std::uint32_t word, Surroundings& around) const {
  collect(word, around);
  gains(word, around);
  const auto first = around.gains.begin();
  return static_cast<std::uint32_t>(std::max_element(first, first + n_classes_) - first);
}

void Exchange::add(std::size_t row, std::size_t column, std::int32_t more) {
  const std::size_t a = row * stride_ + column, b = column * stride_ + row;
  counts_[a] += more, transposed_[b] += more;
  terms_[a] = transposed_terms_[b] = g(counts_[a]);
}

void Exchange::move(std::uint32_t word, std::size_t to, const Surroundings& around) {
  const std::size_t from = labels_[word];
  for (const std::size_t d : around.after_classes) add(from, d, -around.after[d]), add(to, d, around.after[d]);
  for (const std::size_t d : around.before_classes) add(d, from, -around.before[d]), add(d, to, around.before[d]);
  add(from, from, -around.self), add(to, to, around.self);
  totals_[from] -= bigrams_.count[word], totals_[to] += bigrams_.count[word];
  labels_[word] = static_cast<std::uint32_t>(to);
}

std::size_t Exchange::pass(ThreadPool& pool) {
  std::vector<std::uint32_t> best;
  std::size_t n_moved = 0;
  for (std::size_t begin = 0, end = 0; begin < order_.size(); begin = end) {
    for (std::size_t work = 0; end < order_.size() && end - begin < kBatchWords && work < kBatchWork; ++end) {
      const std::uint32_t word = order_[end];
      work += n_classes_ * (std::min(bigrams_.after.of(word).size(), n_classes_) +
                            std::min(bigrams_.before.of(word).size(), n_classes_) + 2);
    }
    best.resize(end - begin);
    pool.run(std::min(kChunks, best.size()), [&](std::size_t chunk) {  // by turns: words of like counts, like work
      for (std::size_t i = chunk; i < best.size(); i += kChunks)
        best[i] = best_class(order_[begin + i], around_[chunk]);
    });
    for (std::size_t i = 0; i < best.size(); ++i) {
      const std::uint32_t word = order_[begin + i];
      if (best[i] == labels_[word]) continue;
      collect(word, around_[0]);
      if (move_gain(word, best[i], around_[0]) <= kLeastGain) continue;
      move(word, best[i], around_[0]);
      ++n_moved;
    }
  }
  return n_moved;
}

}  // namespace loglinear::cluster
