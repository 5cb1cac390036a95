#include "arpa/lines.hh"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "util/errors.hh"

namespace loglinear::arpa {

using namespace backoff;
using namespace trie;
namespace {

constexpr std::size_t kRows = 1 << 15;  // lines in a chunk

struct Keyed {
  std::uint64_t key;
  std::uint32_t source;
  bool operator<(const Keyed& other) const {
    return key != other.key ? key < other.key : source < other.source;
  }
};

std::uint64_t pack(std::uint32_t number, std::uint32_t word) { return std::uint64_t{number} << 32 | word; }

// Pieces are sorted, then merged in pairs; nothing happens where all is sorted already.
void parallel_sort(ThreadPool& pool, std::vector<Keyed>& items) {
  if (std::is_sorted(items.begin(), items.end())) return;
  std::size_t size = 1 << 17;
  parallel_for(pool, items.size(), size, [&](std::size_t begin, std::size_t end) {
    std::sort(items.data() + begin, items.data() + end);
  });
  std::vector<Keyed> merged(items.size());
  for (; size < items.size(); size *= 2, items.swap(merged))
    parallel_for(pool, items.size(), 2 * size, [&](std::size_t begin, std::size_t end) {
      const Keyed* const from = items.data();
      const Keyed* const middle = from + std::min(begin + size, end);
      std::merge(from + begin, middle, middle, from + end, merged.data() + begin);
    });
}

// Numbers of keys in ascending order, from `first` on; equal keys share one. unique(key) sees each key once and
// placed(source, number, repeated) every item.
template <class Unique, class Placed>
void number_keys(const std::vector<Keyed>& items, std::uint32_t first, Unique unique, Placed placed) {
  std::size_t next = first;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const bool repeated = i > 0 && items[i].key == items[i - 1].key;
    if (!repeated) {
      if (next >= kNowhere) throw InvalidInput("more than 2^32 - 2 n-grams of one order");
      unique(items[i].key);
      ++next;
    }
    placed(items[i].source, static_cast<std::uint32_t>(next - 1), repeated);
  }
}

// Walks from the empty context along the most recent words; what the last walk found is not searched again.
class Descent {
 public:
  explicit Descent(const OwnedShape& shape) : shape_(shape) {}

  // The context whose words, in the order of the text, are words[0 .. length); kNowhere where it is not there.
  std::uint32_t find(const std::uint32_t* words, std::size_t length) {
    std::size_t k = 0;
    while (k < known_ && k < length && word_[k] == words[length - 1 - k]) ++k;
    std::uint32_t at = k ? context_[k - 1] : 0;
    for (known_ = k; k < length; ++k) {
      at = child(at, words[length - 1 - k]);
      if (at == kNowhere) return kNowhere;
      word_[k] = words[length - 1 - k];
      context_[k] = at;
      known_ = k + 1;
    }
    return at;
  }

 private:
  std::uint32_t child(std::uint32_t context, std::uint32_t word) const {
    const auto begin = shape_.context_word.begin() + shape_.context_child[context];
    const auto end = shape_.context_word.begin() + shape_.context_child[context + 1];
    const auto at = std::lower_bound(begin, end, word);
    return at != end && *at == word ? static_cast<std::uint32_t>(at - shape_.context_word.begin()) : kNowhere;
  }

  const OwnedShape& shape_;
  std::size_t known_ = 0;
  std::array<std::uint32_t, kHighestOrder> word_{}, context_{};
};

// One try at all levels; contexts that miss a shorter one are noted for another.
class Placer {
 public:
  Placer(ThreadPool& pool, std::size_t n_words, std::span<const NgramLines> lines,
         const std::vector<NgramLines>& blanks)
      : pool_(pool), lines_(lines), blanks_(blanks), order_(lines.size()), missing_(lines.size()) {
    OwnedShape& shape = placed_.shape;
    shape.order = order_, shape.n_words = n_words;
    shape.context_start = {0, 1};
    shape.context_word = {kNowhere};
    shape.context_child = {1, 1};
    placed_.lines.resize(order_);
    for (std::size_t n = 1; n <= order_; ++n) {
      placed_.lines[n - 1].entry.assign(lines_[n - 1].size(), kNowhere);
      if (n < order_) placed_.lines[n - 1].context.assign(lines_[n - 1].size(), kNowhere);
    }
  }

  bool run() {
    unigrams();
    for (std::size_t k = 1; k < order_; ++k) {
      contexts(k);
      entries(k + 1);
    }
    placed_.shape.context_entry.push_back(static_cast<std::uint32_t>(placed_.shape.entry_word.size()));
    return std::all_of(missing_.begin(), missing_.end(), [](const NgramLines& m) { return m.size() == 0; });
  }

  std::vector<NgramLines> take_missing() { return std::move(missing_); }
  PlacedLines take() { return std::move(placed_); }

 private:
  void unigrams() {
    OwnedShape& shape = placed_.shape;
    for (std::size_t w = 0; w < shape.n_words; ++w) shape.entry_word.push_back(static_cast<std::uint32_t>(w));
    shape.entry_start = {0, static_cast<std::int64_t>(shape.n_words)};
    shape.context_entry = {0};
    std::vector<bool> seen(shape.n_words);
    for (std::size_t r = 0; r < lines_[0].size(); ++r) {
      const std::uint32_t word = lines_[0].words[r];
      if (!(lines_[0].kind[r] & kEntry)) continue;
      placed_.lines[0].entry[r] = word;
      if (seen[word]) duplicate(1, r);
      seen[word] = true;
    }
  }

  void duplicate(std::size_t order, std::size_t line) {
    if (!placed_.duplicate || (placed_.duplicate->order == order && line < placed_.duplicate->line))
      placed_.duplicate = PlacedLines::Line{order, line};
  }

  // Candidates of contexts of length k: lines of order k, blanks, and the histories of entries of order k + 1.
  void contexts(std::size_t k) {
    const NgramLines &own = lines_[k - 1], &longer = lines_[k], &blanks = blanks_[k - 1];
    const std::size_t first_blank = own.size(), first_history = first_blank + blanks.size();
    if (first_history + longer.size() >= kNowhere) throw InvalidInput("more than 2^32 - 2 n-grams of one order");
    std::vector<Keyed> items;
    gather(own, k, k, kContext, 0, items, nullptr);
    gather(blanks, k, k, kContext, first_blank, items, nullptr);
    history_.resize(longer.size());
    gather(longer, k, k + 1, kEntry, first_history, items, history_.data());
    parallel_sort(pool_, items);

    std::vector<std::uint32_t> number(longer.size(), kNowhere);
    append_level(k, items, [&](std::uint32_t source, std::uint32_t context) {
      if (source >= first_history) number[source - first_history] = context;
      else if (source < first_blank) placed_.lines[k - 1].context[source] = context;
    });
    parallel_for(pool_, history_.size(), kRows, [&](std::size_t begin, std::size_t end) {
      for (std::size_t r = begin; r < end; ++r) history_[r] = history_[r] == kNowhere ? kNowhere : number[history_[r]];
    });
  }

  // Keys of the first k words of each line of a kind. Where `runs` is given, lines with the history of the line before
  // add no key; runs[r] is the line that did.
  void gather(const NgramLines& lines, std::size_t k, std::size_t order, std::uint8_t kind, std::size_t first,
              std::vector<Keyed>& items, std::uint32_t* runs) {
    const std::size_t n_chunks = chunk_count(lines.size(), kRows);
    std::vector<std::vector<Keyed>> found(n_chunks);
    std::vector<std::vector<std::uint32_t>> lost(n_chunks);
    pool_.run(n_chunks, [&](std::size_t chunk) {
      const Range rows = chunk_range(lines.size(), kRows, chunk);
      Descent descent(placed_.shape);
      const std::uint32_t* last = nullptr;
      std::uint32_t run = kNowhere;
      for (std::size_t r = rows.begin; r < rows.end; ++r) {
        if (runs) runs[r] = kNowhere;
        if (!(lines.kind[r] & kind)) continue;
        const std::uint32_t* const words = lines.words.data() + r * order;
        if (!runs || !last || !std::equal(words, words + k, last)) {
          run = static_cast<std::uint32_t>(r);
          const std::uint32_t parent = descent.find(words + 1, k - 1);
          if (parent == kNowhere) lost[chunk].push_back(run);
          else found[chunk].push_back({pack(parent, words[0]), static_cast<std::uint32_t>(first + r)});
        }
        last = words;
        if (runs) runs[r] = run;
      }
    });
    for (const auto& part : found) items.insert(items.end(), part.begin(), part.end());
    for (const auto& part : lost)
      for (const std::uint32_t r : part) note_missing(lines.words.data() + std::size_t{r} * order, k);
  }

  // All that the context words[0 .. k) ends in.
  void note_missing(const std::uint32_t* words, std::size_t k) {
    for (std::size_t length = 1; length < k; ++length) {
      NgramLines& missing = missing_[length - 1];
      missing.words.insert(missing.words.end(), words + k - length, words + k);
      missing.kind.push_back(kContext);
    }
  }

  template <class Placed>
  void append_level(std::size_t k, const std::vector<Keyed>& items, Placed placed) {
    OwnedShape& shape = placed_.shape;
    const auto parents_begin = static_cast<std::size_t>(shape.context_start[k - 1]);
    const auto first = static_cast<std::size_t>(shape.context_start[k]);
    std::vector<std::uint32_t>& child = shape.context_child;
    std::size_t parent = parents_begin;  // whose children are being appended
    child.resize(first);
    const auto open_until = [&](std::size_t last) {  // parents up to `last` begin where the level now ends
      for (; parent <= last; ++parent) child[parent] = static_cast<std::uint32_t>(shape.context_word.size());
    };
    number_keys(
        items, static_cast<std::uint32_t>(first),
        [&](std::uint64_t key) {
          open_until(key >> 32);
          shape.context_word.push_back(static_cast<std::uint32_t>(key));
        },
        [&](std::uint32_t source, std::uint32_t number, bool) { placed(source, number); });
    if (first > 0) open_until(first - 1);
    shape.context_start.push_back(static_cast<std::int64_t>(shape.context_word.size()));
    child.resize(shape.context_word.size() + 1, static_cast<std::uint32_t>(shape.context_word.size()));
  }

  // Entries of order n, whose contexts are in history_; kNowhere there only where another try will follow.
  void entries(std::size_t n) {
    const NgramLines& lines = lines_[n - 1];
    OwnedShape& shape = placed_.shape;
    std::vector<Keyed> items;
    items.reserve(lines.size());
    for (std::size_t r = 0; r < lines.size(); ++r)
      if (history_[r] != kNowhere)
        items.push_back({pack(history_[r], lines.words[r * n + n - 1]), static_cast<std::uint32_t>(r)});
    parallel_sort(pool_, items);
    const auto level_end = static_cast<std::size_t>(shape.context_start[n]);
    if (shape.entry_word.size() + items.size() >= kNowhere) throw InvalidInput("more than 2^32 - 2 n-grams");
    const auto open_until = [&](std::size_t end) {  // contexts before `end` begin where the entries now end
      while (shape.context_entry.size() < end)
        shape.context_entry.push_back(static_cast<std::uint32_t>(shape.entry_word.size()));
    };
    open_until(static_cast<std::size_t>(shape.context_start[n - 1]));
    number_keys(
        items, static_cast<std::uint32_t>(shape.entry_word.size()),
        [&](std::uint64_t key) {
          open_until((key >> 32) + 1);
          shape.entry_word.push_back(static_cast<std::uint32_t>(key));
        },
        [&](std::uint32_t source, std::uint32_t number, bool repeated) {
          placed_.lines[n - 1].entry[source] = number;
          if (repeated) duplicate(n, source);
        });
    open_until(level_end);
    shape.entry_start.push_back(static_cast<std::int64_t>(shape.entry_word.size()));
  }

  ThreadPool& pool_;
  std::span<const NgramLines> lines_;
  const std::vector<NgramLines>& blanks_;
  std::size_t order_;
  std::vector<NgramLines> missing_;     // [order]
  std::vector<std::uint32_t> history_;  // [n_lines] of the order in hand: the context of each entry
  PlacedLines placed_;
};

void check_lines(ThreadPool& pool, std::size_t n_words, std::span<const NgramLines> lines) {
  if (lines.empty() || lines.size() > kHighestOrder) throw InvalidInput("n-grams: the order must be between 1 and 255");
  if (n_words < 1 || n_words >= kNowhere) throw InvalidInput("n-grams: there must be between 1 and 2^32 - 2 words");
  for (std::size_t n = 1; n <= lines.size(); ++n) {
    const NgramLines& own = lines[n - 1];
    if (own.size() >= kNowhere || own.words.size() != own.size() * n)
      throw InvalidInput("n-grams: words do not fit the number of lines of order " + std::to_string(n));
    parallel_for(pool, own.size(), kRows, [&](std::size_t begin, std::size_t end) {
      for (std::size_t r = begin; r < end; ++r) {
        if (own.kind[r] == kIgnored) continue;
        for (std::size_t i = 0; i < n; ++i) {
          const bool may_begin = i == 0 && !(n == 1 && own.kind[r] & kEntry);
          if (own.words[r * n + i] >= n_words + (may_begin ? 1 : 0))
            throw InvalidInput("n-grams: line " + std::to_string(r) + " of order " + std::to_string(n) +
                               " has a word outside the vocabulary, or <s> where it cannot be");
        }
      }
    });
  }
}

}  // namespace

PlacedLines place_lines(ThreadPool& pool, std::size_t n_words, std::span<const NgramLines> lines) {
  check_lines(pool, n_words, lines);
  std::vector<NgramLines> blanks(lines.size());
  for (int attempt = 0;; ++attempt) {
    Placer placer(pool, n_words, lines, blanks);
    if (placer.run()) return placer.take();
    if (attempt == 1) throw InvalidInput("n-grams: contexts could not be completed");  // the first try finds all
    blanks = placer.take_missing();
  }
}

}  // namespace loglinear::arpa
