#include "trie/edit.hh"

#include <algorithm>
#include <string>
#include <vector>

#include "util/errors.hh"

namespace loglinear::trie {

namespace {

void require_trie(bool condition, const char* what) {
  if (!condition) throw InvalidInput(std::string("trie: ") + what);
}

void check_starts(std::span<const std::int64_t> start, std::size_t order, std::size_t n) {
  require_trie(start.size() == order + 1, "context_start and entry_start need order + 1 numbers");
  require_trie(start.front() == 0 && start.back() == static_cast<std::int64_t>(n), "the starts of levels do not fit");
  for (std::size_t k = 0; k < order; ++k) require_trie(start[k] <= start[k + 1], "the starts of levels decrease");
}

// pointer[c] .. pointer[c + 1] of the contexts of each level cut [start of the level, its end) of what they point to.
void check_pointer(std::span<const std::uint32_t> pointer, std::span<const std::int64_t> context_start,
                   std::span<const std::int64_t> target_start, std::size_t n_targets, std::size_t shift) {
  const std::size_t n_contexts = pointer.size() - 1;
  for (std::size_t c = 0; c < n_contexts; ++c) require_trie(pointer[c] <= pointer[c + 1], "a pointer decreases");
  require_trie(pointer.back() == n_targets, "the last pointer does not end the array");
  for (std::size_t k = 0; k + 1 < context_start.size(); ++k) {
    const std::size_t level = k + shift;
    const std::int64_t first = level < target_start.size() ? target_start[level] : target_start.back();
    require_trie(pointer[static_cast<std::size_t>(context_start[k])] == first, "a level points outside the next");
  }
}

// All that the functions below rely on; counts and parents may be missing, as in a model.
void check_shape(const TrieView& t) {
  check_order(t.order);
  check_starts(t.context_start, t.order, t.n_contexts());
  check_starts(t.entry_start, t.order, t.n_entries());
  require_trie(t.context_start[1] == 1 && t.n_words >= 1, "there is not exactly one empty context");
  require_trie(t.context_child.size() == t.n_contexts() + 1 && t.context_entry.size() == t.n_contexts() + 1,
               "context_child and context_entry need one number more than there are contexts");
  check_pointer(t.context_child, t.context_start, t.context_start, t.n_contexts(), 1);
  check_pointer(t.context_entry, t.context_start, t.entry_start, t.n_entries(), 0);
  for (std::size_t c = 1; c < t.n_contexts(); ++c)
    require_trie(t.context_word[c] <= t.n_words, "a word of a context is not in the vocabulary");
  for (const std::uint32_t word : t.entry_word)
    require_trie(word < t.n_words, "a word of an entry is not in the vocabulary");
  for (std::size_t c = 0; c < t.n_contexts(); ++c) {
    for (std::size_t e = t.context_entry[c] + std::size_t{1}; e < t.context_entry[c + 1]; ++e)
      require_trie(t.entry_word[e - 1] < t.entry_word[e], "the entries of a context are not in ascending order");
    for (std::size_t d = t.context_child[c] + std::size_t{1}; d < t.context_child[c + 1]; ++d)
      require_trie(t.context_word[d - 1] < t.context_word[d], "the children of a context are not in ascending order");
  }
}

void check_counted(const TrieView& t) {
  check_shape(t);
  require_trie(t.context_count.size() == t.n_contexts(), "context_count needs a number for every context");
  require_trie(t.entry_parent.size() == t.n_entries() && t.entry_count.size() == t.n_entries(),
               "entry_parent and entry_count need a number for every entry");
  require_trie(t.entry_start[1] == static_cast<std::int64_t>(t.n_words), "not every word has a unigram");
  for (std::size_t n = 1; n < t.order; ++n)
    for (std::int64_t e = t.entry_start[n]; e < t.entry_start[n + 1]; ++e) {
      const std::uint32_t parent = t.entry_parent[static_cast<std::size_t>(e)];
      require_trie(parent >= t.entry_start[n - 1] && parent < t.entry_start[n], "a parent is not of the order below");
    }
}

void add_context(TrieArrays& out, std::uint32_t word, std::uint32_t count, std::size_t first_entry) {
  out.context_word.push_back(word);
  out.context_count.push_back(count);
  out.context_entry.push_back(static_cast<std::uint32_t>(first_entry));
}

void add_entry(TrieArrays& out, std::uint32_t word, std::uint32_t parent, std::uint32_t count) {
  out.entry_word.push_back(word);
  out.entry_parent.push_back(parent);
  out.entry_count.push_back(count);
}

void end_level(TrieArrays& out) {
  out.context_start.push_back(static_cast<std::int64_t>(out.context_word.size()));
  out.entry_start.push_back(static_cast<std::int64_t>(out.entry_word.size()));
}

// context_child from how many children each context has.
void number_children(TrieArrays& out, std::span<const std::uint32_t> n_children) {
  out.context_child.resize(n_children.size() + 1);
  std::uint32_t next = 1;
  for (std::size_t c = 0; c < n_children.size(); ++c) {
    out.context_child[c] = next;
    next += n_children[c];
  }
  out.context_child.back() = next;
  out.context_entry.push_back(static_cast<std::uint32_t>(out.entry_word.size()));
}

void check_cut_offs(const TrieView& trie, std::span<const std::uint64_t> min_counts) {
  if (min_counts.size() != trie.order)
    throw InvalidInput("cut-offs: " + std::to_string(min_counts.size()) + " for a trie of order " +
                       std::to_string(trie.order));
  for (std::size_t n = 1; n < min_counts.size(); ++n)
    if (min_counts[n] < min_counts[n - 1])
      throw InvalidInput("cut-offs must not decrease with the order, but order " + std::to_string(n + 1) + " has " +
                         std::to_string(min_counts[n]) + " after " + std::to_string(min_counts[n - 1]) +
                         ": an n-gram would be kept whose shorter n-gram is dropped");
}

}  // namespace

TrieArrays cut_trie(const TrieView& trie, std::span<const std::uint64_t> min_counts) {
  check_cut_offs(trie, min_counts);
  check_counted(trie);
  std::vector<std::uint32_t> place(trie.n_entries());    // of each entry in the result; kNowhere where dropped
  std::vector<std::uint32_t> context(trie.n_contexts());  // of each context in the result; kNowhere where dropped
  std::vector<std::uint32_t> n_children;
  TrieArrays out;
  out.context_start = out.entry_start = {0};
  std::size_t above = 0;  // the parent of context c
  for (std::size_t k = 0; k < trie.order; ++k) {
    const auto end = static_cast<std::size_t>(trie.context_start[k + 1]);
    for (auto c = static_cast<std::size_t>(trie.context_start[k]); c < end; ++c) {
      const std::size_t first = out.entry_word.size();
      for (std::size_t e = trie.context_entry[c]; e < trie.context_entry[c + 1]; ++e) {
        place[e] = kNowhere;
        if (k > 0 && trie.entry_count[e] < min_counts[k]) continue;
        const std::uint32_t parent = k == 0 ? kNowhere : place[trie.entry_parent[e]];
        require_trie(k == 0 || parent != kNowhere, "an n-gram is counted more often than its shorter n-gram");
        place[e] = static_cast<std::uint32_t>(out.entry_word.size());
        add_entry(out, trie.entry_word[e], parent, trie.entry_count[e]);
      }
      context[c] = kNowhere;
      if (k > 0 && out.entry_word.size() == first) continue;  // then none below has entries: their parents are here
      if (k > 0) {
        while (trie.context_child[above + 1] <= c) ++above;
        ++n_children[context[above]];
      }
      context[c] = static_cast<std::uint32_t>(n_children.size());
      n_children.push_back(0);
      add_context(out, trie.context_word[c], trie.context_count[c], first);
    }
    end_level(out);
  }
  number_children(out, n_children);
  return out;
}

namespace {

// A context of the union: where it is in either, and which context of the level before it extends.
struct Joint {
  std::uint32_t word, above;
  std::uint32_t trie, model;  // kNowhere where it is not there
};

struct Span {
  std::size_t begin, end;
};
Span part(std::span<const std::uint32_t> pointer, std::uint32_t context) {
  if (context == kNowhere) return {0, 0};
  return {pointer[context], pointer[context + std::size_t{1}]};
}

std::vector<Joint> joint_children(const TrieView& trie, const TrieView& model, std::span<const Joint> level) {
  std::vector<Joint> next;
  for (std::size_t i = 0; i < level.size(); ++i) {
    Span a = part(trie.context_child, level[i].trie), b = part(model.context_child, level[i].model);
    while (a.begin < a.end || b.begin < b.end) {
      const std::uint32_t left = a.begin < a.end ? trie.context_word[a.begin] : kNowhere;
      const std::uint32_t right = b.begin < b.end ? model.context_word[b.begin] : kNowhere;
      const std::uint32_t word = std::min(left, right);
      next.push_back({word, static_cast<std::uint32_t>(i),
                      left == word ? static_cast<std::uint32_t>(a.begin++) : kNowhere,
                      right == word ? static_cast<std::uint32_t>(b.begin++) : kNowhere});
    }
  }
  return next;
}

// The entries of the joint contexts of one level: those of either and those that children need as parents.
struct JointEntries {
  std::vector<std::uint32_t> words, first{0};  // entries of context i: [first[i], first[i + 1])
  std::vector<std::uint32_t> parent;           // in the level before, from its first entry
};

void append(std::vector<std::uint32_t>& words, std::span<const std::uint32_t> from, Span part) {
  words.insert(words.end(), from.begin() + static_cast<std::ptrdiff_t>(part.begin),
               from.begin() + static_cast<std::ptrdiff_t>(part.end));
}

JointEntries joint_entries(const TrieView& trie, const TrieView& model, std::span<const Joint> level,
                           std::span<const Joint> below, JointEntries& deeper) {
  JointEntries result;
  std::vector<std::uint32_t> words;
  std::size_t child = 0;
  deeper.parent.resize(deeper.words.size());
  for (std::size_t i = 0; i < level.size(); ++i) {
    const std::size_t first_child = child;
    while (child < below.size() && below[child].above == i) ++child;
    words.clear();
    append(words, trie.entry_word, part(trie.context_entry, level[i].trie));
    append(words, model.entry_word, part(model.context_entry, level[i].model));
    const Span of_children{deeper.first[first_child], deeper.first[child]};
    append(words, deeper.words, of_children);
    std::sort(words.begin(), words.end());
    words.erase(std::unique(words.begin(), words.end()), words.end());
    for (std::size_t e = of_children.begin; e < of_children.end; ++e)
      deeper.parent[e] = static_cast<std::uint32_t>(
          result.words.size() +
          static_cast<std::size_t>(std::lower_bound(words.begin(), words.end(), deeper.words[e]) - words.begin()));
    result.words.insert(result.words.end(), words.begin(), words.end());
    if (result.words.size() > kMaxNumber) throw InvalidInput("trie: more than 4294967294 n-grams");
    result.first.push_back(static_cast<std::uint32_t>(result.words.size()));
  }
  return result;
}

// Entries of joint context i, with their counts in the trie.
void write_entries(TrieArrays& out, const TrieView& trie, const Joint& context, const JointEntries& entries,
                   std::size_t i, bool unigrams, std::size_t parent_base) {
  Span counted = part(trie.context_entry, context.trie);
  for (std::size_t e = entries.first[i]; e < entries.first[i + 1]; ++e) {
    const bool seen = counted.begin < counted.end && trie.entry_word[counted.begin] == entries.words[e];
    const std::uint32_t count = seen ? trie.entry_count[counted.begin++] : 0;
    const std::uint32_t parent = unigrams ? kNowhere : static_cast<std::uint32_t>(entries.parent[e] + parent_base);
    add_entry(out, entries.words[e], parent, count);
  }
}

}  // namespace

TrieArrays extend_trie(const TrieView& trie, const TrieView& model) {
  check_counted(trie);
  check_shape(model);
  if (trie.n_words != model.n_words)
    throw InvalidInput("the trie has " + std::to_string(trie.n_words) + " words and the model " +
                       std::to_string(model.n_words) + ": they need the same vocabulary");
  const std::size_t order = std::max(trie.order, model.order);
  std::vector<std::vector<Joint>> contexts{{{kNowhere, 0, 0, 0}}};
  for (std::size_t k = 1; k < order; ++k) contexts.push_back(joint_children(trie, model, contexts.back()));
  std::vector<JointEntries> entries(order + 1);
  contexts.emplace_back();  // below the longest is nothing
  for (std::size_t k = order; k-- > 0;)
    entries[k] = joint_entries(trie, model, contexts[k], contexts[k + 1], entries[k + 1]);
  TrieArrays out;
  out.context_start = out.entry_start = {0};
  std::vector<std::uint32_t> n_children, above, number;  // numbers of the contexts of the level before, of this one
  for (std::size_t k = 0; k < order; ++k) {
    const auto parent_base = static_cast<std::size_t>(k == 0 ? 0 : out.entry_start[k - 1]);
    number.assign(contexts[k].size(), kNowhere);
    for (std::size_t i = 0; i < contexts[k].size(); ++i) {
      if (k > 0 && entries[k].first[i] == entries[k].first[i + 1]) continue;
      const Joint& context = contexts[k][i];
      if (k > 0) ++n_children[above[context.above]];
      number[i] = static_cast<std::uint32_t>(n_children.size());
      n_children.push_back(0);
      add_context(out, context.word, context.trie == kNowhere ? 0 : trie.context_count[context.trie],
                  out.entry_word.size());
      write_entries(out, trie, context, entries[k], i, k == 0, parent_base);
    }
    if (out.entry_word.size() > kMaxNumber) throw InvalidInput("trie: more than 4294967294 n-grams");
    above.swap(number);
    end_level(out);
  }
  number_children(out, n_children);
  return out;
}

}  // namespace loglinear::trie
