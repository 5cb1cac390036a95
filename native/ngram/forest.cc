#include "ngram/forest.hh"

#include <algorithm>
#include <numeric>
#include <string>

#include "util/errors.hh"

namespace loglinear::ngram {

using namespace trie;

TrieView Forest::Part::view() const {
  return {context_start.size() - 1, static_cast<std::size_t>(entry_start[1]), context_start, entry_start, context_word,
          context_child, context_entry, context_count, entry_word, entry_parent, entry_count};
}

Forest::Forest(ThreadPool& pool, const TrieView& trie, std::span<const std::uint32_t> class_start,
               std::span<const std::uint32_t> min_counts)
    : order_(trie.order), class_start_(class_start.begin(), class_start.end()) {
  trie.check_closed();
  if (class_start.size() < 2 || class_start.front() != 0 || class_start.back() != trie.n_words ||
      std::adjacent_find(class_start.begin(), class_start.end(), std::greater_equal<>()) != class_start.end())
    throw InvalidInput("classes: every class needs a word, and the words of a class must follow one another");
  if (min_counts.size() != trie.order || !std::is_sorted(min_counts.begin(), min_counts.end()))
    throw InvalidInput("classes: one least count per order, and they must not fall with the order");
  split(trie, min_counts);
  finish(pool);
}

std::size_t Forest::class_of(std::uint32_t word) const {
  return static_cast<std::size_t>(std::upper_bound(class_start_.begin(), class_start_.end(), word) -
                                  class_start_.begin() - 1);
}

// Level by level, contexts in their order: each run of entries of one class goes to the part of that class. Contexts of
// a part come in the order of the trie, so those of one parent are together.
void Forest::split(const TrieView& trie, std::span<const std::uint32_t> min_counts) {
  const std::size_t K = class_start_.size() - 1;
  parts_.resize(K);
  std::vector<std::vector<std::uint32_t>> entries(K);               // of the trie, by part
  std::vector<std::uint32_t> local(trie.n_entries(), kNowhere);     // number of each entry in its part
  std::vector<std::uint32_t> word_class(trie.n_words);
  // The contexts of the level above, by part: their numbers in the trie, ascending, and a place among them.
  std::vector<std::vector<std::uint32_t>> above(K), here(K);
  std::vector<std::size_t> at(K);
  for (std::size_t k = 0; k < K; ++k) {
    Part& part = parts_[k];
    const std::uint32_t first = class_start_[k], end = class_start_[k + 1];
    part.context_start = {0, 1};
    part.entry_start = {0, static_cast<std::int64_t>(end - first)};
    part.context_word = {kNowhere};
    part.context_entry = {0};
    std::uint32_t tokens = 0;
    for (std::uint32_t w = first; w < end; ++w) {
      word_class[w] = static_cast<std::uint32_t>(k);
      local[w] = w - first;
      part.entry_word.push_back(w - first);
      part.entry_parent.push_back(kNowhere);
      part.entry_count.push_back(trie.entry_count[w]);
      entries[k].push_back(w);
      tokens += trie.entry_count[w];
    }
    part.context_count = {tokens};
    above[k] = {0};
  }
  const auto parents = trie.parents();
  for (std::size_t length = 1; length < trie.order; ++length) {
    std::fill(at.begin(), at.end(), 0);
    for (std::size_t k = 0; k < K; ++k) here[k].clear();
    const auto c0 = static_cast<std::uint32_t>(trie.context_start[length]);
    const auto c1 = static_cast<std::uint32_t>(trie.context_start[length + 1]);
    for (std::uint32_t c = c0; c < c1; ++c) {
      for (std::uint32_t e = trie.context_entry[c]; e < trie.context_entry[c + 1];) {
        const std::uint32_t k = word_class[trie.entry_word[e]];
        Part& part = parts_[k];
        const std::size_t before = part.entry_word.size();
        std::uint32_t tokens = 0;
        for (; e < trie.context_entry[c + 1] && trie.entry_word[e] < class_start_[k + 1]; ++e) {
          tokens += trie.entry_count[e];
          if (trie.entry_count[e] < min_counts[length] || class_start_[k + 1] - class_start_[k] == 1) continue;
          local[e] = static_cast<std::uint32_t>(part.entry_word.size());
          part.entry_word.push_back(trie.entry_word[e] - class_start_[k]);
          part.entry_parent.push_back(local[trie.entry_parent[e]]);
          part.entry_count.push_back(trie.entry_count[e]);
          entries[k].push_back(e);
        }
        if (part.entry_word.size() == before) continue;
        for (const auto base = static_cast<std::size_t>(part.context_start[length - 1]);; ++at[k]) {
          if (part.context_child.size() == base + at[k])
            part.context_child.push_back(static_cast<std::uint32_t>(part.context_word.size()));
          if (above[k][at[k]] == parents[c]) break;  // those before it have no children, or have had them
        }
        part.context_word.push_back(trie.context_word[c]);
        part.context_entry.push_back(static_cast<std::uint32_t>(before));
        part.context_count.push_back(tokens);
        here[k].push_back(c);
      }
    }
    for (std::size_t k = 0; k < K; ++k) {
      Part& part = parts_[k];
      part.context_child.resize(static_cast<std::size_t>(part.context_start[length]),
                                static_cast<std::uint32_t>(part.context_word.size()));
      part.context_start.push_back(static_cast<std::int64_t>(part.context_word.size()));
      part.entry_start.push_back(static_cast<std::int64_t>(part.entry_word.size()));
    }
    above.swap(here);
  }
  for (std::size_t k = 0; k < K; ++k) {
    Part& part = parts_[k];
    part.context_child.resize(part.context_word.size() + 1, static_cast<std::uint32_t>(part.context_word.size()));
    part.context_entry.push_back(static_cast<std::uint32_t>(part.entry_word.size()));
    entry_.insert(entry_.end(), entries[k].begin(), entries[k].end());
  }
}

void Forest::finish(ThreadPool& pool) {
  weight_start_ = {0};
  for (const Part& part : parts_) {
    weight_start_.push_back(weight_start_.back() + part.entry_word.size());
    count_.insert(count_.end(), part.entry_count.begin(), part.entry_count.end());
  }
  by_size_.resize(parts_.size());
  std::iota(by_size_.begin(), by_size_.end(), 0u);
  std::stable_sort(by_size_.begin(), by_size_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return parts_[a].entry_word.size() > parts_[b].entry_word.size();
  });
  pool.run(parts_.size(), [&](std::size_t k) { parts_[k].model = std::make_unique<NgramMaxent>(parts_[k].view()); });
}

Forest Forest::on(ThreadPool& pool, std::span<const std::uint32_t> words,
                  std::span<const std::int64_t> sentence_ptr) const {
  if (sentence_ptr.empty() || sentence_ptr.front() != 0 ||
      sentence_ptr.back() != static_cast<std::int64_t>(words.size()) ||
      !std::is_sorted(sentence_ptr.begin(), sentence_ptr.end()))
    throw InvalidInput("recount: sentence_ptr does not cut the words into sentences");
  const std::uint32_t V = class_start_.back();
  if (std::any_of(words.begin(), words.end(), [&](std::uint32_t w) { return w >= V; }))
    throw InvalidInput("recount: a word is not of the trie's vocabulary");
  Forest out;
  out.order_ = order_, out.class_start_ = class_start_, out.entry_ = entry_;
  for (const Part& part : parts_) {
    Part& copy = out.parts_.emplace_back();
    copy.context_start = part.context_start, copy.entry_start = part.entry_start;
    copy.context_word = part.context_word, copy.context_child = part.context_child;
    copy.context_entry = part.context_entry, copy.entry_word = part.entry_word, copy.entry_parent = part.entry_parent;
    copy.context_count.assign(part.context_count.size(), 0);
    copy.entry_count.assign(part.entry_count.size(), 0);
  }
  for (std::size_t s = 0; s + 1 < sentence_ptr.size(); ++s) {
    const std::int64_t begin = sentence_ptr[s], end = sentence_ptr[s + 1];
    for (std::int64_t i = begin; i <= end; ++i) {
      const std::uint32_t word = i < end ? words[static_cast<std::size_t>(i)] : 0;
      const std::size_t k = class_of(word);
      Part& part = out.parts_[k];
      const TrieView trie = part.view();
      std::uint32_t c = 0;
      bool listed = true;  // an entry's parent is an entry, so the first miss is the last look
      for (std::int64_t back = 1;; ++back) {
        ++part.context_count[c];
        const std::uint32_t e = listed ? trie.entry(c, word - class_start_[k]) : kNowhere;
        listed = e != kNowhere;
        if (listed) ++part.entry_count[e];
        if (i - back < begin - 1) break;
        c = trie.child(c, i - back < begin ? V : words[static_cast<std::size_t>(i - back)]);
        if (c == kNowhere) break;
      }
    }
  }
  out.finish(pool);
  return out;
}

template <class Use>
void Forest::each(ThreadPool& pool, Use use) const {
  pool.run(parts_.size(), [&](std::size_t i) {
    const std::uint32_t k = by_size_[i];
    ThreadPool alone(1);
    use(k, alone, *parts_[k].model, weight_start_[k], weight_start_[k + 1] - weight_start_[k]);
  });
}

double Forest::value_and_gradient(ThreadPool& pool, std::span<const double> w, std::span<double> gradient) const {
  if (w.size() != n_weights() || gradient.size() != w.size())
    throw InvalidInput("words within classes: a vector must have one number per weight");
  std::vector<double> values(parts_.size());
  each(pool, [&](std::uint32_t k, ThreadPool& alone, const NgramMaxent& model, std::size_t begin, std::size_t n) {
    values[k] = model.value_and_gradient(alone, w.subspan(begin, n), gradient.subspan(begin, n));
  });
  return std::accumulate(values.begin(), values.end(), 0.0);
}

void Forest::curvature_diagonal(ThreadPool& pool, std::span<const double> w, std::span<double> out) const {
  if (w.size() != n_weights() || out.size() != w.size())
    throw InvalidInput("words within classes: a vector must have one number per weight");
  each(pool, [&](std::uint32_t, ThreadPool& alone, const NgramMaxent& model, std::size_t begin, std::size_t n) {
    model.curvature_diagonal(alone, w.subspan(begin, n), out.subspan(begin, n));
  });
}

void Forest::hessian_vector(ThreadPool& pool, std::span<const double> w, std::span<const double> v,
                            std::span<double> out) const {
  if (w.size() != n_weights() || v.size() != w.size() || out.size() != w.size())
    throw InvalidInput("words within classes: a vector must have one number per weight");
  each(pool, [&](std::uint32_t, ThreadPool& alone, const NgramMaxent& model, std::size_t begin, std::size_t n) {
    model.hessian_vector(alone, w.subspan(begin, n), v.subspan(begin, n), out.subspan(begin, n));
  });
}

}  // namespace loglinear::ngram
