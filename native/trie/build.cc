#include "trie/build.hh"

#include <algorithm>
#include <string>

#include "trie/join.hh"
#include "util/errors.hh"

namespace loglinear::trie {

namespace {

using Level = TrieLevel<MemoryColumn>;
using Levels = std::vector<Level>;

struct Workspace {
  Workspace(const Corpus& corpus, std::size_t order) : sorter(corpus, order) {}
  BucketSorter<> sorter;
  std::vector<std::uint32_t> slots;
};

void write_bucket(const Corpus& corpus, std::span<const std::uint32_t> positions, std::span<const std::uint8_t> shared,
                  std::size_t order, TrieWriter<Level>& writer) {
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
  TrieWriter<Level> writer(levels, corpus.n_words, workspace.slots);
  buckets.each(chunk, [&](std::size_t, std::span<std::uint32_t> positions) {
    workspace.sorter.sort(positions);
    write_bucket(corpus, positions, workspace.sorter.shared(), order, writer);
  });
  writer.finish();
  return levels;
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
      run_largest_first<Workspace>(pool, chunks, corpus, order, [&](std::size_t c, Workspace& workspace) {
        levels[c] = write_chunk(corpus, buckets, chunks[c], order, workspace);
      });
    }
  }
  TrieArrays trie = Joiner<Level>(pool, levels, order, sentences.n_words).join();
  write_root(trie, word_counts, n_tokens);
  return trie;
}

}  // namespace loglinear::trie
