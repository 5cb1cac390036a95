#include "cluster/bidirectional.hh"

#include <algorithm>
#include <array>

#include "cluster/batches.hh"
#include "cluster/class_table.hh"
#include "simd/loops.hh"

namespace loglinear::cluster {
namespace {

constexpr std::size_t kSparse = 16;  // a word with fewer neighbours than a sixteenth of the classes has no row

// g of small counts, which rare words have.
double g(std::int32_t x) {
  static const std::array<double, 256> known = [] {
    std::array<double, 256> out;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = x_log_x(static_cast<double>(i));
    return out;
  }();
  return static_cast<std::size_t>(x) < known.size() ? known[x] : x_log_x(x);
}

}  // namespace

Bidirectional::Bidirectional(const Bigrams& bigrams, std::size_t n_classes, std::span<const std::uint32_t> labels)
    : bigrams_(bigrams), n_classes_(n_classes), labels_(labels.begin(), labels.end()), order_(bigrams.by_count()),
      after_{&bigrams.after, &bigrams.before, {}, {}}, before_{&bigrams.before, &bigrams.after, {}, {}},
      totals_(n_classes + 1, 0.0), scratch_(kChunks) {
  check_labels(bigrams, n_classes, labels_);
  for (std::size_t w = 0; w < bigrams_.n_words; ++w) totals_[labels_[w]] += bigrams_.count[w];
  fill(after_), fill(before_);
  for (Scratch& scratch : scratch_) {
    scratch.gains.assign(n_classes, 0.0);
    scratch.counts.assign(n_classes + 1, 0);
  }
}

void Bidirectional::fill(Side& side) {
  side.row.assign(bigrams_.n_words, -1);
  std::int64_t end = 0;
  for (std::size_t v = 0; v < bigrams_.n_words; ++v)
    if (side.seen->of(v).size() * kSparse >= n_classes_) side.row[v] = end, end += static_cast<std::int64_t>(n_classes_);
  side.counts.assign(end, 0);
  for (std::size_t v = 0; v < bigrams_.n_words; ++v)
    if (side.row[v] >= 0)
      for (const Neighbour& entry : side.seen->of(v))
        if (labels_[entry.word] < n_classes_) side.counts[side.row[v] + labels_[entry.word]] += entry.count;
}

std::int32_t Bidirectional::count(const Side& side, std::size_t word, std::size_t c) const {
  if (side.row[word] >= 0) return side.counts[side.row[word] + c];
  std::int32_t sum = 0;
  for (const Neighbour& entry : side.seen->of(word)) sum += labels_[entry.word] == c ? entry.count : 0;
  return sum;
}

double Bidirectional::objective() const {
  double sum = 0.0;
  std::vector<std::int32_t> counts(n_classes_ + 1, 0);
  for (const Side* side : {&after_, &before_})
    for (std::size_t v = 0; v < bigrams_.n_words; ++v) {
      for (const Neighbour& entry : side->seen->of(v)) counts[labels_[entry.word]] += entry.count;
      for (const Neighbour& entry : side->seen->of(v)) {
        sum += g(counts[labels_[entry.word]]);
        counts[labels_[entry.word]] = 0;
      }
    }
  for (const double total : totals_) sum -= 2.0 * x_log_x(total);
  return sum;
}

// Adds to the gains of a word in each class those of one side. Its own class is put_gain's.
void Bidirectional::add_gains(const Side& side, std::uint32_t word, Scratch& scratch) const {
  const simd::ClusterLoops& loops = simd::loops().cluster;
  double* const out = scratch.gains.data();
  double of_zero = 0.0;  // the gain of every class that the words with few neighbours are not beside
  for (const Neighbour& visited : side.visited->of(word)) {
    const std::size_t v = visited.word;
    const std::int32_t more = visited.count;
    if (side.row[v] >= 0) {
      loops.add_plain_gains(&side.counts[side.row[v]], more, out, n_classes_);
      continue;
    }
    of_zero += g(more);
    for (const Neighbour& entry : side.seen->of(v)) scratch.counts[labels_[entry.word]] += entry.count;
    for (const Neighbour& entry : side.seen->of(v)) {
      const std::uint32_t c = labels_[entry.word];
      const std::int32_t x = scratch.counts[c];
      scratch.counts[c] = 0;
      if (x > 0 && c < n_classes_) out[c] += g(x + more) - g(x) - g(more);
    }
  }
  for (std::size_t c = 0; c < n_classes_; ++c) out[c] += of_zero;
}

// Gain of putting a word, taken out of its class, into class `to`.
double Bidirectional::put_gain(std::uint32_t word, std::size_t to) const {
  const bool back = to == labels_[word];
  const double total = totals_[to] - (back ? bigrams_.count[word] : 0);
  double sum = -2.0 * (x_log_x(total + bigrams_.count[word]) - x_log_x(total));
  for (const Side* side : {&after_, &before_})
    for (const Neighbour& visited : side->visited->of(word)) {
      const std::int32_t x = count(*side, visited.word, to) - (back ? visited.count : 0);
      sum += g(x + visited.count) - g(x);
    }
  return sum;
}

std::uint32_t Bidirectional::best_class(std::uint32_t word, Scratch& scratch) const {
  std::fill(scratch.gains.begin(), scratch.gains.end(), 0.0);
  simd::loops().cluster.add_scaled_gains(totals_.data(), bigrams_.count[word], -2.0, scratch.gains.data(), n_classes_);
  add_gains(after_, word, scratch), add_gains(before_, word, scratch);
  scratch.gains[labels_[word]] = put_gain(word, labels_[word]);
  return static_cast<std::uint32_t>(std::max_element(scratch.gains.begin(), scratch.gains.end()) -
                                    scratch.gains.begin());
}

bool Bidirectional::move_if_better(std::uint32_t word, std::size_t to) {
  const std::size_t from = labels_[word];
  if (to == from || put_gain(word, to) - put_gain(word, from) <= kLeastGain) return false;
  for (Side* side : {&after_, &before_})
    for (const Neighbour& visited : side->visited->of(word))
      if (const std::int64_t row = side->row[visited.word]; row >= 0) {
        side->counts[row + static_cast<std::int64_t>(from)] -= visited.count;
        side->counts[row + static_cast<std::int64_t>(to)] += visited.count;
      }
  totals_[from] -= bigrams_.count[word], totals_[to] += bigrams_.count[word];
  labels_[word] = static_cast<std::uint32_t>(to);
  return true;
}

std::size_t Bidirectional::work(std::uint32_t word) const {
  return 2 * n_classes_ * (bigrams_.after.of(word).size() + bigrams_.before.of(word).size() + 1);
}

std::size_t Bidirectional::pass(ThreadPool& pool) {
  return visit(
      pool, order_, [&](std::uint32_t word) { return work(word); },
      [&](std::uint32_t word, std::size_t chunk) { return best_class(word, scratch_[chunk]); },
      [&](std::uint32_t word, std::uint32_t to) { return move_if_better(word, to); });
}

}  // namespace loglinear::cluster
