// Tokens sorted by their n-grams.
//
// The corpus is one run of words in which a single `<s>` (number V) stands before the first sentence and after each: as
// a history it is `<s>`, as a token to predict it is `</s>`. A token is a position of it. Tokens are distributed by the
// word before them (a counting sort) into buckets; a bucket is sorted by the older words of the history, the most
// recent first, and last by the token itself. Keys hold as many words as fit into 64 bits; only ties look further.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "util/pages.hh"
#include "util/reused.hh"
#include "util/thread_pool.hh"

namespace loglinear::trie {

// Word numbers and where sentences begin; what Sentences of src/loglinear/data/sentences.py holds.
struct SentencesView {
  std::size_t n_words = 0;                     // V
  std::span<const std::uint32_t> words;        // [n_tokens], each below V
  std::span<const std::int64_t> sentence_ptr;  // [n_sentences + 1]

  std::size_t n_sentences() const { return sentence_ptr.size() - 1; }
  std::size_t n_predicted() const { return words.size() + n_sentences(); }  // words and ends of sentences
  // Throws InvalidInput for pointers that do not cut the words into sentences, or too much of anything.
  void check() const;

  // Sentence s is at [sentence_at(s), sentence_at(s + 1)) of a whole Corpus, the mark after it included.
  std::size_t sentence_at(std::size_t s) const { return static_cast<std::size_t>(sentence_ptr[s]) + s + 1; }
  std::size_t sentence_of(std::size_t p) const;  // the sentence that position p >= 1 is in
};

inline constexpr std::size_t kMaxOrder = 255;
inline constexpr std::size_t kMaxNumber = 0xFFFFFFFEu;  // the largest number of tokens, contexts or entries

struct Corpus {
  std::size_t n_words = 0;    // V
  Pages<std::uint32_t> text;  // [n_tokens + n_sentences + 1] for the whole
  std::size_t first = 1;      // tokens before are there as history only

  std::uint32_t begin_word() const { return static_cast<std::uint32_t>(n_words); }
  std::uint32_t token(std::size_t p) const { return text[p] == n_words ? 0 : text[p]; }
  std::size_t n_predicted() const { return text.size() - first; }  // tokens with the ends of sentences
};

// Tokens [begin, end) of sentences that were checked, ends of sentences counted, and as much history before them as an
// n-gram of the order reaches. Throws InvalidInput for a word number of V or more, with the sentence.
Corpus make_corpus(ThreadPool& pool, const SentencesView& sentences, Range tokens, std::size_t order);

// Buckets put together into chunks of work of similar size, whatever the threads.
struct BucketChunk {
  std::size_t begin, end;  // words
  std::size_t n_tokens;
};

struct Buckets {
  Pages<std::uint32_t> positions;   // [n_predicted], those after word w in [start[w], start[w + 1])
  std::vector<std::uint32_t> start;  // [V + 2]

  // visit(place of the first position, positions) for the buckets of a chunk that are not empty.
  template <class Visit>
  void each(const BucketChunk& chunk, Visit visit) {
    for (std::size_t w = chunk.begin; w < chunk.end; ++w)
      if (const std::size_t first = start[w], n = start[w + 1] - first; n > 0)
        visit(first, std::span<std::uint32_t>(positions.data() + first, n));
  }
};
Buckets distribute(ThreadPool& pool, const Corpus& corpus);
std::vector<BucketChunk> cut_buckets(const Buckets& buckets);

// Runs task(chunk) for every chunk, the largest first.
void run_largest_first(ThreadPool& pool, std::span<const BucketChunk> chunks,
                       const std::function<void(std::size_t)>& task);

// The same with memory to work in: task(chunk, workspace), a Workspace(corpus, order) for every thread.
template <class Workspace, class Task>
void run_largest_first(ThreadPool& pool, std::span<const BucketChunk> chunks, const Corpus& corpus, std::size_t order,
                       Task task) {
  Reused<Workspace> workspaces;
  run_largest_first(pool, chunks, [&](std::size_t c) {
    auto workspace = workspaces.take([&] { return std::make_unique<Workspace>(corpus, order); });
    task(c, *workspace);
    workspaces.give(std::move(workspace));
  });
}

// Sorts buckets; holds the memory that this takes, for one thread. `Shared` must hold the order: std::uint8_t, or
// std::uint32_t for orders beyond kMaxOrder. Time: a look at each word of the history that a token has in common with
// another.
template <class Shared = std::uint8_t>
class BucketSorter {
 public:
  BucketSorter(const Corpus& corpus, std::size_t order);

  // Sorts the positions of one bucket. shared[i] is then the length of the history that tokens i and i - 1 have in
  // common (at most order - 1; histories that end in `<s>` count as longer than they are), and `order` where the tokens
  // are the same too; shared[0] is 0.
  void sort(std::span<std::uint32_t> positions);
  std::span<const Shared> shared() const { return shared_; }

 private:
  struct Item {
    std::uint64_t key;
    std::uint32_t position;
  };
  // Tokens [begin, end) of a bucket that share all elements before `element`; the `checked` most recent words of their
  // histories are known not to be `<s>`.
  struct Group {
    std::size_t begin, end, element, checked;
  };
  void refine(std::span<std::uint32_t> positions, Group group);
  bool fill(std::span<const std::uint32_t> positions, std::size_t begin, std::size_t end, std::size_t element,
            std::size_t n);

  const Corpus& corpus_;
  std::size_t n_elements_;  // of a key: the history but its most recent word, then the token
  unsigned bits_;           // of an element
  std::size_t per_key_;     // elements in 64 bits
  Pages<Item> items_, spare_;
  std::vector<Shared> shared_;
  std::vector<Group> groups_;  // to be refined: a stack, since histories may be long
};

extern template class BucketSorter<std::uint8_t>;
extern template class BucketSorter<std::uint32_t>;

}  // namespace loglinear::trie
