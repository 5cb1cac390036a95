#include "lists/features.hh"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "lists/gram_tree.hh"
#include "util/blanks.hh"
#include "util/errors.hh"
#include "util/views.hh"

namespace loglinear::lists {

using text::CountRows;
namespace {

constexpr std::int32_t kMaxOrder = 32;
constexpr std::int32_t kDropped = -1;
constexpr std::int32_t kBegin = 0, kEnd = 1;  // words of every table
constexpr std::int32_t kFirstClass = 2;      // symbol of the first class, after the ends of texts
constexpr std::string_view kPrefix[] = {"word: ", "skip: ", "head: ", "class: ", "char: "};

// What is known of a gram besides its name.
struct GramUse {
  std::int32_t lists = 0;    // in which it occurs
  bool is_feature = false;   // not only a prefix of others
  bool differs = false;      // between candidates of some list
};

struct Count {
  std::int32_t gram;
  std::uint32_t count;
};

bool is_headword(std::string_view word, const CandidateFeatureOptions& options) {
  if (options.headwords == Headwords::listed) return options.function_words->find(word) < 0;
  if (options.headwords == Headwords::none) return false;
  const auto* p = reinterpret_cast<const unsigned char*>(word.data());
  const auto* const end = p + word.size();
  while (p < end) {
    const CodePoint c = decode_utf8(p, end);
    const auto in = [&](std::uint32_t first, std::uint32_t last) { return c.value >= first && c.value <= last; };
    const bool han = in(0x3400, 0x4DBF) || in(0x4E00, 0x9FFF) || in(0xF900, 0xFAFF) || in(0x20000, 0x3FFFF) ||
                     c.value == 0x3005;
    if (han || in(0x30A1, 0x30FA) || in(0x31F0, 0x31FF) || in(0xFF66, 0xFF9D)) return true;
    p += c.length;
  }
  return false;
}

// The grams of a chunk of lists.
class Collector {
 public:
  GramTree tree;
  std::vector<GramUse> uses;         // [n_nodes]
  std::vector<Count> counts;         // of all candidates, one after another
  std::vector<std::int64_t> length;  // [n_candidates], of each in counts
  Interner words;

  explicit Collector(const CandidateFeatureOptions& options) : options_(options) {
    words.intern("<s>");
    words.intern("</s>");
    is_head_ = {false, false};
    class_of_ = {kBegin, kEnd};
  }

  void add_list(Strings texts, std::size_t begin, std::size_t end) {
    touched_.clear();
    ++list_;
    for (std::size_t t = begin; t < end; ++t) add_text(texts[t], t);
    const auto n = static_cast<std::uint32_t>(end - begin);
    for (const std::int32_t gram : touched_) {
      GramUse& use = uses[static_cast<std::size_t>(gram)];
      ++use.lists;
      use.is_feature = true;
      use.differs |= seen_[static_cast<std::size_t>(gram)].n_candidates < n;
    }
  }

 private:
  // Of a gram, in the list and the candidate at hand.
  struct Seen {
    std::int64_t list = 0, candidate = 0;
    std::uint32_t n_candidates = 0, first_count = 0;
    std::size_t place = 0;  // in counts, of the candidate at hand
  };

  void add_text(std::string_view text, std::size_t number) {
    ++candidate_;
    const std::size_t first = counts.size();
    split(text);
    add_words();
    add_skips();
    add_heads();
    add_classes(number);
    add_characters(text);
    for (std::size_t i = first; i < counts.size(); ++i) finish(counts[i]);
    length.push_back(static_cast<std::int64_t>(counts.size() - first));
  }

  void split(std::string_view text) {
    tokens_.assign(1, kBegin);
    for_each_blank_separated(text, [&](std::string_view word) {
      const std::int32_t id = words.intern(word);
      if (static_cast<std::size_t>(id) == is_head_.size()) is_head_.push_back(is_headword(word, options_));
      tokens_.push_back(id);
    });
    tokens_.push_back(kEnd);
  }

  void add_words() {
    const std::size_t skip = options_.boundaries ? 0 : 1;
    add_grams({tokens_.data() + skip, tokens_.size() - 2 * skip}, kWord, options_.word_orders);
  }

  void add_classes(std::size_t number) {
    const CandidateClasses& classes = options_.classes;
    if (!classes.words) return;
    lowered_.clear();
    if (class_of_.size() < words.strings().size())
      for_each_blank_separated(classes.lowered[number], [&](std::string_view word) { lowered_.push_back(word); });
    class_of_.resize(words.strings().size(), kDropped);
    classes_.clear();
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      std::int32_t& found = class_of_[static_cast<std::size_t>(tokens_[i])];
      if (found == kDropped) {
        std::int32_t word = classes.words->find(words.strings()[static_cast<std::size_t>(tokens_[i])]);
        if (word < 0 && i - 1 < lowered_.size()) word = classes.words->find(lowered_[i - 1]);
        const std::size_t last = classes.names.size() - 1;
        found = kFirstClass + (word < 0 ? static_cast<std::int32_t>(last) : classes.labels[static_cast<std::size_t>(word)]);
      }
      classes_.push_back(found);
    }
    const std::size_t skip = options_.boundaries ? 0 : 1;
    add_grams({classes_.data() + skip, classes_.size() - 2 * skip}, kClass, options_.word_orders);
  }

  // All grams of the sequence of the given orders; none of them is a boundary alone.
  void add_grams(std::span<const std::int32_t> symbols, Family family, const std::vector<std::int32_t>& orders) {
    if (orders.empty()) return;
    for (std::size_t i = 0; i < symbols.size(); ++i) {
      std::int32_t node = -1 - family;
      std::size_t next = 0;
      const std::size_t most = std::min(symbols.size() - i, static_cast<std::size_t>(orders.back()));
      for (std::size_t n = 1; n <= most; ++n) {
        node = tree.add(node, static_cast<std::uint32_t>(symbols[i + n - 1]));
        if (static_cast<std::size_t>(orders[next]) != n) continue;
        ++next;
        if (n > 1 || family == kCharacter || symbols[i] > kEnd) emit(node);
      }
    }
  }

  void add_pair(Family family, std::int32_t first, std::int32_t second) {
    const std::int32_t node = tree.add(-1 - family, static_cast<std::uint32_t>(first));
    emit(tree.add(node, static_cast<std::uint32_t>(second)));
  }

  void add_skips() {
    const auto most = static_cast<std::size_t>(options_.max_skip);
    if (most == 0) return;
    const std::size_t end = tokens_.size() - 1;
    for (std::size_t i = 1; i < end; ++i)
      for (std::size_t j = i + 2; j < end && j <= i + 1 + most; ++j) add_pair(kSkip, tokens_[i], tokens_[j]);
  }

  void add_heads() {
    if (options_.headwords == Headwords::none) return;
    std::int32_t last = kDropped;
    for (const std::int32_t word : tokens_) {
      if (!is_head_[static_cast<std::size_t>(word)]) continue;
      if (last != kDropped) add_pair(kHead, last, word);
      last = word;
    }
  }

  void add_characters(std::string_view text) {
    if (options_.character_orders.empty()) return;
    characters_.clear();
    for_each_character(text, [&](std::int32_t c) { characters_.push_back(c); });
    add_grams(characters_, kCharacter, options_.character_orders);
  }

  void emit(std::int32_t gram) {
    const auto g = static_cast<std::size_t>(gram);
    if (g >= seen_.size()) seen_.resize(std::max(tree.nodes.size(), 2 * seen_.size()));
    Seen& seen = seen_[g];
    if (seen.candidate == candidate_) {
      ++counts[seen.place].count;
      return;
    }
    seen.candidate = candidate_;
    seen.place = counts.size();
    counts.push_back({gram, 1});
  }

  void finish(const Count& count) {
    const auto g = static_cast<std::size_t>(count.gram);
    if (uses.size() < tree.nodes.size()) uses.resize(tree.nodes.size());
    Seen& seen = seen_[g];
    if (seen.list != list_) {
      seen.list = list_;
      seen.n_candidates = 1;
      seen.first_count = count.count;
      touched_.push_back(count.gram);
      return;
    }
    ++seen.n_candidates;
    if (seen.first_count != count.count) uses[g].differs = true;
  }

  const CandidateFeatureOptions& options_;
  std::vector<bool> is_head_;  // [n_words]
  std::vector<Seen> seen_;
  std::int64_t list_ = 0, candidate_ = 0;
  std::vector<std::int32_t> class_of_;  // [n_words], kDropped where it was not looked up yet
  std::vector<std::int32_t> tokens_, classes_, characters_, touched_;
  std::vector<std::string_view> lowered_;
};

// All chunks, and their grams joined.
struct Grams {
  std::vector<std::size_t> cuts;  // numbers of lists
  std::vector<Collector> chunks;
  std::vector<std::vector<std::int32_t>> map;  // of each chunk, from its grams to those of all
  GramTree tree;
  std::vector<GramUse> uses;
  Interner words;
};

void check_orders(const std::vector<std::int32_t>& orders, const char* what) {
  for (std::size_t i = 0; i < orders.size(); ++i)
    if (orders[i] < 1 || orders[i] > kMaxOrder || (i && orders[i] <= orders[i - 1]))
      throw InvalidInput(std::string("orders of ") + what + " n-grams must ascend and lie between 1 and " +
                         std::to_string(kMaxOrder));
}

void check_options(const CandidateFeatureOptions& options, std::size_t n_texts) {
  check_orders(options.word_orders, "word");
  check_orders(options.character_orders, "character");
  if (options.max_skip < 0 || options.max_skip > kMaxOrder)
    throw InvalidInput("skip bigrams leave out between 0 and " + std::to_string(kMaxOrder) + " words");
  require(options.headwords != Headwords::listed || options.function_words, "headwords need a list of function words");
  const CandidateClasses& classes = options.classes;
  if (!classes.words) return;
  require(classes.labels.size() == classes.words->size() && classes.names.size() > 0, "words and classes do not match");
  require(classes.lowered.size() == n_texts, "the texts in lower case are not as many as the texts");
  for (const std::int32_t label : classes.labels)
    if (label < 0 || static_cast<std::size_t>(label) >= classes.names.size()) throw InvalidInput("a word has no class");
  classes.names.check();
  classes.lowered.check();
}

// A chunk's grams in the numbers of all, appended where they are new.
void join(Grams& grams, std::size_t c) {
  Collector& chunk = grams.chunks[c];
  const PackedStrings& strings = chunk.words.strings();
  std::vector<std::uint32_t> words(strings.size());
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = static_cast<std::uint32_t>(grams.words.intern(strings[i]));
  chunk.words = Interner();
  std::vector<std::int32_t>& map = grams.map[c];
  map.resize(chunk.tree.nodes.size());
  chunk.uses.resize(map.size());
  for (std::size_t n = 0; n < map.size(); ++n) {
    const Node& node = chunk.tree.nodes[n];
    const std::int32_t prefix = node.prefix < 0 ? node.prefix : map[static_cast<std::size_t>(node.prefix)];
    const bool is_word = chunk.tree.families[n] < kClass;
    map[n] = grams.tree.add(prefix, is_word ? words[node.symbol] : node.symbol);
    grams.uses.resize(grams.tree.nodes.size());
    GramUse& use = grams.uses[static_cast<std::size_t>(map[n])];
    use.lists += chunk.uses[n].lists;
    use.is_feature |= chunk.uses[n].is_feature;
    use.differs |= chunk.uses[n].differs;
  }
  chunk.tree = GramTree();
  chunk.uses = {};
}

Grams collect(ThreadPool& pool, Strings texts, std::span<const std::int64_t> list_ptr,
              const CandidateFeatureOptions& options) {
  constexpr std::int64_t kBytes = 1 << 19;
  texts.check();
  check_list_ptr(list_ptr, texts.size(), "candidates");
  check_options(options, texts.size());
  const std::size_t n_lists = list_ptr.size() - 1;
  Grams grams;
  grams.cuts.push_back(0);
  const auto begin = [&](std::size_t list) { return texts.offsets[static_cast<std::size_t>(list_ptr[list])]; };
  for (std::size_t i = 1; i < n_lists; ++i)
    if (begin(i) - begin(grams.cuts.back()) >= kBytes) grams.cuts.push_back(i);
  if (n_lists) grams.cuts.push_back(n_lists);
  const std::size_t n_chunks = grams.cuts.size() - 1;
  grams.chunks.reserve(n_chunks);
  for (std::size_t c = 0; c < n_chunks; ++c) grams.chunks.emplace_back(options);
  grams.map.resize(n_chunks);
  pool.run(n_chunks, [&](std::size_t c) {
    for (std::size_t i = grams.cuts[c]; i < grams.cuts[c + 1]; ++i)
      grams.chunks[c].add_list(texts, static_cast<std::size_t>(list_ptr[i]), static_cast<std::size_t>(list_ptr[i + 1]));
  });
  for (std::size_t c = 0; c < n_chunks; ++c) join(grams, c);
  return grams;
}

void append_character(std::string& name, std::uint32_t c) {
  if (c < 0x80) {
    name.push_back(static_cast<char>(c));
  } else {
    const int n_trail = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    constexpr unsigned kLead[] = {0, 0xC0, 0xE0, 0xF0};
    name.push_back(static_cast<char>(kLead[n_trail] | c >> (6 * n_trail)));
    for (int i = n_trail - 1; i >= 0; --i) name.push_back(static_cast<char>(0x80 | (c >> (6 * i) & 0x3F)));
  }
}

void make_name(const Grams& grams, const Strings& classes, std::size_t gram, std::string& name) {
  std::uint32_t symbols[kMaxOrder];
  int n = 0;
  for (auto node = static_cast<std::int32_t>(gram); node >= 0 && n < kMaxOrder;
       node = grams.tree.nodes[static_cast<std::size_t>(node)].prefix)
    symbols[n++] = grams.tree.nodes[static_cast<std::size_t>(node)].symbol;
  const Family family = grams.tree.families[gram];
  name = kPrefix[family];
  for (int i = n - 1; i >= 0; --i) {
    if (family == kCharacter) {
      append_character(name, symbols[i]);
    } else {
      const bool is_class = family == kClass && symbols[i] >= kFirstClass;
      name += is_class ? classes[symbols[i] - kFirstClass] : grams.words.strings()[symbols[i]];
      if (i) name.push_back(' ');
    }
  }
}

// Rows in the numbers that `feature` gives to grams; kDropped: none.
CountRows number_rows(ThreadPool& pool, const Grams& grams, std::size_t n_candidates,
                      std::span<const std::int64_t> list_ptr, const std::vector<std::int32_t>& feature) {
  CountRows rows;
  rows.indptr.assign(n_candidates + 1, 0);
  const auto number = [&](std::size_t c, std::int32_t gram) {
    return feature[static_cast<std::size_t>(grams.map[c][static_cast<std::size_t>(gram)])];
  };
  pool.run(grams.chunks.size(), [&](std::size_t c) {
    auto t = static_cast<std::size_t>(list_ptr[grams.cuts[c]]);
    const Count* next = grams.chunks[c].counts.data();
    for (const std::int64_t length : grams.chunks[c].length) {
      std::int64_t kept = 0;
      for (const Count* end = next + length; next < end; ++next) kept += number(c, next->gram) != kDropped;
      rows.indptr[++t] = kept;
    }
  });
  for (std::size_t t = 0; t < n_candidates; ++t) rows.indptr[t + 1] += rows.indptr[t];
  rows.indices.resize(static_cast<std::size_t>(rows.indptr.back()));
  rows.values.resize(rows.indices.size());
  pool.run(grams.chunks.size(), [&](std::size_t c) {
    std::vector<std::pair<std::int32_t, std::uint32_t>> row;
    auto out = static_cast<std::size_t>(rows.indptr[static_cast<std::size_t>(list_ptr[grams.cuts[c]])]);
    const Count* next = grams.chunks[c].counts.data();
    for (const std::int64_t length : grams.chunks[c].length) {
      row.clear();
      for (const Count* end = next + length; next < end; ++next)
        if (const std::int32_t j = number(c, next->gram); j != kDropped) row.emplace_back(j, next->count);
      std::sort(row.begin(), row.end());
      for (const auto& [j, count] : row) {
        rows.indices[out] = j;
        rows.values[out++] = count;
      }
    }
  });
  return rows;
}

}  // namespace

void check_list_ptr(std::span<const std::int64_t> list_ptr, std::size_t n, const char* what) {
  require(!list_ptr.empty(), "list_ptr is empty; it needs one entry more than there are lists");
  if (list_ptr.front() != 0 || list_ptr.back() != static_cast<std::int64_t>(n))
    throw InvalidInput(std::string("list_ptr must start at 0 and end at the number of ") + what);
  for (std::size_t i = 0; i + 1 < list_ptr.size(); ++i)
    if (list_ptr[i + 1] < list_ptr[i]) throw InvalidInput("list_ptr decreases at list " + std::to_string(i));
}

CandidateFeatures fit_candidate_features(ThreadPool& pool, Strings texts, std::span<const std::int64_t> list_ptr,
                                         const CandidateFeatureOptions& options, std::int64_t min_count) {
  const Grams grams = collect(pool, texts, list_ptr, options);
  CandidateFeatures result;
  std::vector<std::int32_t> feature(grams.uses.size(), kDropped);
  std::int32_t n_features = 0;
  std::string name;
  for (std::size_t g = 0; g < feature.size(); ++g) {
    const GramUse& use = grams.uses[g];
    if (!use.is_feature || !use.differs || use.lists < min_count) continue;
    feature[g] = n_features++;
    make_name(grams, options.classes.names, g, name);
    result.names.push_back(name);
  }
  result.rows = number_rows(pool, grams, texts.size(), list_ptr, feature);
  return result;
}

CandidateFeatureUses find_candidate_features(ThreadPool& pool, Strings texts, std::span<const std::int64_t> list_ptr,
                                             const CandidateFeatureOptions& options) {
  const Grams grams = collect(pool, texts, list_ptr, options);
  CandidateFeatureUses result;
  std::string name;
  for (std::size_t g = 0; g < grams.uses.size(); ++g) {
    const GramUse& use = grams.uses[g];
    if (!use.is_feature) continue;
    make_name(grams, options.classes.names, g, name);
    result.names.push_back(name);
    result.n_lists.push_back(use.lists);
    result.differs.push_back(use.differs);
  }
  return result;
}

CountRows count_candidate_features(ThreadPool& pool, Strings texts, std::span<const std::int64_t> list_ptr,
                                   const CandidateFeatureOptions& options, const StringIndex& vocabulary) {
  const Grams grams = collect(pool, texts, list_ptr, options);
  std::vector<std::int32_t> feature(grams.uses.size(), kDropped);
  parallel_for(pool, feature.size(), 1 << 14, [&](std::size_t begin, std::size_t end) {
    std::string name;
    for (std::size_t g = begin; g < end; ++g) {
      if (!grams.uses[g].is_feature) continue;
      make_name(grams, options.classes.names, g, name);
      feature[g] = vocabulary.find(name);
    }
  });
  return number_rows(pool, grams, texts.size(), list_ptr, feature);
}

}  // namespace loglinear::lists
