#include "cluster/merge.hh"

#include <algorithm>
#include <limits>
#include <numeric>

#include "simd/loops.hh"
#include "util/errors.hh"

namespace loglinear::cluster {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kWidth = 64;  // losses of a row that one thread sums

inline double g(double x) { return x_log_x(x); }
inline double h(double x, double y) { return g(x) + g(y) - g(x + y); }

}  // namespace

Merger::Merger(ThreadPool& pool, const Bigrams& bigrams, std::size_t n_classes)
    : bigrams_(bigrams), n_classes_(n_classes), n_slots_(n_classes + 1), order_(bigrams.by_count()),
      next_(n_classes), free_(n_classes), labels_(bigrams.n_words, static_cast<std::uint32_t>(rest())),
      members_(n_slots_), active_(n_slots_, 1), table_(n_slots_ + 2) {
  if (n_classes == 0 || n_classes > order_.size())
    throw InvalidInput("word classes: there must be at least one class, and a word for each");
  for (std::size_t slot = 0; slot < n_classes; ++slot) labels_[order_[slot]] = static_cast<std::uint32_t>(slot);
  active_[free_] = 0;
  begin(pool);
}

Merger::Merger(ThreadPool& pool, const Bigrams& bigrams, std::size_t n_classes, std::span<const std::uint32_t> labels)
    : bigrams_(bigrams), n_classes_(n_classes), n_slots_(n_classes), labels_(labels.begin(), labels.end()),
      members_(n_slots_), active_(n_slots_, 1), table_(n_slots_ + 2) {
  check_labels(bigrams, n_classes, labels_);
  begin(pool);
}

void Merger::begin(ThreadPool& pool) {
  if (!labels_.empty()) labels_[0] = static_cast<std::uint32_t>(boundary());
  for (std::size_t w = 0; w < bigrams_.n_words; ++w) {
    table_.totals[labels_[w]] += bigrams_.count[w];
    if (labels_[w] < n_slots_) members_[labels_[w]].push_back(static_cast<std::uint32_t>(w));
    for (const Neighbour& entry : bigrams_.after.of(w)) table_.add(labels_[w], labels_[entry.word], entry.count);
  }
  losses_.assign(n_slots_ * table_.stride, kInfinity);
  for (std::size_t slot = 0; slot < n_slots_; ++slot)
    if (active_[slot]) sum_losses(pool, slot);
}

// The part of a loss that is not a sum over third classes, less what such a sum has for d = b.
double Merger::own_terms(std::size_t a, std::size_t b) const {
  const double aa = table_.count(a, a), ab = table_.count(a, b), ba = table_.count(b, a), bb = table_.count(b, b);
  return g(aa) + g(ab) + g(ba) + g(bb) - g(aa + ab + ba + bb) - h(ab, bb) - h(ba, bb) -
         2.0 * h(table_.totals[a], table_.totals[b]);
}

// Sums the losses of a class with every other one anew.
void Merger::sum_losses(ThreadPool& pool, std::size_t slot) {
  const simd::ClusterLoops& loops = simd::loops().cluster;
  const std::size_t stride = table_.stride;
  double* const out = losses_of(slot);
  parallel_for(pool, n_slots_, kWidth, [&](std::size_t begin, std::size_t end) {
    double sums[kWidth] = {}, constant = 0.0;
    for (std::size_t d = 0; d < table_.n; ++d) {
      if (d == slot) continue;
      const std::int32_t after = table_.count(slot, d), before = table_.count(d, slot);
      const std::size_t row = d * stride + begin;
      if (after > 0)
        loops.add_gains(&table_.transposed[row], &table_.transposed_terms[row], after, -1.0, sums, end - begin);
      if (before > 0) loops.add_gains(&table_.counts[row], &table_.terms[row], before, -1.0, sums, end - begin);
      constant += table_.term(slot, d) + table_.term(d, slot);
    }
    for (std::size_t b = begin; b < end; ++b)
      out[b] = active_[b] && b != slot ? sums[b - begin] + constant + own_terms(slot, b) : kInfinity;
  });
  for (std::size_t b = 0; b < n_slots_; ++b)
    if (active_[b]) losses_of(b)[slot] = out[b];
}

// Adds to the losses of these rows, with all other classes, scale times their terms for each third class.
void Merger::add_thirds(ThreadPool& pool, const Slots& rows, std::initializer_list<std::size_t> thirds, double scale) {
  const simd::ClusterLoops& loops = simd::loops().cluster;
  parallel_for(pool, rows.size(), 4, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t a = rows[i];
      double* const out = losses_of(a);
      double constant = 0.0;
      for (const std::size_t d : thirds) {
        const std::int32_t after = table_.count(a, d), before = table_.count(d, a);
        const std::size_t row = d * table_.stride;
        if (after > 0)
          loops.add_gains(&table_.transposed[row], &table_.transposed_terms[row], after, -scale, out, n_slots_);
        if (before > 0) loops.add_gains(&table_.counts[row], &table_.terms[row], before, -scale, out, n_slots_);
        constant += scale * (table_.term(a, d) + table_.term(d, a));
      }
      for (std::size_t b = 0; b < n_slots_; ++b) out[b] += constant;
    }
  });
}

// Copies the losses of rows to the other halves of their pairs.
void Merger::mirror(const Slots& rows) {
  std::vector<char> among(n_slots_, 0);
  for (const std::size_t a : rows) among[a] = 1;
  for (std::size_t b = 0; b < n_slots_; ++b)
    if (active_[b] && !among[b])
      for (const std::size_t a : rows) losses_of(b)[a] = losses_[a * table_.stride + b];
}

Merger::Slots Merger::beside(const std::vector<char>& marks, std::size_t but) const {
  Slots out;
  for (std::size_t slot = 0; slot < n_slots_; ++slot)
    if (marks[slot] && active_[slot] && slot != but) out.push_back(slot);
  return out;
}

// Takes a word out of those to come and makes it a class.
void Merger::split_rest(ThreadPool& pool, std::uint32_t word, std::size_t slot) {
  std::vector<char> marks(table_.n, 0);
  for (const Neighbour& entry : bigrams_.after.of(word)) marks[labels_[entry.word]] = 1;
  for (const Neighbour& entry : bigrams_.before.of(word)) marks[labels_[entry.word]] = 1;
  const Slots rows = beside(marks, slot);
  add_thirds(pool, rows, {rest()}, -1.0);
  for (const Neighbour& entry : bigrams_.after.of(word)) {
    const std::size_t d = labels_[entry.word];
    table_.add(rest(), d, -entry.count);
    table_.add(slot, entry.word == word ? slot : d, entry.count);
  }
  for (const Neighbour& entry : bigrams_.before.of(word)) {
    if (entry.word == word) continue;
    table_.add(labels_[entry.word], rest(), -entry.count);
    table_.add(labels_[entry.word], slot, entry.count);
  }
  table_.totals[rest()] -= bigrams_.count[word], table_.totals[slot] += bigrams_.count[word];
  labels_[word] = static_cast<std::uint32_t>(slot);
  members_[slot] = {word};
  add_thirds(pool, rows, {rest(), slot}, 1.0);
  mirror(rows);
  active_[slot] = 1;
  sum_losses(pool, slot);
}

// Moves all counts of one class to another.
void Merger::pour(std::size_t into, std::size_t from) {
  for (std::size_t d = 0; d < table_.n; ++d) {
    const std::int32_t count = table_.count(from, d);
    table_.add(from, d, -count);
    table_.add(into, d == from ? into : d, count);
  }
  for (std::size_t d = 0; d < table_.n; ++d) {
    const std::int32_t count = table_.count(d, from);
    table_.add(d, from, -count);
    table_.add(d, into, count);
  }
  table_.totals[into] += table_.totals[from], table_.totals[from] = 0.0;
}

void Merger::merge(ThreadPool& pool, Pair pair) {
  const auto [into, from] = pair;
  std::vector<char> marks(n_slots_, 0);
  for (std::size_t d = 0; d < n_slots_; ++d) marks[d] = table_.count(from, d) > 0 || table_.count(d, from) > 0;
  marks[from] = 0;
  const Slots rows = beside(marks, into);
  add_thirds(pool, rows, {into, from}, -1.0);
  pour(into, from);
  for (const std::uint32_t word : members_[from]) labels_[word] = static_cast<std::uint32_t>(into);
  members_[into].insert(members_[into].end(), members_[from].begin(), members_[from].end());
  members_[from].clear();
  active_[from] = 0, free_ = from;
  for (std::size_t b = 0; b < n_slots_; ++b) losses_of(b)[from] = losses_of(from)[b] = kInfinity;
  add_thirds(pool, rows, {into}, 1.0);
  mirror(rows);
  sum_losses(pool, into);
}

Merger::Pair Merger::cheapest() const {
  Pair best;
  double least = kInfinity;
  for (std::size_t a = 0; a < n_slots_; ++a) {
    if (!active_[a]) continue;
    const double* const row = &losses_[a * table_.stride];
    for (std::size_t b = a + 1; b < n_slots_; ++b)
      if (row[b] < least) least = row[b], best = {a, b};
  }
  return best;
}

std::size_t Merger::insert(ThreadPool& pool, std::size_t n_more) {
  for (; n_more > 0 && next_ < order_.size(); --n_more, ++next_) {
    split_rest(pool, order_[next_], free_);
    merge(pool, cheapest());
  }
  return order_.size() - next_;
}

void Merger::put_rest(ThreadPool& pool) {
  if (next_ >= order_.size()) return;
  const std::size_t slot = free_;
  pour(slot, rest());
  for (; next_ < order_.size(); ++next_) {
    labels_[order_[next_]] = static_cast<std::uint32_t>(slot);
    members_[slot].push_back(order_[next_]);
  }
  active_[slot] = 1;
  sum_losses(pool, slot);
  merge(pool, cheapest());
}

std::vector<std::uint32_t> Merger::labels() const {
  std::vector<std::uint32_t> number(table_.n, 0);
  std::uint32_t next = 0;
  for (std::size_t slot = 0; slot < n_slots_; ++slot)
    if (active_[slot]) number[slot] = next++;
  number[boundary()] = next;
  std::vector<std::uint32_t> out(labels_.size());
  for (std::size_t w = 0; w < out.size(); ++w) out[w] = number[labels_[w]];
  return out;
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> Merger::tree(ThreadPool& pool) {
  std::vector<std::uint32_t> node(n_slots_, 0);
  std::uint32_t next = 0;
  for (std::size_t slot = 0; slot < n_slots_; ++slot)
    if (active_[slot]) node[slot] = next++;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> out;
  for (std::size_t left = next; left > 1; --left) {
    const Pair pair = cheapest();
    const bool heavier = table_.totals[pair.a] >= table_.totals[pair.b];
    out.emplace_back(node[heavier ? pair.a : pair.b], node[heavier ? pair.b : pair.a]);
    merge(pool, pair);
    node[pair.a] = next++;
  }
  return out;
}

}  // namespace loglinear::cluster
