#include "hmm/feature_counts.hh"

#include <algorithm>
#include <limits>
#include <string>

#include "util/views.hh"

namespace loglinear::hmm {

namespace {

void check_pointers(std::span<const std::int64_t> ptr, std::size_t n_items, const char* what) {
  bool good = !ptr.empty() && ptr.front() == 0 && ptr.back() == static_cast<std::int64_t>(n_items);
  for (std::size_t i = 0; good && i + 1 < ptr.size(); ++i) good = ptr[i] <= ptr[i + 1] && ptr[i + 1] <= ptr.back();
  if (!good) throw InvalidInput(std::string("feature counts: the pointers of ") + what + " do not fit");
}

void check_codes(std::span<const std::int32_t> codes, std::size_t n_codes, const char* what) {
  for (std::size_t i = 1; i < codes.size(); ++i)
    if (codes[i - 1] >= codes[i]) throw InvalidInput(std::string("feature counts: ") + what + " must ascend");
  if (!codes.empty() && (codes.front() < 0 || static_cast<std::size_t>(codes.back()) >= n_codes))
    throw InvalidInput(std::string("feature counts: ") + what + " are out of range");
}

void check_labels(const LabelledSequences& data, std::size_t n_labels) {
  for (std::size_t i = 0; i + 1 < data.sequence_ptr.size(); ++i)
    for (std::int64_t t = data.sequence_ptr[i]; t < data.sequence_ptr[i + 1]; ++t)
      if (data.labels[t] < 0 || static_cast<std::size_t>(data.labels[t]) >= n_labels)
        throw InvalidInput("feature counts: token " + std::to_string(t - data.sequence_ptr[i]) + " of sequence " +
                           std::to_string(i) + " has no known label; leave out sequences that are not fully labelled");
}

struct Entry {
  std::int32_t feature;
  double value;
};

class Counter {
 public:
  Counter(const LabelledSequences& data, const ChainFeatureLists& features)
      : data_(data), features_(features), pair_at_(features.node_label.size()),
        transition_at_(pair_at_ + features.pair_code.size()),
        trigram_at_(transition_at_ + features.transition_code.size()) {}

  void count(std::size_t sequence, FeatureRows& out) {
    const std::int64_t begin = data_.sequence_ptr[sequence], end = data_.sequence_ptr[sequence + 1];
    entries_.clear();
    for (std::int64_t t = begin; t < end; ++t) count_token(t, begin);
    // Stable, so that equal features are summed in the order of their tokens.
    std::stable_sort(entries_.begin(), entries_.end(),
                     [](const Entry& a, const Entry& b) { return a.feature < b.feature; });
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (i > 0 && entries_[i].feature == entries_[i - 1].feature) {
        out.values.back() += entries_[i].value;
      } else {
        out.indices.push_back(entries_[i].feature);
        out.values.push_back(entries_[i].value);
      }
    }
    out.indptr.push_back(static_cast<std::int64_t>(out.indices.size()));
  }

 private:
  void count_token(std::int64_t t, std::int64_t begin) {
    const std::int64_t L = static_cast<std::int64_t>(features_.n_labels), y = data_.labels[t];
    const std::int64_t pair = t > begin ? data_.labels[t - 1] * L + y : -1;
    for (std::int64_t p = data_.indptr[t]; p < data_.indptr[t + 1]; ++p) {
      const std::int32_t a = data_.attributes[p];
      const double value = data_.values.empty() ? 1.0 : data_.values[p];
      add(features_.node_label, features_.node_ptr[a], features_.node_ptr[a + 1], y, 0, value);
      if (pair >= 0) add(features_.pair_code, features_.pair_ptr[a], features_.pair_ptr[a + 1], pair, pair_at_, value);
    }
    if (pair < 0) return;
    const auto n_transitions = static_cast<std::int64_t>(features_.transition_code.size());
    add(features_.transition_code, 0, n_transitions, pair, transition_at_, 1.0);
    const std::int64_t first = t > begin + 1 ? data_.labels[t - 2] : L;
    const auto n_trigrams = static_cast<std::int64_t>(features_.trigram_code.size());
    add(features_.trigram_code, 0, n_trigrams, first * L * L + pair, trigram_at_, 1.0);
  }

  void add(std::span<const std::int32_t> codes, std::int64_t begin, std::int64_t end, std::int64_t code,
           std::size_t first_feature, double value) {
    const auto last = codes.begin() + end, at = std::lower_bound(codes.begin() + begin, last, code);
    if (at != last && *at == code)
      entries_.push_back({static_cast<std::int32_t>(first_feature + (at - codes.begin())), value});
  }

  const LabelledSequences& data_;
  const ChainFeatureLists& features_;
  std::size_t pair_at_, transition_at_, trigram_at_;
  std::vector<Entry> entries_;
};

}  // namespace

void check_features(const LabelledSequences& data, const ChainFeatureLists& features) {
  check_pointers(data.sequence_ptr, data.labels.size(), "sequences");
  check_pointers(data.indptr, data.attributes.size(), "tokens");
  require(data.indptr.size() == data.labels.size() + 1, "feature counts: one label per token is needed");
  require(data.values.empty() || data.values.size() == data.attributes.size(),
          "feature counts: attributes and their values differ in length");
  check_pointers(features.node_ptr, features.node_label.size(), "node features");
  check_pointers(features.pair_ptr, features.pair_code.size(), "pair features");
  require(features.node_ptr.size() == features.pair_ptr.size(),
          "feature counts: node and pair features are of different numbers of attributes");
  const std::size_t n_attributes = features.node_ptr.size() - 1, L = features.n_labels;
  require(L > 0 && L < (std::size_t{1} << 15), "feature counts: between 1 and 32767 labels are needed");
  const auto part = [](std::span<const std::int32_t> codes, std::span<const std::int64_t> ptr, std::size_t a) {
    return codes.subspan(ptr[a], ptr[a + 1] - ptr[a]);
  };
  for (std::size_t a = 0; a < n_attributes; ++a) {
    check_codes(part(features.node_label, features.node_ptr, a), L, "the labels of an attribute");
    check_codes(part(features.pair_code, features.pair_ptr, a), L * L, "the label pairs of an attribute");
  }
  check_codes(features.transition_code, L * L, "transitions");
  check_codes(features.trigram_code, (L + 1) * L * L, "trigrams");
  const std::size_t total = features.node_label.size() + features.pair_code.size() + features.transition_code.size() +
                            features.trigram_code.size();
  require(total <= static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()),
          "feature counts: more than 2147483647 features; use fewer, for instance by a count cut-off");
  for (const std::int32_t a : data.attributes)
    require(a >= 0 && static_cast<std::size_t>(a) < n_attributes, "feature counts: an attribute is out of range");
}

FeatureRows count_features(ThreadPool& pool, const LabelledSequences& data, const ChainFeatureLists& features) {
  check_features(data, features);
  check_labels(data, features.n_labels);
  constexpr std::size_t kChunk = 64;
  const std::size_t n = data.sequence_ptr.size() - 1;
  std::vector<FeatureRows> parts(chunk_count(n, kChunk));
  parallel_for(pool, n, kChunk, [&](std::size_t begin, std::size_t end) {
    Counter counter(data, features);
    for (std::size_t i = begin; i < end; ++i) counter.count(i, parts[begin / kChunk]);
  });
  FeatureRows all;
  all.indptr.reserve(n + 1);
  all.indptr.push_back(0);
  std::size_t total = 0;
  for (const FeatureRows& part : parts) total += part.indices.size();
  all.indices.reserve(total);
  all.values.reserve(total);
  for (FeatureRows& part : parts) {
    const auto before = static_cast<std::int64_t>(all.indices.size());
    for (const std::int64_t end : part.indptr) all.indptr.push_back(before + end);
    all.indices.insert(all.indices.end(), part.indices.begin(), part.indices.end());
    all.values.insert(all.values.end(), part.values.begin(), part.values.end());
    part = {};
  }
  return all;
}

}  // namespace loglinear::hmm
