#include "trie/sort.hh"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "util/errors.hh"
#include "util/radix_sort.hh"

namespace loglinear::trie {

void SentencesView::check() const {
  if (n_words < 1 || n_words > kMaxNumber)
    throw InvalidInput("sentences: n_words must be between 1 (</s> is a word) and 4294967294");
  if (sentence_ptr.empty())
    throw InvalidInput("sentences: sentence_ptr is empty; it needs one entry more than there are sentences");
  if (sentence_ptr.front() != 0 || sentence_ptr.back() != static_cast<std::int64_t>(words.size()))
    throw InvalidInput("sentences: sentence_ptr must start at 0 and end at the number of words");
  if (words.size() > kMaxNumber || n_sentences() > kMaxNumber - words.size())
    throw InvalidInput("sentences: more than 4294967294 words and ends of sentences; train on fewer");
  for (std::size_t s = 0; s < n_sentences(); ++s)
    if (sentence_ptr[s + 1] < sentence_ptr[s])
      throw InvalidInput("sentences: sentence_ptr decreases at sentence " + std::to_string(s));
}

std::size_t SentencesView::sentence_of(std::size_t p) const {
  std::size_t low = 0, high = n_sentences();
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (sentence_at(middle + 1) <= p) low = middle + 1;
    else high = middle;
  }
  return low;
}

namespace {

// Copies the part of sentence s that lies in [begin, end) of the whole text; text[0] is position `begin`.
void copy_sentence(const SentencesView& sentences, std::size_t s, Range piece, Corpus& corpus) {
  const std::size_t at = sentences.sentence_at(s), mark = sentences.sentence_at(s + 1) - 1;
  const std::size_t begin = std::max(at, piece.begin), end = std::min(mark, piece.end);
  std::uint32_t* const text = corpus.text.data();
  std::uint32_t largest = 0;
  for (std::size_t p = begin; p < end; ++p)
    largest = std::max(largest, text[p - piece.begin] = sentences.words[p - 1 - s]);
  if (mark >= piece.begin && mark < piece.end) text[mark - piece.begin] = corpus.begin_word();
  if (begin < end && largest >= corpus.n_words)
    throw InvalidInput("sentences: word number " + std::to_string(largest) + " in sentence " + std::to_string(s) +
                       " is outside [0, " + std::to_string(corpus.n_words) + ")");
}

}  // namespace

Corpus make_corpus(ThreadPool& pool, const SentencesView& sentences, Range tokens, std::size_t order) {
  const std::size_t history = std::max<std::size_t>(order, 2) - 1;
  const Range piece{tokens.begin + 1 > history ? tokens.begin + 1 - history : 0, tokens.end + 1};
  Corpus corpus;
  corpus.n_words = sentences.n_words;
  corpus.first = tokens.begin + 1 - piece.begin;
  corpus.text.resize(piece.end - piece.begin);
  if (piece.begin == 0) corpus.text[0] = corpus.begin_word();
  if (tokens.begin == tokens.end) return corpus;
  const std::size_t first = piece.begin == 0 ? 0 : sentences.sentence_of(piece.begin);
  const std::size_t last = sentences.sentence_of(tokens.end) + 1;
  parallel_for(pool, last - first, 1 << 13, [&](std::size_t begin, std::size_t end) {
    for (std::size_t s = first + begin; s < first + end; ++s) copy_sentence(sentences, s, piece, corpus);
  });
  return corpus;
}

Buckets distribute(ThreadPool& pool, const Corpus& corpus) {
  const std::size_t n = corpus.n_predicted(), n_buckets = corpus.n_words + 1;
  const std::uint32_t* const before = corpus.text.data() + corpus.first - 1;  // the word before each token
  // A table of counters for each part, which together need not be larger than the positions.
  const std::size_t n_parts =
      std::clamp<std::size_t>(n / n_buckets, 1, static_cast<std::size_t>(pool.size()));
  const std::size_t part_size = std::max<std::size_t>(chunk_count(n, n_parts), 1);
  std::vector<std::vector<std::uint32_t>> place(n_parts);
  Buckets buckets;
  buckets.positions.resize(n);
  buckets.start.assign(n_buckets + 1, 0);
  pool.run(n_parts, [&](std::size_t part) {
    place[part].assign(n_buckets, 0);
    for (std::size_t p = part * part_size; p < std::min(n, (part + 1) * part_size); ++p)
      ++place[part][before[p]];
  });
  std::uint32_t sum = 0;
  for (std::size_t w = 0; w < n_buckets; ++w) {
    buckets.start[w] = sum;
    for (auto& counts : place) sum += std::exchange(counts[w], sum);
  }
  buckets.start[n_buckets] = sum;
  pool.run(n_parts, [&](std::size_t part) {
    for (std::size_t p = part * part_size; p < std::min(n, (part + 1) * part_size); ++p)
      buckets.positions[place[part][before[p]]++] = static_cast<std::uint32_t>(p + corpus.first);
  });
  return buckets;
}

std::vector<BucketChunk> cut_buckets(const Buckets& buckets) {
  constexpr std::size_t kChunks = 64, kSmallest = 1 << 16;
  const std::size_t size = std::max(kSmallest, buckets.positions.size() / kChunks);
  std::vector<BucketChunk> chunks;
  std::size_t begin = 0;
  for (std::size_t w = 0; w + 1 < buckets.start.size(); ++w) {
    const std::size_t n_tokens = buckets.start[w + 1] - buckets.start[begin];
    if (n_tokens < size && w + 2 < buckets.start.size()) continue;
    if (n_tokens > 0) chunks.push_back({begin, w + 1, n_tokens});
    begin = w + 1;
  }
  return chunks;
}

void run_largest_first(ThreadPool& pool, std::span<const BucketChunk> chunks,
                       const std::function<void(std::size_t)>& task) {
  std::vector<std::size_t> turn(chunks.size());
  std::iota(turn.begin(), turn.end(), std::size_t{0});
  std::stable_sort(turn.begin(), turn.end(),
                   [&](std::size_t a, std::size_t b) { return chunks[a].n_tokens > chunks[b].n_tokens; });
  pool.run(turn.size(), [&](std::size_t i) { task(turn[i]); });
}

template <class Shared>
BucketSorter<Shared>::BucketSorter(const Corpus& corpus, std::size_t order)
    : corpus_(corpus), n_elements_(order - 1), bits_(static_cast<unsigned>(std::bit_width(corpus.n_words))),
      per_key_(std::min<std::size_t>(64 / bits_, std::max<std::size_t>(n_elements_, 1))) {
  if (order > std::numeric_limits<Shared>::max()) throw InvalidInput("trie: the order is too high to sort by");
}

template <class Shared>
void BucketSorter<Shared>::sort(std::span<std::uint32_t> positions) {
  if (items_.size() < positions.size()) {
    release(items_);  // before there are more, so that they are not held twice
    items_.resize(positions.size());
  }
  shared_.resize(positions.size());
  if (positions.empty()) return;
  groups_.assign(1, {0, positions.size(), 0, 0});
  while (!groups_.empty()) {
    const Group group = groups_.back();
    groups_.pop_back();
    refine(positions, group);
  }
  shared_[0] = 0;
}

// Keys of elements [element, element + n).
template <class Shared>
bool BucketSorter<Shared>::fill(std::span<const std::uint32_t> positions, std::size_t begin, std::size_t end,
                                std::size_t element, std::size_t n) {
  constexpr std::size_t kAhead = 16;
  const std::uint32_t* const text = corpus_.text.data();
  const std::uint32_t begin_word = corpus_.begin_word();
  bool all_equal = true;
  for (std::size_t i = begin; i < end; ++i) {
    if (i + kAhead < end) __builtin_prefetch(text + positions[i + kAhead]);
    const std::uint32_t* const token = text + positions[i];
    std::uint64_t key = 0;
    std::size_t e = element;
    const std::size_t last = std::min(element + n, n_elements_ - 1);
    bool over = false;  // a history that had come to its `<s>` before is not asked for any more of it
    for (; e < last; ++e) {
      const std::uint32_t word = over ? begin_word : *(token - 2 - e);
      over = word == begin_word;
      key = key << bits_ | word;
    }
    if (e < element + n) key = key << bits_ | (*token == begin_word ? 0 : *token);
    items_[i] = {key, positions[i]};
    all_equal &= key == items_[begin].key;
  }
  return all_equal;
}

// Sorts a group by its next elements; the tokens that share those too become groups.
template <class Shared>
void BucketSorter<Shared>::refine(std::span<std::uint32_t> positions, Group group) {
  const auto [begin, end, reached, checked] = group;
  const std::uint32_t* const text = corpus_.text.data();
  std::size_t element = reached;
  // A history that has come to its `<s>` has nothing left but the token.
  for (std::size_t k = checked + 1; k <= reached + 1 && reached < n_elements_; ++k)
    if (text[positions[begin] - k] == corpus_.begin_word()) {
      element = std::max(element, n_elements_ - 1);
      break;
    }
  if (element >= n_elements_) {
    std::fill(shared_.begin() + static_cast<std::ptrdiff_t>(begin + 1),
              shared_.begin() + static_cast<std::ptrdiff_t>(end), static_cast<Shared>(n_elements_ + 1));
    return;
  }
  const std::size_t n = std::min(per_key_, n_elements_ - element);
  const unsigned used = static_cast<unsigned>(n) * bits_;
  if (!fill(positions, begin, end, element, n)) {
    sort_by_key(std::span(items_).subspan(begin, end - begin), used, spare_, [](const Item& item) { return item.key; });
    for (std::size_t i = begin; i < end; ++i) positions[i] = items_[i].position;
  }
  std::uint64_t before = items_[begin].key;
  for (std::size_t i = begin; i < end;) {
    const std::uint64_t key = items_[i].key;
    std::size_t run = i + 1;
    while (run < end && items_[run].key == key) ++run;
    if (run > i + 1) groups_.push_back({i, run, element + n, reached + 1});
    if (i > begin) {
      const unsigned equal_bits = static_cast<unsigned>(std::countl_zero(before ^ key)) - (64 - used);
      shared_[i] = static_cast<Shared>(element + 1 + equal_bits / bits_);
    }
    before = key;
    i = run;
  }
}

template class BucketSorter<std::uint8_t>;
template class BucketSorter<std::uint32_t>;

}  // namespace loglinear::trie
