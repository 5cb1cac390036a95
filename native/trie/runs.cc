#include "trie/runs.hh"

#include <algorithm>
#include <limits>

#include "disk/spool.hh"
#include "trie/build.hh"
#include "util/errors.hh"
#include "util/views.hh"

namespace loglinear::trie {

namespace {

constexpr std::size_t kBuffer = 1 << 16;  // numbers

}  // namespace

TrieRuns::TrieRuns(std::string folder, std::size_t n_words, std::size_t order)
    : n_words_(n_words), order_((check_order(order), order)), file_(std::move(folder)) {
  if (n_words < 1 || n_words > kMaxNumber)
    throw InvalidInput("sentences: n_words must be between 1 (</s> is a word) and 4294967294");
  word_counts_.assign(n_words, 0);
  sizes_.assign(n_words + 1, 0);
}

void TrieRuns::add(ThreadPool& pool, const SentencesView& sentences, std::size_t piece_tokens) {
  require(piece_tokens >= 1, "trie: a piece needs at least one token");
  sentences.check();
  if (sentences.n_words != n_words_)
    throw InvalidInput("sentences: blocks have " + std::to_string(n_words_) + " and " +
                       std::to_string(sentences.n_words) + " words; they need the same vocabulary");
  const std::size_t n = sentences.n_predicted();
  for (std::size_t begin = 0; begin < n; begin += piece_tokens)
    add_piece(pool, make_corpus(pool, sentences, {begin, std::min(n, begin + piece_tokens)}, order_));
}

void TrieRuns::add(ThreadPool& pool, const disk::TokenSpool& spool, std::uint64_t begin, std::uint64_t end,
                   std::span<const std::uint32_t> numbers, std::size_t piece_tokens) {
  require(piece_tokens >= 1 && piece_tokens < kMaxNumber - order_, "trie: a piece needs 1 to 2^32 - 2 tokens");
  require(begin <= end && end <= spool.n_predicted(), "trie: the piece is outside the text");
  for (; begin < end; begin += piece_tokens)
    add_piece(pool, spool.piece(pool, begin, std::min<std::uint64_t>(end, begin + piece_tokens), numbers, n_words_,
                                order_));
}

void TrieRuns::add_piece(ThreadPool& pool, const Corpus& corpus) {
  for (std::size_t p = corpus.first; p < corpus.text.size(); ++p) ++word_counts_[corpus.token(p)];
  n_tokens_ += corpus.n_predicted();
  if (order_ == 1) return;
  Buckets buckets = distribute(pool, corpus);
  const std::vector<BucketChunk> chunks = cut_buckets(buckets);
  Pages<std::uint8_t> shared;
  shared.resize(buckets.positions.size());
  run_largest_first<BucketSorter<>>(pool, chunks, corpus, order_, [&](std::size_t c, BucketSorter<>& sorter) {
    buckets.each(chunks[c], [&](std::size_t first, std::span<std::uint32_t> positions) {
      sorter.sort(positions);
      std::copy_n(sorter.shared().begin(), positions.size(), shared.begin() + static_cast<std::ptrdiff_t>(first));
    });
  });
  write_run(pool, corpus, buckets, chunks, shared);
}

// Every chunk is written where the distinct n-grams of those before it end.
void TrieRuns::write_run(ThreadPool& pool, const Corpus& corpus, Buckets& buckets, std::span<const BucketChunk> chunks,
                         std::span<const std::uint8_t> shared) {
  std::vector<std::uint64_t> place(chunks.size() + 1, end());
  pool.run(chunks.size(), [&](std::size_t c) {
    std::uint64_t n = 0;
    for (std::size_t w = chunks[c].begin; w < chunks[c].end; ++w) {
      std::uint64_t own = 0;
      for (std::size_t i = buckets.start[w]; i < buckets.start[w + 1]; ++i) own += shared[i] != order_;
      sizes_[w] += own;
      n += own;
    }
    place[c + 1] = n;
  });
  for (std::size_t c = 0; c < chunks.size(); ++c) place[c + 1] += place[c];
  const std::size_t record = record_size();
  const std::uint32_t* const text = corpus.text.data();
  const std::uint32_t* const positions = buckets.positions.data();
  pool.run(chunks.size(), [&](std::size_t c) {
    constexpr std::size_t kAhead = 16;
    std::vector<std::uint32_t> buffer;
    std::uint64_t at = place[c] * record * sizeof(std::uint32_t);
    const auto write = [&] {
      file_.write(buffer.data(), buffer.size() * sizeof(std::uint32_t), at);
      at += buffer.size() * sizeof(std::uint32_t);
      buffer.clear();
    };
    const std::size_t last = buckets.start[chunks[c].end];
    for (std::size_t i = buckets.start[chunks[c].begin]; i < last;) {
      if (i + kAhead < last) __builtin_prefetch(text + positions[i + kAhead]);
      std::size_t next = i + 1;
      while (next < last && shared[next] == order_) ++next;
      const std::uint32_t p = positions[i];
      bool over = false;
      for (std::size_t k = 1; k < order_; ++k) {
        buffer.push_back(over ? corpus.begin_word() : text[p - k]);
        over = buffer.back() == corpus.begin_word();
      }
      buffer.push_back(corpus.token(p));
      buffer.push_back(static_cast<std::uint32_t>(next - i));
      if (buffer.size() >= kBuffer) write();
      i = next;
    }
    write();
  });
  runs_.push_back({end(), place.back() - end()});
}

void TrieRuns::add_records(std::span<const std::uint32_t> records) {
  const std::size_t size = record_size();
  require(order_ > 1 && records.size() % size == 0, "trie: records are not of the length that the order needs");
  const std::size_t n = records.size() / size;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t* const r = records.data() + i * size;
    require(*std::max_element(r, r + order_ - 1) <= n_words_ && r[order_ - 1] < n_words_ && r[order_] > 0,
            "trie: a record has a word outside the vocabulary, or no count");
    for (std::size_t k = 1; k + 1 < order_; ++k)
      require(r[k - 1] != n_words_ || r[k] == n_words_, "trie: a record has a word before <s>");
    require(i == 0 || !std::lexicographical_compare(r, r + order_, r - size, r - size + order_),
            "trie: records are not sorted");
  }
  for (std::size_t i = 0; i < n; ++i) ++sizes_[records[i * size]];
  file_.write(records.data(), records.size_bytes(), end() * size * sizeof(std::uint32_t));
  runs_.push_back({end(), n});
}

void TrieRuns::add_words(std::span<const std::uint64_t> word_counts) {
  require(word_counts.size() == n_words_, "trie: one count is needed for every word");
  for (std::size_t w = 0; w < n_words_; ++w) word_counts_[w] += word_counts[w], n_tokens_ += word_counts[w];
}

std::uint64_t TrieRuns::lower_bound(const Run& run, std::size_t word) const {
  std::uint64_t low = run.first, high = run.first + run.size;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    std::uint32_t first;
    file_.read(&first, sizeof(first), middle * record_size() * sizeof(std::uint32_t));
    if (first < word) low = middle + 1;
    else high = middle;
  }
  return low;
}

TrieRuns::Run TrieRuns::part(const Run& run, Range words) const {
  const std::uint64_t first = lower_bound(run, words.begin);
  return {first, lower_bound(run, words.end) - first};
}

std::vector<std::uint32_t> TrieRuns::records(Range words) const {
  require(words.begin <= words.end && words.end <= n_words_ + 1, "trie: the range of words is outside the vocabulary");
  std::vector<RunReader> readers;
  for (const Run& run : runs_)
    if (const Run own = part(run, words); own.size > 0)
      readers.emplace_back(file_, own, record_size(), std::max<std::size_t>(kBuffer / record_size(), 1), false);
  std::vector<std::uint32_t> found;
  merge_records(readers, order_, [&](const std::uint32_t* ngram, std::uint64_t count) {
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
    for (; count > 0; count -= std::min(count, kMost)) {
      found.insert(found.end(), ngram, ngram + order_);
      found.push_back(static_cast<std::uint32_t>(std::min(count, kMost)));
    }
  });
  return found;
}

bool RunReader::load() {
  const std::uint64_t bytes = record_ * sizeof(std::uint32_t);
  if (consume_ && n_loaded_ > 0) file_.free((next_ - n_loaded_) * bytes, next_ * bytes);
  at_ = 0;
  n_loaded_ = static_cast<std::size_t>(std::min<std::uint64_t>(n_buffered_, end_ - next_));
  buffer_.resize(n_loaded_ * record_);
  file_.read(buffer_.data(), n_loaded_ * bytes, next_ * bytes);
  next_ += n_loaded_;
  return n_loaded_ > 0;
}

}  // namespace loglinear::trie
