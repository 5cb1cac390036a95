#include "trie/runs.hh"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>

#include "trie/build.hh"
#include "trie/view.hh"
#include "util/errors.hh"

namespace loglinear::trie {

namespace {

using Level = TrieLevel<DiskColumn>;

std::string in_folder(const std::string& folder, const std::string& name) { return folder + "/" + name; }

Level make_level(const std::string& folder, std::size_t k) {
  const auto column = [&](const char* name) {
    return DiskColumn(in_folder(folder, "level_" + std::to_string(k) + "_" + name));
  };
  return {column("context_word"), column("context_child"), column("context_entry"), column("context_count"),
          column("entry_word"),   column("entry_parent"),  column("entry_count")};
}

// The records of one run, through a buffer.
class RunReader {
 public:
  RunReader(const ScratchFile& file, std::uint64_t first, std::uint64_t size, std::size_t record,
            std::size_t n_buffered)
      : file_(file), next_(first), end_(first + size), record_(record), n_buffered_(n_buffered) {
    load();
  }
  const std::uint32_t* record() const { return buffer_.data() + at_ * record_; }
  bool advance() {  // false at the end
    if (++at_ < n_loaded_) return true;
    return load();
  }

 private:
  bool load() {
    at_ = 0;
    n_loaded_ = static_cast<std::size_t>(std::min<std::uint64_t>(n_buffered_, end_ - next_));
    buffer_.resize(n_loaded_ * record_);
    const std::size_t bytes = record_ * sizeof(std::uint32_t);
    file_.read(buffer_.data(), n_loaded_ * bytes, next_ * bytes);
    next_ += n_loaded_;
    return n_loaded_ > 0;
  }

  const ScratchFile& file_;
  std::uint64_t next_, end_;
  std::size_t record_, n_buffered_;
  std::size_t at_ = 0, n_loaded_ = 0;
  std::vector<std::uint32_t> buffer_;
};

// use(record, count) for each distinct n-gram of all runs, in order.
template <class Use>
void merge_runs(std::vector<RunReader>& readers, std::size_t order, Use use) {
  const auto after = [&](const RunReader* a, const RunReader* b) {
    return std::lexicographical_compare(b->record(), b->record() + order, a->record(), a->record() + order);
  };
  std::vector<RunReader*> heap;
  for (RunReader& reader : readers) heap.push_back(&reader);
  std::make_heap(heap.begin(), heap.end(), after);
  std::vector<std::uint32_t> current;
  std::uint32_t count = 0;
  while (!heap.empty()) {
    RunReader* const least = heap.front();
    const std::uint32_t* const record = least->record();
    if (current.empty() || !std::equal(current.begin(), current.end(), record)) {
      if (!current.empty()) use(current.data(), count);
      current.assign(record, record + order);
      count = 0;
    }
    count += record[order];
    std::pop_heap(heap.begin(), heap.end(), after);
    if (least->advance()) std::push_heap(heap.begin(), heap.end(), after);
    else heap.pop_back();
  }
  if (!current.empty()) use(current.data(), count);
}

// One array of the result: that of the empty context, then the columns of the levels, each with a number added.
class ArrayWriter {
 public:
  ArrayWriter(const std::string& folder, const char* name) : out_(in_folder(folder, name)) {}
  void add(std::uint32_t value) { out_.push_back(value); }
  void add(DiskColumn& column, std::size_t shift) {
    const auto more = static_cast<std::uint32_t>(shift);
    column.blocks(0, column.size(), [&](std::span<const std::uint32_t> values) {
      for (const std::uint32_t value : values) out_.push_back(value + more);
    });
  }
  void finish() { out_.flush(); }

 private:
  DiskColumn out_;
};

using Shift = std::function<std::size_t(std::size_t)>;  // of the level of contexts of length k

void join(const std::string& folder, const char* name, std::span<const std::uint32_t> root, std::span<Level> levels,
          DiskColumn Level::*column, const Shift& shift, std::optional<std::size_t> last = std::nullopt) {
  ArrayWriter out(folder, name);
  for (const std::uint32_t value : root) out.add(value);
  for (std::size_t k = 1; k <= levels.size(); ++k) out.add(levels[k - 1].*column, shift(k));
  if (last) out.add(static_cast<std::uint32_t>(*last));
  out.finish();
  for (Level& level : levels) (level.*column).remove();
}

std::vector<std::int64_t> starts(std::vector<Level>& levels, std::size_t n_first, DiskColumn Level::*column) {
  std::vector<std::int64_t> result{0, static_cast<std::int64_t>(n_first)};
  for (Level& level : levels) result.push_back(result.back() + static_cast<std::int64_t>((level.*column).size()));
  if (result.back() > static_cast<std::int64_t>(kMaxNumber))
    throw InvalidInput("trie: more than 4294967294 n-grams; use a lower order, cut-offs or less text");
  return result;
}

}  // namespace

TrieRuns::TrieRuns(std::string folder, std::size_t n_words, std::size_t order)
    : folder_((check_order(order), std::move(folder))), n_words_(n_words), order_(order),
      file_(in_folder(folder_, "runs")) {
  if (n_words < 1 || n_words > kMaxNumber)
    throw InvalidInput("sentences: n_words must be between 1 (</s> is a word) and 4294967294");
  word_counts_.assign(n_words, 0);
}

void TrieRuns::add(ThreadPool& pool, const SentencesView& sentences, std::size_t piece_tokens) {
  if (finished_) throw InvalidInput("trie: nothing can be added to merged runs");
  if (piece_tokens < 1) throw InvalidInput("trie: a piece needs at least one token");
  sentences.check();
  if (sentences.n_words != n_words_)
    throw InvalidInput("sentences: blocks have " + std::to_string(n_words_) + " and " +
                       std::to_string(sentences.n_words) + " words; they need the same vocabulary");
  const std::size_t n = sentences.n_predicted();
  if (n > kMaxNumber - n_tokens_)
    throw InvalidInput("sentences: more than 4294967294 words and ends of sentences; train on fewer");
  for (std::size_t begin = 0; begin < n; begin += piece_tokens) {
    const std::size_t end = std::min(n, begin + piece_tokens);
    const Corpus corpus = make_corpus(pool, sentences, {begin, end}, order_);
    count_words(corpus, word_counts_);
    if (order_ > 1) add_piece(pool, corpus);
  }
  n_tokens_ += n;
}

void TrieRuns::add_piece(ThreadPool& pool, const Corpus& corpus) {
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
  write_run(corpus, buckets.positions, shared);
}

void TrieRuns::write_run(const Corpus& corpus, std::span<const std::uint32_t> positions,
                         std::span<const std::uint8_t> shared) {
  constexpr std::size_t kAhead = 16, kBuffer = 1 << 16;  // numbers
  const std::size_t record = order_ + 1;
  const std::uint32_t* const text = corpus.text.data();
  Run run{runs_.empty() ? 0 : runs_.back().first + runs_.back().size, 0};
  std::vector<std::uint32_t> buffer;
  const auto write = [&] {
    const std::uint64_t at = (run.first + run.size) * record * sizeof(std::uint32_t);
    file_.write(buffer.data(), buffer.size() * sizeof(std::uint32_t), at);
    run.size += buffer.size() / record;
    buffer.clear();
  };
  for (std::size_t i = 0; i < positions.size();) {
    if (i + kAhead < positions.size()) __builtin_prefetch(text + positions[i + kAhead]);
    std::size_t end = i + 1;
    while (end < positions.size() && shared[end] == order_) ++end;
    const std::uint32_t p = positions[i];
    bool over = false;
    for (std::size_t k = 1; k < order_; ++k) {
      buffer.push_back(over ? corpus.begin_word() : text[p - k]);
      over = buffer.back() == corpus.begin_word();
    }
    buffer.push_back(corpus.token(p));
    buffer.push_back(static_cast<std::uint32_t>(end - i));
    if (buffer.size() >= kBuffer) write();
    i = end;
  }
  write();
  runs_.push_back(run);
}

TrieRuns::Starts TrieRuns::finish(std::size_t buffer_bytes) {
  if (finished_) throw InvalidInput("trie: the runs are merged already");
  finished_ = true;
  std::vector<Level> levels;
  for (std::size_t k = 1; k < order_; ++k) levels.push_back(make_level(folder_, k));
  if (order_ > 1) merge(levels, buffer_bytes);
  file_.remove();
  const Starts result{starts(levels, 1, &Level::context_word), starts(levels, n_words_, &Level::entry_word)};
  join_entries(levels, result);
  join_contexts(levels, result);
  return result;
}

void TrieRuns::merge(std::span<Level> levels, std::size_t buffer_bytes) {
  const std::size_t record = order_ + 1;
  const std::size_t per_run = buffer_bytes / (std::max<std::size_t>(runs_.size(), 1) * record * sizeof(std::uint32_t));
  std::vector<RunReader> readers;
  for (const Run& run : runs_)
    if (run.size > 0) readers.emplace_back(file_, run.first, run.size, record, std::max<std::size_t>(per_run, 8));
  std::vector<std::uint32_t> slots, before(order_ - 1, kNowhere);
  TrieWriter<DiskColumn> writer(levels, n_words_, slots);
  merge_runs(readers, order_, [&](const std::uint32_t* words, std::uint32_t count) {
    const auto differ = std::mismatch(before.begin(), before.end(), words);
    const auto shared = static_cast<std::size_t>(differ.first - before.begin());
    std::copy(differ.second, words + order_ - 1, differ.first);
    writer.add(shared, [&](std::size_t k) { return words[k - 1]; }, words[order_ - 1], count);
  });
  writer.finish();
}

void TrieRuns::join_entries(std::span<Level> levels, const Starts& all) const {
  const Shift zero = [](std::size_t) { return std::size_t{0}; };
  std::vector<std::uint32_t> root(n_words_, kNowhere);
  {
    ArrayWriter parents(folder_, "entry_parent");
    for (const std::uint32_t none : root) parents.add(none);
    for (std::size_t k = 1; k < order_; ++k) {
      if (k == 1) parents.add(levels[0].entry_word, 0);  // parents of bigrams are the words
      else parents.add(levels[k - 1].entry_parent, static_cast<std::size_t>(all.entry_start[k - 1]));
      levels[k - 1].entry_parent.remove();
    }
    parents.finish();
  }
  std::iota(root.begin(), root.end(), std::uint32_t{0});
  join(folder_, "entry_word", root, levels, &Level::entry_word, zero);
  join(folder_, "entry_count", word_counts_, levels, &Level::entry_count, zero);
}

void TrieRuns::join_contexts(std::span<Level> levels, const Starts& all) const {
  const Shift zero = [](std::size_t) { return std::size_t{0}; };
  const Shift entry = [&](std::size_t k) { return static_cast<std::size_t>(all.entry_start[k]); };
  const Shift child = [&](std::size_t k) { return static_cast<std::size_t>(all.context_start[k + 1]); };
  const auto n_tokens = static_cast<std::uint32_t>(n_tokens_);
  const std::uint32_t none = kNowhere, first_entry = 0, first_child = 1;
  join(folder_, "context_word", {&none, 1}, levels, &Level::context_word, zero);
  join(folder_, "context_count", {&n_tokens, 1}, levels, &Level::context_count, zero);
  join(folder_, "context_entry", {&first_entry, 1}, levels, &Level::context_entry, entry,
       static_cast<std::size_t>(all.entry_start.back()));
  join(folder_, "context_child", {&first_child, 1}, levels, &Level::context_child, child,
       static_cast<std::size_t>(all.context_start.back()));
}

}  // namespace loglinear::trie
