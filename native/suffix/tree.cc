#include "suffix/tree.hh"

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trie/join.hh"
#include "util/errors.hh"

namespace loglinear::suffix {

using namespace trie;
namespace {

struct ClassLevel : TrieLevel<MemoryColumn> {
  MemoryColumn context_length, context_end;
};

// Where the histories of a bucket part: lengths by the first leaf below, each leaf's from the shortest to the longest.
class Partings {
 public:
  // leaves[j] = first token of leaf j; shared as in BucketSorter.
  void find(std::span<const std::uint32_t> leaves, std::span<const std::uint32_t> shared) {
    open_.clear();
    closed_.clear();
    first_.assign(leaves.size() + 1, 0);
    for (std::uint32_t j = 1; j < leaves.size(); ++j) {
      const std::uint32_t common = shared[leaves[j]];
      std::uint32_t from = j - 1;  // first leaf of what parts here
      while (!open_.empty() && open_.back().length > common) from = close();
      if (open_.empty() || open_.back().length < common) open_.push_back({common, from});
    }
    while (!open_.empty()) close();
    sort();
  }

  // Those whose first leaf is j.
  std::span<const std::uint32_t> at(std::size_t j) const {
    return std::span(lengths_).subspan(first_[j], first_[j + 1] - first_[j]);
  }

 private:
  struct Parting {
    std::uint32_t length, leaf;
  };

  std::uint32_t close() {
    closed_.push_back(open_.back());
    open_.pop_back();
    return closed_.back().leaf;
  }

  // Of those of one leaf the longest was closed first.
  void sort() {
    for (const Parting& p : closed_) ++first_[p.leaf + 1];
    for (std::size_t j = 1; j < first_.size(); ++j) first_[j] += first_[j - 1];
    lengths_.resize(closed_.size());
    place_.assign(first_.begin(), first_.end() - 1);
    for (std::size_t i = closed_.size(); i-- > 0;) lengths_[place_[closed_[i].leaf]++] = closed_[i].length;
  }

  std::vector<Parting> open_, closed_;
  std::vector<std::uint32_t> first_, place_, lengths_;
};

struct Workspace {
  Workspace(const Corpus& corpus, std::size_t order) : sorter(corpus, order) {}
  BucketSorter<std::uint32_t> sorter;
  Partings partings;
  std::vector<std::uint32_t> leaves, slots;
};

// Buckets of one chunk to levels of classes.
class ChunkWriter {
 public:
  ChunkWriter(const SentencesView& sentences, const Corpus& corpus, std::size_t order, Workspace& workspace)
      : sentences_(sentences), corpus_(corpus), order_(order), work_(workspace), levels_(2),
        writer_(levels_, corpus.n_words, workspace.slots) {}

  void bucket(std::span<std::uint32_t> positions) {
    work_.sorter.sort(positions);
    const std::span<const std::uint32_t> shared = work_.sorter.shared();
    work_.leaves.clear();
    for (std::uint32_t i = 0; i < positions.size(); ++i)
      if (i == 0 || shared[i] + 1 < order_) work_.leaves.push_back(i);
    work_.partings.find(work_.leaves, shared);
    for (std::size_t j = 0; j < work_.leaves.size(); ++j) {
      const std::size_t begin = work_.leaves[j];
      const std::size_t end = j + 1 < work_.leaves.size() ? work_.leaves[j + 1] : positions.size();
      while (!lengths_.empty() && lengths_.back() > shared[begin]) lengths_.pop_back();
      writer_.close(lengths_.size());
      for (const std::uint32_t length : work_.partings.at(j)) open(length, positions[begin]);
      open(history_length(positions[begin]), positions[begin]);
      entries(positions, shared, begin, end);
    }
    lengths_.clear();
    writer_.close(0);
  }

  std::vector<ClassLevel> take() { return std::move(levels_); }

 private:
  // Words of the whole history, `<s>` counted, as far as the order allows. Most sentences are short.
  std::uint32_t history_length(std::uint32_t p) const {
    constexpr std::size_t kFew = 32;
    std::size_t length = lengths_.empty() ? 1 : lengths_.back() + 1;  // shorter ones do not begin with `<s>`
    const std::size_t longest = std::min(length + kFew, order_ - 1);
    while (length < longest && corpus_.text[p - length] != corpus_.begin_word()) ++length;
    if (length + 1 < order_ && corpus_.text[p - length] != corpus_.begin_word())
      length = std::min(order_ - 1, p + 1 - sentences_.sentence_at(sentences_.sentence_of(p)));
    return static_cast<std::uint32_t>(length);
  }

  void open(std::uint32_t length, std::uint32_t p) {
    const std::size_t level = lengths_.size();
    if (level + 2 > levels_.size()) {
      if (level + 2 > kMaxLevels)
        throw InvalidInput("suffix tree: the text repeats itself to more than " + std::to_string(kMaxLevels) +
                           " levels; give a lower order");
      levels_.resize(level + 2);
      writer_.set_levels(levels_);
    }
    const std::uint32_t parent = lengths_.empty() ? 0 : lengths_.back();
    writer_.open(corpus_.text[p - parent - 1]);
    levels_[level].context_length.push_back(length);
    levels_[level].context_end.push_back(p);
    lengths_.push_back(length);
  }

  void entries(std::span<const std::uint32_t> positions, std::span<const std::uint32_t> shared, std::size_t begin,
               std::size_t end) {
    for (std::size_t i = begin; i < end;) {
      std::size_t run = i + 1;
      while (run < end && shared[run] == order_) ++run;
      writer_.entry(corpus_.token(positions[i]), static_cast<std::uint32_t>(run - i));
      i = run;
    }
  }

  const SentencesView& sentences_;
  const Corpus& corpus_;
  std::size_t order_;
  Workspace& work_;
  std::vector<ClassLevel> levels_;
  LevelWriter<ClassLevel> writer_;
  std::vector<std::uint32_t> lengths_;  // of the classes that are open
};

// Every chunk with as many levels, the last of them not empty everywhere; returns the number of levels below the root.
std::size_t even_levels(std::vector<std::vector<ClassLevel>>& chunks) {
  std::size_t n = 0;
  for (const auto& levels : chunks)
    for (std::size_t k = 0; k < levels.size(); ++k)
      if (!levels[k].context_word.empty()) n = std::max(n, k + 1);
  for (auto& levels : chunks) levels.resize(n);
  return n;
}

}  // namespace

std::size_t longest_ngram(const SentencesView& sentences) {
  sentences.check();
  std::size_t longest = 1;
  for (std::size_t s = 0; s < sentences.n_sentences(); ++s)
    longest = std::max(longest, sentences.sentence_at(s + 1) - sentences.sentence_at(s) + 1);
  return longest;
}

SuffixTreeArrays build_suffix_tree(ThreadPool& pool, const SentencesView& sentences, std::size_t order) {
  const std::size_t longest = longest_ngram(sentences);
  if (order < 1 || order > longest)
    throw InvalidInput("order " + std::to_string(order) + ": the longest n-gram of the text has " +
                       std::to_string(longest) + " words; use order=None or at most " + std::to_string(longest));
  const std::size_t n_tokens = sentences.n_predicted();
  Corpus corpus = make_corpus(pool, sentences, {0, n_tokens}, order);
  std::vector<std::uint32_t> word_counts(sentences.n_words, 0);
  count_words(corpus, word_counts);
  std::vector<std::vector<ClassLevel>> levels;
  if (order > 1) {
    Buckets buckets = distribute(pool, corpus);
    const std::vector<BucketChunk> chunks = cut_buckets(buckets);
    levels.resize(chunks.size());
    run_largest_first<Workspace>(pool, chunks, corpus, order, [&](std::size_t c, Workspace& workspace) {
      ChunkWriter writer(sentences, corpus, order, workspace);
      buckets.each(chunks[c], [&](std::size_t, std::span<std::uint32_t> positions) { writer.bucket(positions); });
      levels[c] = writer.take();
    });
  }
  Joiner<ClassLevel> joiner(pool, levels, even_levels(levels) + 1, sentences.n_words);
  SuffixTreeArrays tree;
  tree.trie = joiner.join();
  joiner.join_contexts(tree.context_length, &ClassLevel::context_length);
  joiner.join_contexts(tree.context_end, &ClassLevel::context_end);
  write_root(tree.trie, word_counts, n_tokens);
  tree.text = std::move(corpus.text);
  return tree;
}

}  // namespace loglinear::suffix
