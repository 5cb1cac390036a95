// This file is long because fitting, counting and hashing n-grams share their ways through texts and rows.
#include "text/text_ngrams.hh"

#include <algorithm>
#include <limits>
#include <queue>
#include <string>
#include <utility>

#include "text/char_ngrams.hh"
#include "util/errors.hh"
#include "util/words.hh"

namespace loglinear::text {

namespace {

constexpr std::int32_t kDropped = -1;
constexpr std::int64_t kMaxFeatures = std::numeric_limits<std::int32_t>::max();

[[noreturn]] void refuse_number() {
  throw InvalidInput("too many distinct n-grams; use fewer orders, a larger min_count, or hash_size");
}

// Numbers that cut n items, of which item i starts at begin(i), into runs of about `size`.
template <class Begin>
std::vector<std::size_t> cut(std::size_t n, std::int64_t size, Begin begin) {
  std::vector<std::size_t> cuts{0};
  for (std::size_t i = 1; i < n; ++i)
    if (begin(i) - begin(cuts.back()) >= size) cuts.push_back(i);
  if (n) cuts.push_back(n);
  return cuts;
}

std::vector<std::size_t> cut_texts(const ThreadPool& pool, Strings texts) {
  const auto total = static_cast<std::int64_t>(texts.blob.size());
  const std::int64_t size = std::clamp<std::int64_t>(total / (4 * pool.size()), 1 << 16, 1 << 23);
  return cut(texts.size(), size, [&](std::size_t i) { return texts.offsets[i]; });
}

// emit(word) for every word of the text that is no stop word.
template <class Emit>
void for_each_kept_word(std::string_view text, const StringIndex* stop_words, Emit emit) {
  for_each_word(text, [&](std::string_view word) {
    if (!stop_words || stop_words->find(word) < 0) emit(word);
  });
}

// All texts as numbers of words, or of character n-grams.
struct Tokens {
  std::vector<std::int64_t> begin;  // [n_texts + 1]
  std::vector<std::int32_t> words;  // [n_tokens], kDropped for rare ones
  PackedStrings names;              // of the words that are kept

  std::string_view name(std::int64_t token) const {
    return names[static_cast<std::size_t>(words[static_cast<std::size_t>(token)])];
  }
};

// make_each() gives a function that calls emit(string) for the words of a text.
template <class MakeEach>
Tokens number_words(ThreadPool& pool, Strings texts, std::int64_t min_count, MakeEach make_each) {
  struct Chunk {
    Interner interner;
    std::vector<std::int32_t> words;  // numbers of this chunk
    std::vector<std::int64_t> counts;
    std::vector<std::int32_t> map;    // to the numbers of all
  };
  const std::vector<std::size_t> cuts = cut_texts(pool, texts);
  std::vector<Chunk> chunks(cuts.size() - 1);
  Tokens tokens;
  tokens.begin.resize(texts.size() + 1);
  pool.run(chunks.size(), [&](std::size_t c) {
    Chunk& chunk = chunks[c];
    auto each = make_each();
    for (std::size_t t = cuts[c]; t < cuts[c + 1]; ++t) {
      const std::size_t before = chunk.words.size();
      each(texts[t], [&](std::string_view word) {
        const std::int32_t id = chunk.interner.intern(word);
        if (static_cast<std::size_t>(id) == chunk.counts.size()) chunk.counts.push_back(0);
        ++chunk.counts[static_cast<std::size_t>(id)];
        chunk.words.push_back(id);
      });
      tokens.begin[t + 1] = static_cast<std::int64_t>(chunk.words.size() - before);
    }
  });
  for (std::size_t t = 0; t < texts.size(); ++t) tokens.begin[t + 1] += tokens.begin[t];

  Interner all;
  std::vector<std::int64_t> counts;
  for (Chunk& chunk : chunks) {
    const PackedStrings& strings = chunk.interner.strings();
    for (std::size_t i = 0; i < strings.size(); ++i) {
      const std::int32_t id = all.intern(strings[i]);
      if (static_cast<std::size_t>(id) == counts.size()) counts.push_back(0);
      counts[static_cast<std::size_t>(id)] += chunk.counts[i];
      chunk.map.push_back(id);
    }
    chunk.interner = Interner();
  }
  std::vector<std::int32_t> kept(counts.size(), kDropped);
  std::int32_t n_kept = 0;
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] >= min_count) {
      kept[i] = n_kept++;
      tokens.names.push_back(all.strings()[i]);
    }
  tokens.words.resize(static_cast<std::size_t>(tokens.begin.back()));
  pool.run(chunks.size(), [&](std::size_t c) {
    std::int32_t* out = tokens.words.data() + tokens.begin[cuts[c]];
    for (std::int32_t word : chunks[c].words)
      *out++ = kept[static_cast<std::size_t>(chunks[c].map[static_cast<std::size_t>(word)])];
    chunks[c] = Chunk();
  });
  return tokens;
}

// The n-grams of one order that are kept.
struct Order {
  std::vector<std::int32_t> ids;    // [n_tokens], of the n-gram that starts at each token; kDropped where none does
  std::vector<std::int64_t> first;  // [n_kept], token where each first starts, ascending
};

// The n-grams of one slice of the hash space. Keys are mixed pairs: equal keys are equal n-grams.
class Shard {
 public:
  std::vector<std::int64_t> first;  // [n], ascending

  void prefetch(std::uint64_t key) const { __builtin_prefetch(&slots_[key & (slots_.size() - 1)], 1); }

  std::uint32_t add(std::uint64_t key, std::int64_t position) {
    Slot& slot = slots_[locate(slots_, key)];
    if (slot.entry != kEmpty) {
      if (slot.count != kEmpty) ++slot.count;
      return slot.entry;
    }
    const auto entry = static_cast<std::uint32_t>(first.size());
    slot = {key, 1, entry};
    first.push_back(position);
    if (first.size() * 5 > slots_.size() * 3) grow();
    return entry;
  }

  // Whether each entry occurred min_count times; frees the table.
  std::vector<bool> frequent(std::int64_t min_count) {
    std::vector<bool> result(first.size());
    for (const Slot& slot : slots_)
      if (slot.entry != kEmpty) result[slot.entry] = slot.count >= min_count;
    slots_ = {};
    return result;
  }

 private:
  static constexpr std::uint32_t kEmpty = 0xFFFFFFFF;
  struct Slot {
    std::uint64_t key = 0;
    std::uint32_t count = 0, entry = kEmpty;
  };

  static std::size_t locate(const std::vector<Slot>& slots, std::uint64_t key) {
    const std::size_t mask = slots.size() - 1;
    std::size_t at = key & mask;
    while (slots[at].entry != kEmpty && slots[at].key != key) at = (at + 1) & mask;
    return at;
  }
  void grow() {
    std::vector<Slot> larger(slots_.size() * 2);
    for (const Slot& slot : slots_)
      if (slot.entry != kEmpty) larger[locate(larger, slot.key)] = slot;
    slots_.swap(larger);
  }

  std::vector<Slot> slots_ = std::vector<Slot>(1024);
};

// Fills ids with entry * n_shards + shard for the n-grams (of `order` words) that this shard owns.
void count_shard(Shard& shard, std::uint64_t number, std::uint64_t n_shards, const Tokens& tokens,
                 const std::vector<std::int32_t>& prefixes, std::int64_t order, std::vector<std::int32_t>& ids) {
  struct Pending {
    std::uint64_t key;
    std::int64_t position;
  };
  constexpr std::size_t kBatch = 32;  // reads in flight, to hide the latency of memory
  Pending pending[kBatch];
  std::size_t n_pending = 0;
  const std::uint64_t most = static_cast<std::uint64_t>(kMaxFeatures) / n_shards - 1;
  const auto flush = [&] {
    for (std::size_t i = 0; i < n_pending; ++i) {
      const std::uint64_t entry = shard.add(pending[i].key, pending[i].position);
      if (entry > most) refuse_number();
      ids[static_cast<std::size_t>(pending[i].position)] = static_cast<std::int32_t>(entry * n_shards + number);
    }
    n_pending = 0;
  };
  for (std::size_t t = 0; t + 1 < tokens.begin.size(); ++t) {
    for (std::int64_t p = tokens.begin[t]; p + order <= tokens.begin[t + 1]; ++p) {
      const std::int32_t prefix = prefixes[static_cast<std::size_t>(p)];
      const std::int32_t word = tokens.words[static_cast<std::size_t>(p + order - 1)];
      if (prefix < 0 || word < 0) continue;
      const std::uint64_t key =
          mix_bits(static_cast<std::uint64_t>(prefix) << 32 | static_cast<std::uint32_t>(word));
      if (((key >> 32) * n_shards) >> 32 != number) continue;
      shard.prefetch(key);
      pending[n_pending++] = {key, p};
      if (n_pending == kBatch) flush();
    }
  }
  flush();
}

// The n-grams of `order` words from those of one word less.
Order extend(ThreadPool& pool, const Tokens& tokens, const std::vector<std::int32_t>& prefixes, std::int64_t order,
             std::int64_t min_count) {
  const auto n_shards = static_cast<std::uint64_t>(pool.size());
  Order result;
  result.ids.assign(tokens.words.size(), kDropped);
  std::vector<Shard> shards(n_shards);
  std::vector<std::vector<bool>> frequent(n_shards);
  pool.run(n_shards, [&](std::size_t s) {
    count_shard(shards[s], s, n_shards, tokens, prefixes, order, result.ids);
    frequent[s] = shards[s].frequent(min_count);
  });

  // Number the kept ones by first occurrence: the shards' lists ascend, so this is a merge.
  using Head = std::pair<std::int64_t, std::size_t>;  // position, shard
  std::priority_queue<Head, std::vector<Head>, std::greater<>> heads;
  std::vector<std::vector<std::int32_t>> numbers(n_shards);
  std::vector<std::size_t> next(n_shards, 0);
  const auto advance = [&](std::size_t s) {
    while (next[s] < frequent[s].size() && !frequent[s][next[s]]) ++next[s];
    if (next[s] < frequent[s].size()) heads.emplace(shards[s].first[next[s]], s);
  };
  for (std::size_t s = 0; s < n_shards; ++s) {
    numbers[s].assign(frequent[s].size(), kDropped);
    advance(s);
  }
  while (!heads.empty()) {
    const auto [position, s] = heads.top();
    heads.pop();
    numbers[s][next[s]++] = static_cast<std::int32_t>(result.first.size());
    result.first.push_back(position);
    advance(s);
  }
  parallel_for(pool, result.ids.size(), 1 << 16, [&](std::size_t begin, std::size_t end) {
    for (std::size_t p = begin; p < end; ++p)
      if (const std::int32_t id = result.ids[p]; id >= 0)
        result.ids[p] = numbers[static_cast<std::uint32_t>(id) % n_shards][static_cast<std::uint32_t>(id) / n_shards];
  });
  return result;
}

// Sorts the ids of one text and appends each with its count.
void append_counts(std::vector<std::int32_t>& ids, std::vector<std::int32_t>& indices,
                   std::vector<std::uint32_t>& counts) {
  std::sort(ids.begin(), ids.end());
  for (std::size_t i = 0; i < ids.size();) {
    std::size_t end = i + 1;
    while (end < ids.size() && ids[end] == ids[i]) ++end;
    indices.push_back(ids[i]);
    counts.push_back(static_cast<std::uint32_t>(end - i));
    i = end;
  }
  ids.clear();
}

// Rows of counts; collect(text, ids) appends the features of one text in any order. Each chunk of texts has its own
// collector, made by make_collect(), so that it may keep scratch space.
template <class MakeCollect>
CountRows count_rows(ThreadPool& pool, std::size_t n_texts, const std::vector<std::size_t>& cuts,
                     MakeCollect make_collect) {
  struct Chunk {
    std::vector<std::int32_t> indices;
    std::vector<std::uint32_t> counts;
  };
  std::vector<Chunk> chunks(cuts.size() - 1);
  CountRows rows;
  rows.indptr.resize(n_texts + 1);
  pool.run(chunks.size(), [&](std::size_t c) {
    auto collect = make_collect();
    std::vector<std::int32_t> ids;
    for (std::size_t t = cuts[c]; t < cuts[c + 1]; ++t) {
      const std::size_t before = chunks[c].indices.size();
      collect(t, ids);
      append_counts(ids, chunks[c].indices, chunks[c].counts);
      rows.indptr[t + 1] = static_cast<std::int64_t>(chunks[c].indices.size() - before);
    }
  });
  for (std::size_t t = 0; t < n_texts; ++t) rows.indptr[t + 1] += rows.indptr[t];
  rows.indices.resize(static_cast<std::size_t>(rows.indptr.back()));
  rows.values.resize(rows.indices.size());
  pool.run(chunks.size(), [&](std::size_t c) {
    const std::int64_t at = rows.indptr[cuts[c]];
    std::copy(chunks[c].indices.begin(), chunks[c].indices.end(), rows.indices.begin() + at);
    std::copy(chunks[c].counts.begin(), chunks[c].counts.end(), rows.values.begin() + at);
    chunks[c] = Chunk();
  });
  return rows;
}

// Appends the strings of the n-grams that start at the given tokens.
void append_names(ThreadPool& pool, const Tokens& tokens, const std::vector<std::int64_t>& first, std::int64_t order,
                  PackedStrings& names) {
  const std::size_t base = names.size();
  for (std::int64_t p : first) {
    std::int64_t length = order - 1;
    for (std::int64_t i = 0; i < order; ++i) length += static_cast<std::int64_t>(tokens.name(p + i).size());
    names.offsets.push_back(names.offsets.back() + length);
  }
  names.blob.resize(static_cast<std::size_t>(names.offsets.back()));
  parallel_for(pool, first.size(), 1 << 14, [&](std::size_t begin, std::size_t end) {
    for (std::size_t e = begin; e < end; ++e) {
      char* out = names.blob.data() + names.offsets[base + e];
      for (std::int64_t i = 0; i < order; ++i) {
        if (i) *out++ = ' ';
        const std::string_view word = tokens.name(first[e] + i);
        out = std::copy(word.begin(), word.end(), out);
      }
    }
  });
}

void check_orders(const std::vector<std::int32_t>& orders) {
  for (std::size_t i = 0; i < orders.size(); ++i)
    if (orders[i] < 1 || (i && orders[i] <= orders[i - 1]))
      throw InvalidInput("n-grams: orders must be positive and ascending");
}

// The names of all n-grams of one text, one after another, so that look-ups can be made a batch at a time.
class Names {
 public:
  explicit Names(const NgramKinds& kinds)
      : kinds_(kinds), characters_(kinds.char_orders, kinds.across_words) {}

  // list(n, name): n n-grams, of which name(i) is the string; called once for every order of words, then for characters
  template <class List>
  void list(std::string_view text, List list) {
    line_.clear(), begin_.clear();
    for_each_kept_word(text, kinds_.stop_words, [&](std::string_view word) { push(word, 1, ' '); });
    begin_.push_back(line_.size());
    const std::size_t n_words = begin_.size() - 1;
    for (const std::int32_t order : kinds_.orders) {
      const auto n = static_cast<std::size_t>(order);
      list(n_words < n ? 0 : n_words - n + 1,
           [&](std::size_t i) { return std::string_view(line_.data() + begin_[i], begin_[i + n] - begin_[i] - 1); });
    }
    if (kinds_.char_orders.empty()) return;
    line_.clear(), begin_.clear();
    characters_.for_each(text, [&](std::string_view name) { push(name, 0, ' '); });
    begin_.push_back(line_.size());
    list(begin_.size() - 1,
         [&](std::size_t i) { return std::string_view(line_.data() + begin_[i], begin_[i + 1] - begin_[i]); });
  }

 private:
  void push(std::string_view name, std::size_t n_after, char after) {
    begin_.push_back(line_.size());
    line_.append(name);
    line_.append(n_after, after);
  }

  const NgramKinds& kinds_;
  CharNgrams characters_;
  std::string line_;                // words with a space after each: their n-grams are parts of it
  std::vector<std::size_t> begin_;  // of each name, and one past the line's end
};

}  // namespace

void NgramKinds::check() const {
  if (orders.empty() && char_orders.empty()) throw InvalidInput("n-grams: no orders were asked for");
  check_orders(orders), check_orders(char_orders);
}

TextNgrams fit_text_ngrams(ThreadPool& pool, Strings texts, const NgramKinds& kinds, std::int64_t min_count) {
  texts.check(), kinds.check();
  TextNgrams result;
  struct Kept {  // an order that was asked for
    std::vector<std::int32_t> own;
    const Tokens* tokens;
    const std::vector<std::int32_t>* ids;
    std::int64_t order;
    std::int32_t base;  // number of its first feature
  };
  std::vector<Kept> kept;
  std::int64_t n_features = 0;
  const auto keep = [&](const Tokens& tokens, std::int64_t order, std::size_t n) {
    if (n_features + static_cast<std::int64_t>(n) > kMaxFeatures) refuse_number();
    kept.push_back(Kept{{}, &tokens, &tokens.words, order, static_cast<std::int32_t>(n_features)});
    n_features += static_cast<std::int64_t>(n);
  };

  Tokens words, characters;
  if (!kinds.orders.empty()) {
    words = number_words(pool, texts, min_count, [&] {
      return [&](std::string_view text, auto emit) { for_each_kept_word(text, kinds.stop_words, emit); };
    });
    Order current;
    for (std::int64_t order = 1; order <= kinds.orders.back(); ++order) {
      if (order > 1) current = extend(pool, words, order == 2 ? words.words : current.ids, order, min_count);
      if (!std::binary_search(kinds.orders.begin(), kinds.orders.end(), static_cast<std::int32_t>(order))) continue;
      keep(words, order, order == 1 ? words.names.size() : current.first.size());
      if (order == 1) result.names = words.names;
      else append_names(pool, words, current.first, order, result.names);
      if (order > 1) kept.back().own = order == kinds.orders.back() ? std::move(current.ids) : current.ids;
    }
  }
  if (!kinds.char_orders.empty()) {
    characters = number_words(pool, texts, min_count, [&] {
      return [grams = CharNgrams(kinds.char_orders, kinds.across_words)](std::string_view text, auto emit) mutable {
        grams.for_each(text, emit);
      };
    });
    keep(characters, 1, characters.names.size());
    for (std::size_t i = 0; i < characters.names.size(); ++i) result.names.push_back(characters.names[i]);
  }
  for (Kept& k : kept)
    if (k.order > 1) k.ids = &k.own;

  result.rows = count_rows(pool, texts.size(), cut_texts(pool, texts), [&] {
    return [&](std::size_t t, std::vector<std::int32_t>& ids) {
      for (const Kept& k : kept)
        for (std::int64_t p = k.tokens->begin[t]; p + k.order <= k.tokens->begin[t + 1]; ++p)
          if (const std::int32_t id = (*k.ids)[static_cast<std::size_t>(p)]; id >= 0) ids.push_back(k.base + id);
    };
  });
  return result;
}

CountRows count_text_ngrams(ThreadPool& pool, Strings texts, const NgramKinds& kinds, const StringIndex& vocabulary) {
  texts.check(), kinds.check();
  return count_rows(pool, texts.size(), cut_texts(pool, texts), [&] {
    return [&, names = Names(kinds)](std::size_t t, std::vector<std::int32_t>& ids) mutable {
      names.list(texts[t], [&](std::size_t n, auto name) {
        vocabulary.find_each(n, name, [&](std::int32_t id) {
          if (id >= 0) ids.push_back(id);
        });
      });
    };
  });
}

CountRows hash_text_ngrams(ThreadPool& pool, Strings texts, const NgramKinds& kinds, std::int64_t n_buckets,
                           std::span<const std::int32_t> numbers) {
  texts.check(), kinds.check();
  if (n_buckets < 1 || n_buckets > kMaxFeatures) throw InvalidInput("hashing: the number of buckets is out of range");
  if (!numbers.empty() && numbers.size() != static_cast<std::size_t>(n_buckets))
    throw InvalidInput("hashing: there must be a number for every bucket");
  const auto n_all = static_cast<std::uint64_t>(n_buckets);
  return count_rows(pool, texts.size(), cut_texts(pool, texts), [&] {
    return [&, names = Names(kinds)](std::size_t t, std::vector<std::int32_t>& ids) mutable {
      names.list(texts[t], [&](std::size_t n, auto name) {
        for (std::size_t i = 0; i < n; ++i) {
          const std::uint64_t bucket = ((hash_bytes(name(i)) >> 32) * n_all) >> 32;
          const std::int32_t id = numbers.empty() ? static_cast<std::int32_t>(bucket) : numbers[bucket];
          if (id >= 0) ids.push_back(id);
        }
      });
    };
  });
}

PackedStrings replace_words(ThreadPool& pool, Strings texts, const StringIndex& words,
                            std::span<const std::int32_t> labels, Strings names, std::string_view mark) {
  texts.check(), names.check();
  if (names.size() == 0) throw InvalidInput("word classes: there are no names of classes");
  for (const std::int32_t label : labels)
    if (label < 0 || static_cast<std::size_t>(label) >= names.size())
      throw InvalidInput("word classes: a word has the class " + std::to_string(label) + " of " +
                         std::to_string(names.size()));
  constexpr std::size_t kTexts = 64;
  std::vector<PackedStrings> pieces(chunk_count(texts.size(), kTexts));
  pool.run(pieces.size(), [&](std::size_t chunk) {
    std::string line;
    const Range range = chunk_range(texts.size(), kTexts, chunk);
    for (std::size_t t = range.begin; t < range.end; ++t) {
      line.clear();
      for_each_word(texts[t], [&](std::string_view word) {
        const std::int32_t found = words.find(word);
        const bool known = found >= 0 && static_cast<std::size_t>(found) < labels.size();
        line.append(mark);
        line.append(names[known ? static_cast<std::size_t>(labels[found]) : names.size() - 1]);
        line.push_back(' ');
      });
      pieces[chunk].push_back(line);
    }
  });
  PackedStrings out;
  for (const PackedStrings& piece : pieces)
    for (std::size_t t = 0; t < piece.size(); ++t) out.push_back(piece[t]);
  return out;
}

}  // namespace loglinear::text
