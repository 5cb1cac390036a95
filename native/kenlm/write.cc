#include "kenlm/write.hh"

#include <algorithm>
#include <cmath>
#include <limits>

#include "trie/cuts.hh"
#include "util/errors.hh"
#include "util/radix_sort.hh"

namespace loglinear::kenlm {

using trie::kNowhere;
using trie::TrieView;
namespace {

constexpr double kLog10 = 0.43429448190325182765;  // log10(e)
constexpr float kImpossible = -99.0f;              // log10 of a probability of zero, as in ARPA files
constexpr double kUse = 0.25;                      // probable n-grams are used more: the weight of one is p^kUse
constexpr float kUnknown = -100.0f;                // of <unk> where a model has none

float log10_of(double log_probability) {
  const double value = kLog10 * log_probability;
  return value > kImpossible ? std::min(static_cast<float>(value), 0.0f) : kImpossible;
}

struct Keyed {
  std::uint64_t key;
  std::uint32_t entry;
};

struct Weighted {
  float value, weight;
};

// Values of one kind and order as numbers of at most `bits` bits; the first `reserved` numbers are the caller's.
class Quantiser {
 public:
  Quantiser(std::vector<Weighted> values, unsigned bits, std::size_t reserved) : reserved_(reserved) {
    centres_.assign((std::size_t{1} << bits) - reserved, -std::numeric_limits<float>::infinity());
    std::sort(values.begin(), values.end(), [](const Weighted& a, const Weighted& b) { return a.value < b.value; });
    if (!values.empty()) fit(values);
  }
  const std::vector<float>& centres() const { return centres_; }
  std::uint64_t code(float value) const {
    const auto above = std::lower_bound(centres_.begin(), centres_.end(), value);
    auto at = above - centres_.begin();
    if (above == centres_.end() || (at > 0 && value - above[-1] < *above - value)) --at;
    return reserved_ + static_cast<std::uint64_t>(at);
  }

 private:
  // Clusters are runs of the sorted values: first of equal weight, then each value goes to the nearest mean.
  void fit(const std::vector<Weighted>& values) {
    constexpr int kRounds = 40;
    const std::size_t n = values.size();
    std::vector<double> weights(n + 1, 0.0), sums(n + 1, 0.0);
    for (std::size_t i = 0; i < n; ++i) {
      weights[i + 1] = weights[i] + values[i].weight;
      sums[i + 1] = sums[i] + static_cast<double>(values[i].weight) * values[i].value;
    }
    std::vector<std::size_t> cuts(centres_.size() + 1, n);
    for (std::size_t k = 0; k < centres_.size(); ++k) {
      const double share = weights[n] * static_cast<double>(k) / static_cast<double>(centres_.size());
      cuts[k] = static_cast<std::size_t>(std::lower_bound(weights.begin(), weights.end(), share) - weights.begin());
    }
    cuts[0] = 0;
    for (int round = 0; round < kRounds; ++round) {
      for (std::size_t k = 0; k < centres_.size(); ++k) {
        const double weight = weights[cuts[k + 1]] - weights[cuts[k]];
        if (weight > 0) centres_[k] = static_cast<float>((sums[cuts[k + 1]] - sums[cuts[k]]) / weight);
        else if (k > 0) centres_[k] = centres_[k - 1];
      }
      std::sort(centres_.begin(), centres_.end());  // an empty cluster keeps the mean it had
      for (std::size_t k = 1; k < centres_.size(); ++k) {
        const float middle = std::isinf(centres_[k - 1]) ? values[0].value : (centres_[k - 1] + centres_[k]) / 2;
        cuts[k] = static_cast<std::size_t>(
            std::lower_bound(values.begin(), values.end(), middle,
                             [](const Weighted& v, float m) { return v.value < m; }) - values.begin());
      }
    }
  }

  std::size_t reserved_;
  std::vector<float> centres_;
};

class Writer {
 public:
  Writer(ThreadPool& pool, const arpa::ArpaText& text, TrieSettings settings)
      : pool_(pool), text_(text), model_(text.model()), shape_(model_.shape), settings_(settings) {}

  std::vector<std::uint8_t> write() {
    number_words();
    std::vector<std::uint64_t> counts{words_.size()};
    for (std::size_t n = 2; n <= shape_.order; ++n)
      counts.push_back(static_cast<std::uint64_t>(shape_.entry_start[n] - shape_.entry_start[n - 1]));
    layout_ = trie_layout(counts, settings_);
    std::size_t size = layout_.words_at;
    for (const std::string_view word : words_) size += word.size() + 1;
    out_.resize(size);
    const std::vector<std::uint8_t> header = header_of(layout_);
    std::copy(header.begin(), header.end(), out_.begin());
    write_vocabulary();
    std::vector<std::uint32_t> place = unigram_places();
    for (std::size_t n = 2; n <= shape_.order; ++n) {
      const std::vector<Keyed> sorted = sort_order(n, place);
      write_children(n - 1, sorted);
      write_order(n, sorted);
      place.assign(sorted.size(), 0);
      const auto first = static_cast<std::uint32_t>(shape_.entry_start[n - 1]);
      for (std::size_t i = 0; i < sorted.size(); ++i) place[sorted[i].entry - first] = static_cast<std::uint32_t>(i);
    }
    return std::move(out_);
  }

 private:
  template <class T>
  void put(std::uint64_t at, T value) {
    std::memcpy(&out_[at], &value, sizeof(T));
  }
  void put_bits(const PackedOrder& p, std::uint64_t at, std::uint64_t value) {
    const std::uint64_t byte = p.at + at / 8;
    put(byte, load<std::uint64_t>(&out_[byte]) | value << at % 8);
  }

  // ---- words -----------------------------------------------------------------------------------------------------
  // <unk> is 0, the others are in the order of their hashes; number_[w] is that of our word w, <s> last.
  void number_words() {
    const Strings own = text_.words();
    std::vector<std::pair<std::uint64_t, std::uint32_t>> hashed;
    number_.assign(own.size() + 1, 0);
    const auto word = [&](std::uint32_t w) { return w == own.size() ? std::string_view("<s>") : own[w]; };
    for (std::uint32_t w = 0; w <= own.size(); ++w)
      if (word(w) != "<unk>") hashed.emplace_back(hash_word(word(w).data(), word(w).size()), w);
    std::sort(hashed.begin(), hashed.end());
    words_.push_back("<unk>");
    for (std::size_t i = 0; i < hashed.size(); ++i) {
      if (i > 0 && hashed[i].first == hashed[i - 1].first)
        throw InvalidInput("two words have the same hash, which a KenLM binary file cannot hold: rename one of them, or "
                           "write an ARPA file");
      number_[hashed[i].second] = static_cast<std::uint32_t>(i + 1);
      words_.push_back(word(hashed[i].second));
      hashes_.push_back(hashed[i].first);
    }
  }

  void write_vocabulary() {
    put(layout_.vocabulary_at - 8, std::uint64_t{hashes_.size()});
    std::memcpy(&out_[layout_.vocabulary_at], hashes_.data(), 8 * hashes_.size());
    std::uint64_t at = layout_.words_at;
    for (const std::string_view word : words_) {
      std::memcpy(&out_[at], word.data(), word.size());
      at += word.size() + 1;
    }
  }

  // ---- values ----------------------------------------------------------------------------------------------------
  // The back-off of the n-gram that has the words of a context: -0 where no longer n-gram begins with it.
  float backoff_of(std::uint32_t context) const {
    if (context == kNowhere) return -0.0f;
    const auto value = static_cast<float>(kLog10 * model_.log_backoff[context]);
    if (value != 0.0f) return value > kImpossible ? value : kImpossible;
    return shape_.context_entry[context] < shape_.context_entry[context + 1] ? 0.0f : -0.0f;
  }

  std::vector<std::uint32_t> unigram_places() {
    const auto unigram = [&](std::uint32_t number, float log10, float backoff) {
      put(layout_.unigrams_at + 16 * std::uint64_t{number}, log10);
      put(layout_.unigrams_at + 16 * std::uint64_t{number} + 4, backoff);
    };
    unigram(0, kUnknown, 0.0f);
    for (std::uint32_t w = 0; w < shape_.n_words; ++w)
      unigram(number_[w], log10_of(model_.log_probability[w]), backoff_of(text_.context_of()[w]));
    const auto begin = static_cast<std::uint32_t>(shape_.n_words);
    unigram(number_[begin], kImpossible, backoff_of(shape_.child(0, begin)));
    return {number_.begin(), number_.end() - 1};
  }

  // ---- n-grams ---------------------------------------------------------------------------------------------------
  // Entries of order n by (place of the entry without its oldest word, number of the oldest word).
  std::vector<Keyed> sort_order(std::size_t n, const std::vector<std::uint32_t>& shorter_place) const {
    const auto first = static_cast<std::uint32_t>(shape_.entry_start[n - 1]);
    const auto shorter_first = static_cast<std::uint32_t>(shape_.entry_start[n - 2]);
    std::vector<Keyed> keyed(static_cast<std::size_t>(shape_.entry_start[n]) - first), spare;
    trie::for_contexts(pool_, shape_, n - 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t c = begin; c < end; ++c) {
        const std::uint32_t parent = text_.parents()[c];
        std::uint32_t from = shape_.context_entry[parent];
        const std::uint64_t oldest = number_[shape_.context_word[c]];
        for (std::uint32_t e = shape_.context_entry[c]; e < shape_.context_entry[c + 1]; ++e) {
          const std::uint32_t shorter = shape_.entry_after(from, parent, shape_.entry_word[e]);
          keyed[e - first] = {std::uint64_t{shorter_place[shorter - shorter_first]} << 32 | oldest, e};
        }
      }
    });
    sort_by_key(std::span<Keyed>(keyed), 64, spare, [](const Keyed& k) { return k.key; });
    return keyed;
  }

  // Where the children of each n-gram of order n begin among those of the next order.
  void write_children(std::size_t n, const std::vector<Keyed>& children) {
    std::size_t child = 0;
    std::uint64_t n_changes = 1;
    if (n > 1 && layout_.is_array()) {
      const PackedOrder& p = layout_.packed[n - 2];
      out_[p.at - (8 * (1 + p.n_changes) + 7) + 1] = static_cast<std::uint8_t>(settings_.array_bits);
    }
    for (std::uint64_t i = 0; i <= layout_.counts[n - 1]; ++i) {
      while (child < children.size() && children[child].key >> 32 < i) ++child;
      if (n == 1) {
        put(layout_.unigrams_at + 16 * i + 8, std::uint64_t{child});
        continue;
      }
      const PackedOrder& p = layout_.packed[n - 2];
      for (; p.n_changes > 0 && n_changes <= child >> p.next_bits; ++n_changes) put(p.changes_at + 8 * n_changes, i);
      put_bits(p, i * p.bits() + p.word_bits + p.value_bits, child & ((std::uint64_t{1} << p.next_bits) - 1));
    }
  }

  void write_order(std::size_t n, const std::vector<Keyed>& sorted) {
    const PackedOrder& p = layout_.packed[n - 2];
    const bool last = n == shape_.order;
    const auto backoff = [&](const Keyed& k) { return backoff_of(text_.context_of()[k.entry]); };
    for (std::size_t i = 0; i < sorted.size(); ++i)
      put_bits(p, i * p.bits(), sorted[i].key & 0xFFFFFFFFu);
    if (!layout_.is_quantised()) {
      for (std::size_t i = 0; i < sorted.size(); ++i) {
        const std::uint64_t at = i * p.bits() + p.word_bits;
        const auto log10 = std::bit_cast<std::uint32_t>(log10_of(model_.log_probability[sorted[i].entry]));
        put_bits(p, at, log10 & 0x7FFFFFFFu);
        if (!last) put_bits(p, at + 31, std::bit_cast<std::uint32_t>(backoff(sorted[i])));
      }
      return;
    }
    std::vector<Weighted> probabilities, backoffs;
    for (const Keyed& k : sorted) {
      const double log_p = model_.log_probability[k.entry];
      probabilities.push_back({log10_of(log_p), static_cast<float>(std::exp(kUse * log_p))});
      if (!last && backoff(k) != 0.0f) backoffs.push_back({backoff(k), 1.0f});
    }
    const Quantiser probability(std::move(probabilities), layout_.probability_bits, 0);
    put_table(layout_.probability_at[n - 2], probability.centres());
    const std::uint64_t tables_at = layout_.probability_at[0] - 8;
    const std::uint8_t head[3] = {2, static_cast<std::uint8_t>(layout_.probability_bits),
                                  static_cast<std::uint8_t>(layout_.backoff_bits)};
    std::memcpy(&out_[tables_at], head, 3);
    if (last) {
      for (std::size_t i = 0; i < sorted.size(); ++i)
        put_bits(p, i * p.bits() + p.word_bits, probability.code(log10_of(model_.log_probability[sorted[i].entry])));
      return;
    }
    const Quantiser cost(std::move(backoffs), layout_.backoff_bits, 2);
    put(layout_.backoff_at[n - 2], -0.0f);
    put(layout_.backoff_at[n - 2] + 4, 0.0f);
    put_table(layout_.backoff_at[n - 2] + 8, cost.centres());
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      const std::uint64_t at = i * p.bits() + p.word_bits;
      const float b = backoff(sorted[i]);
      const std::uint64_t code = b == 0.0f ? (std::signbit(b) ? 0 : 1) : cost.code(b);
      put_bits(p, at, code | probability.code(log10_of(model_.log_probability[sorted[i].entry]))
                                 << layout_.backoff_bits);
    }
  }

  void put_table(std::uint64_t at, const std::vector<float>& values) {
    std::memcpy(&out_[at], values.data(), 4 * values.size());
  }

  ThreadPool& pool_;
  const arpa::ArpaText& text_;
  const backoff::BackoffArrays& model_;
  const TrieView& shape_;
  TrieSettings settings_;
  Layout layout_;
  std::vector<std::uint32_t> number_;
  std::vector<std::string_view> words_;  // by number
  std::vector<std::uint64_t> hashes_;
  std::vector<std::uint8_t> out_;
};

}  // namespace

std::vector<std::uint8_t> write_trie(ThreadPool& pool, const arpa::ArpaText& text, TrieSettings settings) {
  return Writer(pool, text, settings).write();
}

}  // namespace loglinear::kenlm
