// The weights of online n-grams in and out, and their tree as flat arrays.
#include <algorithm>

#include "stream/tree.hh"
#include "util/errors.hh"

namespace loglinear::stream {

using trie::kNowhere;
void OnlineTree::values(ThreadPool& pool, std::span<double> w) {
  if (w.size() != n_entries()) throw InvalidInput("online n-grams: one number per n-gram is needed");
  catch_up(pool);
  auto at = std::copy(unigram_w_.begin(), unigram_w_.end(), w.begin());
  for (const auto& b : blocks_) at = std::copy(b.w.begin(), b.w.end(), at);
}

void OnlineTree::set_values(ThreadPool& pool, std::span<const double> w) {
  if (w.size() != n_entries()) throw InvalidInput("online n-grams: one number per n-gram is needed");
  catch_up(pool);
  const double* at = w.data();
  const auto take = [&at](std::vector<double>& to, std::vector<double>& other) {
    std::copy_n(at, to.size(), to.begin());
    other = to;
    at += to.size();
  };
  take(unigram_w_, unigram_z_);
  for (auto& b : blocks_) take(b.w, b.z);
}

OnlineLayout OnlineTree::layout() const {
  struct Place {
    std::uint32_t block, context;
    std::size_t above;  // where the entries of its parent begin in the result
  };
  OnlineLayout to;
  const std::uint32_t V = settings_.n_words;
  std::vector<std::int64_t> start(blocks_.size());
  std::vector<Place> level, next;
  std::int64_t flat = V;
  for (std::uint32_t b = 0; b < blocks_.size(); flat += static_cast<std::int64_t>(blocks_[b++].n_entries())) {
    start[b] = flat;
    if (blocks_[b].n_contexts()) level.push_back({b, 0, 0});
  }
  if (flat >= kNowhere || n_contexts() >= kNowhere || n_tokens_ >= kNowhere)
    throw InvalidInput("online n-grams: more than 4294967294 n-grams or tokens");
  to.context_start = {0, 1};
  to.entry_start = {0, V};
  to.context_word = {kNowhere};
  to.context_child = {1};
  to.context_entry = {0};
  to.context_count = {static_cast<std::uint32_t>(n_tokens_)};
  to.context_length = {0};
  to.context_end = {0};
  for (std::uint32_t w = 0; w < V; ++w) {
    to.entry_word.push_back(w);
    to.entry_parent.push_back(kNowhere);
    to.entry_count.push_back(unigram_count_[w]);
    to.source.push_back(w);
  }
  while (!level.empty()) {
    next.clear();
    const std::size_t below = to.context_word.size() + level.size();
    for (const Place& place : level) {
      const OnlineBlock& b = blocks_[place.block];
      const std::uint32_t c = place.context, parent = b.context_parent[c];
      const std::size_t here = to.entry_word.size();
      to.context_word.push_back(b.context_word[c]);
      to.context_count.push_back(b.context_count[c]);
      to.context_length.push_back(b.context_length[c]);
      to.context_end.push_back(b.context_end[c]);
      to.context_entry.push_back(static_cast<std::uint32_t>(here));
      to.context_child.push_back(static_cast<std::uint32_t>(below + next.size()));
      for (std::uint32_t e = b.context_entry[c]; e < b.context_entry[c + 1]; ++e) {
        const std::size_t up = parent == kNowhere ? b.entry_word[e]
                                                 : place.above + (b.entry_parent[e] - b.context_entry[parent]);
        to.entry_word.push_back(b.entry_word[e]);
        to.entry_parent.push_back(static_cast<std::uint32_t>(up));
        to.entry_count.push_back(b.entry_count[e]);
        to.source.push_back(start[place.block] + e);
      }
      for (std::uint32_t child = b.context_child[c]; child < b.context_child[c + 1]; ++child)
        next.push_back({place.block, child, here});
    }
    to.context_start.push_back(static_cast<std::int64_t>(to.context_word.size()));
    to.entry_start.push_back(static_cast<std::int64_t>(to.entry_word.size()));
    level.swap(next);
  }
  to.context_child.push_back(static_cast<std::uint32_t>(to.context_word.size()));
  to.context_entry.push_back(static_cast<std::uint32_t>(to.entry_word.size()));
  return to;
}

}  // namespace loglinear::stream
