#include "kernels/trie_build.hh"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "kernels/trie_writer.hh"
#include "util/errors.hh"
#include "util/reused.hh"

namespace loglinear {
namespace {

// A column in memory.
struct MemoryColumn : Pages<std::uint32_t> {
  template <class Use>
  void blocks(std::size_t begin, std::size_t end, Use use) const {
    use(std::span<const std::uint32_t>(data() + begin, end - begin));
  }
};

using Level = TrieLevel<MemoryColumn>;
using Levels = std::vector<Level>;

struct Workspace {
  Workspace(const Corpus& corpus, std::size_t order) : sorter(corpus, order) {}
  BucketSorter sorter;
  std::vector<std::uint32_t> slots;
};

void write_bucket(const Corpus& corpus, std::span<const std::uint32_t> positions, std::span<const std::uint8_t> shared,
                  std::size_t order, TrieWriter<MemoryColumn>& writer) {
  constexpr std::size_t kAhead = 16;
  const std::uint32_t* const text = corpus.text.data();
  for (std::size_t i = 0; i < positions.size();) {
    if (i + kAhead < positions.size()) __builtin_prefetch(text + positions[i + kAhead]);
    std::size_t end = i + 1;
    while (end < positions.size() && shared[end] == order) ++end;
    const std::uint32_t p = positions[i];
    writer.add(shared[i], [&](std::size_t k) { return text[p - k]; }, corpus.token(p),
               static_cast<std::uint32_t>(end - i));
    i = end;
  }
}

Levels write_chunk(const Corpus& corpus, Buckets& buckets, const BucketChunk& chunk, std::size_t order,
                   Workspace& workspace) {
  Levels levels(order - 1);
  TrieWriter<MemoryColumn> writer(levels, corpus.n_words, workspace.slots);
  for (std::size_t w = chunk.begin; w < chunk.end; ++w) {
    const std::size_t begin = buckets.start[w], n = buckets.start[w + 1] - begin;
    if (n == 0) continue;
    const std::span<std::uint32_t> positions(buckets.positions.data() + begin, n);
    workspace.sorter.sort(positions);
    write_bucket(corpus, positions, workspace.sorter.shared(), order, writer);
  }
  writer.finish();
  return levels;
}

// Where the contexts (or entries) of each level and chunk begin in the whole.
class Numbering {
 public:
  Numbering(const std::vector<Levels>& chunks, std::size_t order, std::size_t n_first, MemoryColumn Level::*column)
      : first_(order, std::vector<std::size_t>(chunks.size() + 1, n_first)) {
    for (std::size_t k = 1; k < order; ++k) {
      first_[k][0] = first_[k - 1].back();
      for (std::size_t c = 0; c < chunks.size(); ++c)
        first_[k][c + 1] = first_[k][c] + (chunks[c][k - 1].*column).size();
    }
    if (size() > kMaxNumber)
      throw InvalidInput("trie: more than 4294967294 n-grams; use a lower order, cut-offs or less text");
  }
  std::size_t operator()(std::size_t k, std::size_t chunk) const { return first_[k][chunk]; }
  std::size_t size() const { return first_.back().back(); }
  std::vector<std::int64_t> starts() const {
    std::vector<std::int64_t> result{0};
    for (const auto& level : first_) result.push_back(static_cast<std::int64_t>(level.back()));
    return result;
  }

 private:
  std::vector<std::vector<std::size_t>> first_;  // [order][n_chunks + 1]; level 0 is one context and V entries
};

// The levels of all chunks, one after the other. Each array is freed piece by piece as it is joined.
class Joiner {
 public:
  Joiner(ThreadPool& pool, std::vector<Levels>& chunks, std::size_t order, std::size_t n_words)
      : pool_(pool), chunks_(chunks), order_(order), contexts_(chunks, order, 1, &Level::context_word),
        entries_(chunks, order, n_words, &Level::entry_word) {}

  // All but the unigrams and the empty context.
  TrieArrays join() {
    const auto zero = [](std::size_t, std::size_t) { return std::size_t{0}; };
    TrieArrays trie;
    trie.context_start = contexts_.starts();
    trie.entry_start = entries_.starts();
    join_parents(trie.entry_parent);
    join_column(trie.entry_word, entries_, &Level::entry_word, zero);
    join_column(trie.entry_count, entries_, &Level::entry_count, zero);
    join_column(trie.context_word, contexts_, &Level::context_word, zero);
    join_column(trie.context_count, contexts_, &Level::context_count, zero);
    join_column(trie.context_entry, contexts_, &Level::context_entry, entries_, entries_.size());
    join_column(
        trie.context_child, contexts_, &Level::context_child,
        [&](std::size_t k, std::size_t c) { return k + 1 < order_ ? contexts_(k + 1, c) : contexts_.size(); },
        contexts_.size());
    return trie;
  }

 private:
  // result[numbering(k, c) + i] = column[i] + shift(k, c), with `last` after them.
  template <class Shift>
  void join_column(Pages<std::uint32_t>& result, const Numbering& numbering, MemoryColumn Level::*column, Shift shift,
                   std::optional<std::size_t> last = std::nullopt) {
    result.resize(numbering.size() + (last ? 1 : 0));
    if (last) result.back() = static_cast<std::uint32_t>(*last);
    for_each_piece([&](Level& level, std::size_t k, std::size_t c) {
      copy(level.*column, shift(k, c), result.data() + numbering(k, c));
      release(level.*column);
    });
  }

  void join_parents(Pages<std::uint32_t>& result) {
    result.resize(entries_.size());
    for_each_piece([&](Level& level, std::size_t k, std::size_t c) {
      if (k == 1) copy(level.entry_word, 0, result.data() + entries_(k, c));
      else copy(level.entry_parent, entries_(k - 1, c), result.data() + entries_(k, c));
      release(level.entry_parent);
    });
  }

  template <class Body>
  void for_each_piece(Body body) {
    pool_.run(chunks_.size(), [&](std::size_t c) {
      for (std::size_t k = 1; k < order_; ++k) body(chunks_[c][k - 1], k, c);
    });
  }

  static void copy(const MemoryColumn& from, std::size_t shift, std::uint32_t* to) {
    const auto add = static_cast<std::uint32_t>(shift);
    for (const std::uint32_t value : from) *to++ = value + add;
  }

  ThreadPool& pool_;
  std::vector<Levels>& chunks_;
  std::size_t order_;
  Numbering contexts_, entries_;
};

// The unigrams and the empty context of a joined trie.
void write_root(TrieArrays& trie, std::span<const std::uint32_t> word_counts, std::size_t n_tokens) {
  for (std::size_t w = 0; w < word_counts.size(); ++w) {
    trie.entry_word[w] = static_cast<std::uint32_t>(w);
    trie.entry_parent[w] = kNoWord;
    trie.entry_count[w] = word_counts[w];
  }
  trie.context_word[0] = kNoWord;
  trie.context_count[0] = static_cast<std::uint32_t>(n_tokens);
  trie.context_entry[0] = 0;
  trie.context_child[0] = 1;
}

}  // namespace

void count_words(const Corpus& corpus, std::span<std::uint32_t> counts) {
  for (std::size_t p = corpus.first; p < corpus.text.size(); ++p) ++counts[corpus.token(p)];
}

void check_order(std::size_t order) {
  if (order < 1 || order > kMaxOrder)
    throw InvalidInput("trie: the order is " + std::to_string(order) + "; it must be between 1 and " +
                       std::to_string(kMaxOrder));
}

TrieArrays build_trie(ThreadPool& pool, const SentencesView& sentences, std::size_t order) {
  check_order(order);
  sentences.check();
  std::vector<Levels> levels;
  const std::size_t n_tokens = sentences.n_predicted();
  std::vector<std::uint32_t> word_counts(sentences.n_words, 0);
  {  // the corpus and its positions are freed before the levels are joined
    const Corpus corpus = make_corpus(pool, sentences, {0, n_tokens}, order);
    count_words(corpus, word_counts);
    if (order > 1) {
      Buckets buckets = distribute(pool, corpus);
      const std::vector<BucketChunk> chunks = cut_buckets(buckets);
      levels.resize(chunks.size());
      Reused<Workspace> workspaces;
      run_largest_first(pool, chunks, [&](std::size_t c) {
        auto workspace = workspaces.take([&] { return std::make_unique<Workspace>(corpus, order); });
        levels[c] = write_chunk(corpus, buckets, chunks[c], order, *workspace);
        workspaces.give(std::move(workspace));
      });
    }
  }
  TrieArrays trie = Joiner(pool, levels, order, sentences.n_words).join();
  write_root(trie, word_counts, n_tokens);
  return trie;
}

}  // namespace loglinear
