#include "trie/merge.hh"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include "trie/view.hh"
#include "trie/writer.hh"
#include "util/errors.hh"
#include "util/views.hh"

namespace loglinear::trie {

namespace {

constexpr std::uint64_t kMostRecords = 0xFFFFFFFEu;  // of a range, whose levels have numbers of 32 bits
constexpr std::uint64_t kFewRecords = 1 << 16;       // a range of fewer is not worth a thread

// Ranges of words with at most about `size` records each.
std::vector<Range> cut_words(std::span<const std::uint64_t> sizes, Range words, std::uint64_t size) {
  std::vector<Range> ranges;
  std::uint64_t n = 0;
  std::size_t begin = words.begin;
  for (std::size_t w = words.begin; w < words.end; ++w) {
    if (sizes[w] > kMostRecords)
      throw InvalidInput("trie: more than 4294967294 n-grams after one word; use a lower order or less text");
    if (n > 0 && n + sizes[w] > size) {
      ranges.push_back({begin, w});
      begin = w, n = 0;
    }
    n += sizes[w];
  }
  if (n > 0) ranges.push_back({begin, words.end});
  return ranges;
}

template <class Count>
class Merger {
 public:
  using Level = TrieLevel<disk::DiskColumn<std::uint32_t>, disk::DiskColumn<Count>>;

  Merger(ThreadPool& pool, TrieRuns& runs, const MergeOptions& options)
      : pool_(pool), runs_(runs), options_(options), order_(runs.order()), space_(runs.file().folder()) {
    const Range words{std::min(options.words.begin, runs.n_words() + 1),
                      std::min(options.words.end, runs.n_words() + 1)};
    std::uint64_t n = 0;
    if (order_ > 1)
      for (std::size_t w = words.begin; w < words.end; ++w) n += runs.sizes()[w];
    n_records_ = n;
    if (options.meter) options.meter->begin(2 * n);
    const std::uint64_t size = std::max(kFewRecords, n / (4 * static_cast<std::uint64_t>(pool.size())) + 1);
    if (n > 0) ranges_ = cut_words(runs.sizes(), words, std::min(size, kMostRecords));
  }

  void merge() {
    levels_.resize(ranges_.size());
    pool_.run(ranges_.size(), [&](std::size_t r) { merge_range(r); });
  }

  std::vector<std::int64_t> starts(std::size_t n_first, disk::DiskColumn<std::uint32_t> Level::*column) const {
    std::vector<std::int64_t> result{0, static_cast<std::int64_t>(n_first)};
    for (std::size_t k = 1; k < order_; ++k) {
      std::size_t n = 0;
      for (const auto& range : levels_) n += (range[k - 1].*column).size();
      result.push_back(result.back() + static_cast<std::int64_t>(n));
    }
    return result;
  }

  template <class Position>
  MappedTrie<Position> join(std::vector<std::int64_t> context_start, std::vector<std::int64_t> entry_start) {
    MappedTrie<Position> trie;
    trie.order = order_, trie.n_words = runs_.n_words();
    trie.context_start = std::move(context_start), trie.entry_start = std::move(entry_start);
    const auto number = [&](std::span<const std::int64_t> starts, disk::DiskColumn<std::uint32_t> Level::*column) {
      std::vector<std::vector<std::uint64_t>> first(order_, std::vector<std::uint64_t>(ranges_.size()));
      for (std::size_t k = 1; k < order_; ++k) {
        auto at = static_cast<std::uint64_t>(starts[k]);
        for (std::size_t r = 0; r < ranges_.size(); ++r) {
          first[k][r] = at;
          at += (levels_[r][k - 1].*column).size();
        }
      }
      return first;
    };
    contexts_ = number(trie.context_start, &Level::context_word);
    entries_ = number(trie.entry_start, &Level::entry_word);
    join_entries(trie);
    join_contexts(trie);
    if (options_.meter) options_.meter->done = options_.meter->total.load();
    return trie;
  }

 private:
  void merge_range(std::size_t r) {
    std::vector<Level>& levels = levels_[r];
    for (std::size_t k = 1; k < order_; ++k) {
      const auto numbers = [&] { return disk::DiskColumn<std::uint32_t>(space_); };
      const auto counts = [&] { return disk::DiskColumn<Count>(space_); };
      levels.push_back({numbers(), numbers(), numbers(), counts(), numbers(), numbers(), counts()});
    }
    const std::size_t record = runs_.record_size();
    const std::size_t n_buffers = std::max<std::size_t>(runs_.runs().size(), 1) * static_cast<std::size_t>(pool_.size());
    const std::size_t buffered = std::max<std::size_t>(options_.buffer_bytes / (n_buffers * record * 4), 64);
    std::vector<RunReader> readers;
    for (const TrieRuns::Run& run : runs_.runs())
      if (const TrieRuns::Run own = runs_.part(run, ranges_[r]); own.size > 0)
        readers.emplace_back(runs_.file(), own, record, buffered, options_.consume);
    std::vector<Count> slots;
    std::vector<std::uint32_t> before(order_ - 1, kNowhere);
    TrieWriter<Level> writer(levels, runs_.n_words(), slots);
    std::uint64_t n = 0;
    merge_records(readers, order_, [&](const std::uint32_t* words, std::uint64_t count) {
      const auto differ = std::mismatch(before.begin(), before.end(), words);
      const auto shared = static_cast<std::size_t>(differ.first - before.begin());
      std::copy(differ.second, words + order_ - 1, differ.first);
      writer.add(shared, [&](std::size_t k) { return words[k - 1]; }, words[order_ - 1], static_cast<Count>(count));
      if (++n % kFewRecords == 0) tell(kFewRecords);
    });
    std::uint64_t n_range = 0;
    for (std::size_t w = ranges_[r].begin; w < ranges_[r].end; ++w) n_range += runs_.sizes()[w];
    tell(n_range - n / kFewRecords * kFewRecords);
    writer.finish();
    for (Level& level : levels) {
      for (auto* column : {&level.context_word, &level.context_child, &level.context_entry, &level.entry_word,
                           &level.entry_parent})
        column->seal();
      level.context_count.seal();
      level.entry_count.seal();
    }
  }

  void tell(std::uint64_t n) const {
    if (options_.meter) options_.meter->done += n;
  }

  // result[first[k][r] + i] = column[i] + shift(k, r); the column of every range is then gone.
  template <class Out, class Column, class Shift>
  void join_column(Out& result, const std::vector<std::vector<std::uint64_t>>& first, Column Level::*column,
                   Shift shift) {
    using Value = typename Out::value_type;
    pool_.run(ranges_.size(), [&](std::size_t r) {
      for (std::size_t k = 1; k < order_; ++k) {
        Column& from = levels_[r][k - 1].*column;
        const auto add = static_cast<Value>(shift(k, r));
        Value* to = result.data() + first[k][r];
        from.blocks(0, from.size(), [&](auto values) {
          for (const auto value : values) *to++ = static_cast<Value>(static_cast<Value>(value) + add);
        });
        from.free();
      }
    });
    tell(n_records_ / 7);
  }

  template <class Position>
  void join_entries(MappedTrie<Position>& trie) {
    const std::string& folder = runs_.file().folder();
    const auto n = static_cast<std::size_t>(trie.entry_start.back());
    const auto zero = [](std::size_t, std::size_t) { return std::uint64_t{0}; };
    trie.entry_parent = disk::MappedArray<Position>(folder, n);
    std::fill_n(trie.entry_parent.data(), runs_.n_words(), trie.kNone);
    pool_.run(ranges_.size(), [&](std::size_t r) {  // parents of bigrams are the words
      if (order_ < 2) return;
      Position* to = trie.entry_parent.data() + entries_[1][r];
      disk::DiskColumn<std::uint32_t>& words = levels_[r][0].entry_word;
      words.blocks(0, words.size(), [&](std::span<const std::uint32_t> values) {
        for (const std::uint32_t word : values) *to++ = static_cast<Position>(word);
      });
    });
    join_column(trie.entry_parent, entries_, &Level::entry_parent,
                [&](std::size_t k, std::size_t r) { return entries_[k - 1][r]; });
    trie.entry_word = disk::MappedArray<std::uint32_t>(folder, n);
    std::iota(trie.entry_word.data(), trie.entry_word.data() + runs_.n_words(), std::uint32_t{0});
    join_column(trie.entry_word, entries_, &Level::entry_word, zero);
    trie.entry_count = disk::MappedArray<Position>(folder, n);
    std::copy(runs_.word_counts().begin(), runs_.word_counts().end(), trie.entry_count.data());
    join_column(trie.entry_count, entries_, &Level::entry_count, zero);
  }

  template <class Position>
  void join_contexts(MappedTrie<Position>& trie) {
    const std::string& folder = runs_.file().folder();
    const auto n = static_cast<std::size_t>(trie.context_start.back());
    const auto n_entries = static_cast<std::uint64_t>(trie.entry_start.back());
    const auto zero = [](std::size_t, std::size_t) { return std::uint64_t{0}; };
    trie.context_word = disk::MappedArray<std::uint32_t>(folder, n);
    trie.context_word[0] = kNowhere;
    join_column(trie.context_word, contexts_, &Level::context_word, zero);
    trie.context_count = disk::MappedArray<Position>(folder, n);
    trie.context_count[0] = static_cast<Position>(runs_.n_tokens());
    join_column(trie.context_count, contexts_, &Level::context_count, zero);
    trie.context_entry = disk::MappedArray<Position>(folder, n + 1);
    trie.context_entry[0] = 0;
    trie.context_entry[n] = static_cast<Position>(n_entries);
    join_column(trie.context_entry, contexts_, &Level::context_entry,
                [&](std::size_t k, std::size_t r) { return entries_[k][r]; });
    trie.context_child = disk::MappedArray<Position>(folder, n + 1);
    trie.context_child[0] = 1;
    trie.context_child[n] = static_cast<Position>(n);
    join_column(trie.context_child, contexts_, &Level::context_child, [&](std::size_t k, std::size_t r) {
      return k + 1 < order_ ? contexts_[k + 1][r] : static_cast<std::uint64_t>(n);
    });
  }

  ThreadPool& pool_;
  TrieRuns& runs_;
  const MergeOptions& options_;
  std::size_t order_;
  disk::ScratchSpace space_;
  std::uint64_t n_records_ = 0;
  std::vector<Range> ranges_;
  std::vector<std::vector<Level>> levels_;                     // [n_ranges][order - 1]
  std::vector<std::vector<std::uint64_t>> contexts_, entries_;  // [order][n_ranges], where they begin in the whole
};

template <class Count, class Narrow, class Wide>
std::variant<MappedTrie<Narrow>, MappedTrie<Wide>> merge_as(ThreadPool& pool, TrieRuns& runs,
                                                            const MergeOptions& options) {
  Merger<Count> merger(pool, runs, options);
  merger.merge();
  auto contexts = merger.starts(1, &Merger<Count>::Level::context_word);
  auto entries = merger.starts(runs.n_words(), &Merger<Count>::Level::entry_word);
  constexpr std::uint64_t kMost = std::numeric_limits<Narrow>::max() - std::uint64_t{1};
  const std::uint64_t largest =
      std::max({runs.n_tokens(), static_cast<std::uint64_t>(contexts.back()), static_cast<std::uint64_t>(entries.back())});
  if (largest > kMost) return merger.template join<Wide>(std::move(contexts), std::move(entries));
  return merger.template join<Narrow>(std::move(contexts), std::move(entries));
}

}  // namespace

template <class Narrow, class Wide>
std::variant<MappedTrie<Narrow>, MappedTrie<Wide>> merge_runs(ThreadPool& pool, TrieRuns& runs,
                                                              const MergeOptions& options) {
  require(options.words.begin <= options.words.end, "trie: the range of words is empty");
  if (runs.n_tokens() > options.most_narrow) return merge_as<std::uint64_t, Narrow, Wide>(pool, runs, options);
  return merge_as<std::uint32_t, Narrow, Wide>(pool, runs, options);
}

template std::variant<MappedTrie<std::uint32_t>, MappedTrie<std::uint64_t>> merge_runs(ThreadPool&, TrieRuns&,
                                                                                       const MergeOptions&);
template std::variant<MappedTrie<std::uint16_t>, MappedTrie<std::uint32_t>> merge_runs(ThreadPool&, TrieRuns&,
                                                                                       const MergeOptions&);
template std::variant<MappedTrie<std::uint16_t>, MappedTrie<std::uint64_t>> merge_runs(ThreadPool&, TrieRuns&,
                                                                                       const MergeOptions&);

}  // namespace loglinear::trie
