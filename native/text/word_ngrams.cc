#include "text/word_ngrams.hh"

#include <algorithm>
#include <limits>
#include <queue>
#include <string>
#include <utility>

#include "util/errors.hh"
#include "util/words.hh"

namespace loglinear::text {

namespace {

constexpr std::int32_t kDropped = -1;
constexpr std::int64_t kMaxFeatures = std::numeric_limits<std::int32_t>::max();

void check_orders(std::span<const std::int32_t> orders) {
  if (orders.empty()) throw InvalidInput("word n-grams: no orders were asked for");
  for (std::size_t i = 0; i < orders.size(); ++i)
    if (orders[i] < 1 || (i && orders[i] <= orders[i - 1]))
      throw InvalidInput("word n-grams: orders must be positive and ascending");
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

// All texts as numbers of words.
struct Tokens {
  std::vector<std::int64_t> begin;  // [n_texts + 1]
  std::vector<std::int32_t> words;  // [n_tokens], kDropped for rare ones
  PackedStrings names;              // of the words that are kept

  std::string_view name(std::int64_t token) const {
    return names[static_cast<std::size_t>(words[static_cast<std::size_t>(token)])];
  }
};

Tokens number_words(ThreadPool& pool, Strings texts, std::int64_t min_count) {
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
    for (std::size_t t = cuts[c]; t < cuts[c + 1]; ++t) {
      const std::size_t before = chunk.words.size();
      for_each_word(texts[t], [&](std::string_view word) {
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
      if (entry > most) throw InvalidInput("too many distinct word n-grams; use fewer orders or a larger min_count");
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

}  // namespace

WordNgrams fit_word_ngrams(ThreadPool& pool, Strings texts, std::span<const std::int32_t> orders,
                           std::int64_t min_count) {
  texts.check();
  check_orders(orders);
  const Tokens tokens = number_words(pool, texts, min_count);

  WordNgrams result;
  struct Kept {  // an order that was asked for
    std::vector<std::int32_t> own;
    const std::vector<std::int32_t>* ids;
    std::int64_t order;
    std::int32_t base;  // number of its first feature
  };
  std::vector<Kept> kept;
  std::int64_t n_features = 0;
  Order current;
  for (std::int64_t order = 1; order <= orders.back(); ++order) {
    if (order > 1) current = extend(pool, tokens, order == 2 ? tokens.words : current.ids, order, min_count);
    if (!std::binary_search(orders.begin(), orders.end(), static_cast<std::int32_t>(order))) continue;
    const auto n = static_cast<std::int64_t>(order == 1 ? tokens.names.size() : current.first.size());
    if (n_features + n > kMaxFeatures)
      throw InvalidInput("too many distinct word n-grams; use fewer orders or a larger min_count");
    if (order == 1) result.names = tokens.names;
    else append_names(pool, tokens, current.first, order, result.names);
    Kept k{{}, &tokens.words, order, static_cast<std::int32_t>(n_features)};
    if (order > 1) k.own = order == orders.back() ? std::move(current.ids) : current.ids;
    kept.push_back(std::move(k));
    n_features += n;
  }
  for (Kept& k : kept)
    if (k.order > 1) k.ids = &k.own;

  const auto cuts = cut(texts.size(), 1 << 15, [&](std::size_t t) { return tokens.begin[t]; });
  result.rows = count_rows(pool, texts.size(), cuts, [&] {
    return [&](std::size_t t, std::vector<std::int32_t>& ids) {
      for (const Kept& k : kept)
        for (std::int64_t p = tokens.begin[t]; p + k.order <= tokens.begin[t + 1]; ++p)
          if (const std::int32_t id = (*k.ids)[static_cast<std::size_t>(p)]; id >= 0) ids.push_back(k.base + id);
    };
  });
  return result;
}

CountRows count_word_ngrams(ThreadPool& pool, Strings texts, std::span<const std::int32_t> orders,
                            const StringIndex& vocabulary) {
  texts.check();
  check_orders(orders);
  struct Collect {
    Strings texts;
    std::span<const std::int32_t> orders;
    const StringIndex& vocabulary;
    std::string line;                // the words of one text joined by single spaces: n-grams are parts of it
    std::vector<std::size_t> begin;  // of each word, and one past the line's end

    void operator()(std::size_t t, std::vector<std::int32_t>& ids) {
      line.clear();
      begin.clear();
      for_each_word(texts[t], [&](std::string_view word) {
        begin.push_back(line.size());
        line.append(word);
        line.push_back(' ');
      });
      begin.push_back(line.size());
      const std::size_t n_words = begin.size() - 1;
      for (const std::int32_t order : orders) {
        const auto n = static_cast<std::size_t>(order);
        vocabulary.find_each(
            n_words < n ? 0 : n_words - n + 1,
            [&](std::size_t i) { return std::string_view(line.data() + begin[i], begin[i + n] - begin[i] - 1); },
            [&](std::int32_t id) {
              if (id >= 0) ids.push_back(id);
            });
      }
    }
  };
  return count_rows(pool, texts.size(), cut_texts(pool, texts),
                    [&] { return Collect{texts, orders, vocabulary, {}, {}}; });
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
