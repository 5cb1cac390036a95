#include "stream/block.hh"

#include <algorithm>
#include <utility>

#include "util/errors.hh"

namespace loglinear::stream {

using trie::kNowhere;
namespace {

std::uint64_t key(std::uint32_t context, std::uint32_t word) { return std::uint64_t{context} << 32 | word; }

std::uint32_t find(const std::vector<std::uint32_t>& words, std::uint32_t begin, std::uint32_t end,
                   std::uint32_t word) {
  const auto first = words.begin() + begin, last = words.begin() + end;
  const auto it = std::lower_bound(first, last, word);
  return it != last && *it == word ? static_cast<std::uint32_t>(it - words.begin()) : kNowhere;
}

}  // namespace

std::uint32_t OnlineBlock::find_child(std::uint32_t c, std::uint32_t word) const {
  return find(context_word, context_child[c], context_child[c + 1], word);
}

std::uint32_t OnlineBlock::find_entry(std::uint32_t c, std::uint32_t word) const {
  return find(entry_word, context_entry[c], context_entry[c + 1], word);
}

void OnlineBlock::walk(std::span<const std::uint32_t> text, std::uint32_t at, std::uint32_t limit,
                       std::vector<std::uint32_t>& path) const {
  path.clear();
  if (n_contexts() == 0 || limit == 0) return;
  for (std::uint32_t c = 0, d = 1; c != kNowhere;) {
    const std::uint32_t length = context_length[c];
    if (length > limit) return;
    while (d < length && text[context_end[c] - 1 - d] == text[at - 1 - d]) ++d;
    if (d < length) return;
    path.push_back(c);
    if (d == limit) return;
    c = find_child(c, text[at - 1 - d]);
    ++d;
  }
}

OnlineGrowth::OnlineGrowth(OnlineBlock& block, std::span<const std::uint32_t> text, bool collapse)
    : block_(block), text_(text), collapse_(collapse) {
  reset();
}

void OnlineGrowth::reset() {
  root_ = block_.n_contexts() ? 0 : kNowhere;
  old_contexts_ = static_cast<std::uint32_t>(block_.n_contexts());
  old_entries_ = static_cast<std::uint32_t>(block_.n_entries());
  children_.clear();
  entries_.clear();
  first_new_.assign(old_contexts_, kNowhere);
  next_new_.clear();
}

void OnlineGrowth::insert(std::uint32_t at, std::uint32_t word, std::uint32_t limit) {
  auto& b = block_;
  if (root_ == kNowhere) {
    grow(kNowhere, kNowhere, at, limit, word);
    root_ = 0;
    return;
  }
  std::uint32_t c = root_, above = kNowhere, d = 0;
  while (true) {
    const std::uint32_t stop = std::min(b.context_length[c], limit);
    for (++d; d < stop && text_[b.context_end[c] - 1 - d] == text_[at - 1 - d];) ++d;
    if (d < b.context_length[c]) c = split(c, d);
    ++b.context_count[c];
    above = count_entry(c, word, above);
    if (d == limit) return;
    const std::uint32_t next = child(c, text_[at - 1 - d]);
    if (next == kNowhere) return grow(c, above, at, limit, word);
    c = next;
  }
}

// The class at first sight: all longer contexts of this history, in one node or one node each.
void OnlineGrowth::grow(std::uint32_t parent, std::uint32_t parent_entry, std::uint32_t at, std::uint32_t limit,
                        std::uint32_t word) {
  std::uint32_t length = parent == kNowhere ? 0 : block_.context_length[parent];
  while (length < limit) {
    const std::uint32_t above = length;
    length = collapse_ ? limit : length + 1;
    const std::uint32_t c = new_context(parent, length, at, 1);
    if (parent != kNowhere) children_[key(parent, text_[at - 1 - above])] = c;
    parent_entry = new_entry(c, word, parent_entry);
    block_.entry_count[parent_entry] = 1;
    parent = c;
  }
}

std::uint32_t OnlineGrowth::split(std::uint32_t c, std::uint32_t length) {
  auto& b = block_;
  const std::uint32_t parent = b.context_parent[c];
  const std::uint32_t upper = new_context(parent, length, b.context_end[c], b.context_count[c]);
  if (parent == kNowhere) root_ = upper;
  else children_[key(parent, word_of(c))] = upper;
  b.context_parent[c] = upper;
  children_[key(upper, word_of(c))] = c;
  const auto copy = [&](std::uint32_t e) {
    const std::uint32_t twin = new_entry(upper, b.entry_word[e], b.entry_parent[e]);
    b.entry_count[twin] = b.entry_count[e];
    b.w[twin] = b.w[e];
    b.z[twin] = b.z[e];
    b.entry_parent[e] = twin;
  };
  if (c < old_contexts_)
    for (std::uint32_t e = b.context_entry[c]; e < b.context_entry[c + 1]; ++e) copy(e);
  for (std::uint32_t e = first_new_[c]; e != kNowhere; e = next_new_[e - old_entries_]) copy(e);
  return upper;
}

std::uint32_t OnlineGrowth::word_of(std::uint32_t c) const {
  return text_[block_.context_end[c] - 1 - block_.length_above(c)];
}

std::uint32_t OnlineGrowth::child(std::uint32_t c, std::uint32_t word) const {
  if (const auto it = children_.find(key(c, word)); it != children_.end()) return it->second;  // split ones too
  return c < old_contexts_ ? block_.find_child(c, word) : kNowhere;
}

std::uint32_t OnlineGrowth::new_context(std::uint32_t parent, std::uint32_t length, std::uint32_t end,
                                        std::uint32_t count) {
  auto& b = block_;
  if (b.n_contexts() >= kNowhere - 1) throw InvalidInput("online n-grams: more than 4294967293 contexts after a word");
  b.context_parent.push_back(parent);
  b.context_length.push_back(length);
  b.context_end.push_back(end);
  b.context_count.push_back(count);
  first_new_.push_back(kNowhere);
  return static_cast<std::uint32_t>(b.n_contexts() - 1);
}

std::uint32_t OnlineGrowth::new_entry(std::uint32_t c, std::uint32_t word, std::uint32_t parent) {
  auto& b = block_;
  if (b.n_entries() >= kNowhere - 1) throw InvalidInput("online n-grams: more than 4294967293 n-grams after a word");
  const auto e = static_cast<std::uint32_t>(b.n_entries());
  b.entry_word.push_back(word);
  b.entry_parent.push_back(parent);
  b.entry_count.push_back(0);
  b.w.push_back(0.0);
  b.z.push_back(0.0);
  entries_[key(c, word)] = e;
  next_new_.push_back(first_new_[c]);
  first_new_[c] = e;
  return e;
}

std::uint32_t OnlineGrowth::count_entry(std::uint32_t c, std::uint32_t word, std::uint32_t parent) {
  std::uint32_t e = c < old_contexts_ ? block_.find_entry(c, word) : kNowhere;
  if (e == kNowhere) {
    const auto it = entries_.find(key(c, word));
    e = it == entries_.end() ? new_entry(c, word, parent) : it->second;
  }
  ++block_.entry_count[e];
  return e;
}

void OnlineGrowth::finish() {
  if (block_.n_contexts() == old_contexts_ && block_.n_entries() == old_entries_) return;
  OnlineBlock to;
  const std::vector<std::uint32_t> order = order_contexts(to);
  move_entries(order, to);
  to.step = block_.step;
  block_ = std::move(to);
  reset();
}

// Level by level; returns the old numbers in the new order.
std::vector<std::uint32_t> OnlineGrowth::order_contexts(OnlineBlock& to) const {
  const auto& b = block_;
  const std::size_t C = b.n_contexts();
  std::vector<std::uint32_t> words(C), start(C + 2, 0), children(C), order;
  for (std::uint32_t c = 0; c < C; ++c) {
    words[c] = word_of(c);
    if (c != root_) ++start[b.context_parent[c] + 2];
  }
  for (std::size_t c = 2; c < start.size(); ++c) start[c] += start[c - 1];
  for (std::uint32_t c = 0; c < C; ++c)
    if (c != root_) children[start[b.context_parent[c] + 1]++] = c;
  const auto before = [&](std::uint32_t x, std::uint32_t y) { return words[x] < words[y]; };
  order.reserve(C);
  order.push_back(root_);
  to.context_parent.assign(C, kNowhere);
  to.context_child.assign(C + 1, static_cast<std::uint32_t>(C));
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    const auto first = children.begin() + start[order[i]], last = children.begin() + start[order[i] + 1];
    if (!std::is_sorted(first, last, before)) std::sort(first, last, before);
    to.context_child[i] = static_cast<std::uint32_t>(order.size());
    for (auto it = first; it != last; ++it) {
      to.context_parent[order.size()] = i;
      order.push_back(*it);
    }
  }
  for (const std::uint32_t c : order) {
    to.context_length.push_back(b.context_length[c]);
    to.context_end.push_back(b.context_end[c]);
    to.context_count.push_back(b.context_count[c]);
    to.context_word.push_back(words[c]);
  }
  return order;
}

void OnlineGrowth::move_entries(const std::vector<std::uint32_t>& order, OnlineBlock& to) const {
  const auto& b = block_;
  const std::size_t E = b.n_entries();
  std::vector<std::uint32_t> place(E), from;
  from.reserve(E);
  const auto before = [&](std::uint32_t x, std::uint32_t y) { return b.entry_word[x] < b.entry_word[y]; };
  to.context_entry.clear();
  to.context_entry.reserve(order.size() + 1);
  for (const std::uint32_t c : order) {
    const std::size_t first = from.size();
    to.context_entry.push_back(static_cast<std::uint32_t>(first));
    if (c < old_contexts_)
      for (std::uint32_t e = b.context_entry[c]; e < b.context_entry[c + 1]; ++e) from.push_back(e);
    if (first_new_[c] == kNowhere) continue;
    for (std::uint32_t e = first_new_[c]; e != kNowhere; e = next_new_[e - old_entries_]) from.push_back(e);
    std::sort(from.begin() + static_cast<std::ptrdiff_t>(first), from.end(), before);
  }
  to.context_entry.push_back(static_cast<std::uint32_t>(E));
  for (std::uint32_t i = 0; i < E; ++i) place[from[i]] = i;
  to.entry_word.resize(E), to.entry_parent.resize(E), to.entry_count.resize(E), to.w.resize(E), to.z.resize(E);
  for (std::size_t i = 0; i < E; ++i) {
    const std::uint32_t e = from[i], parent = b.entry_parent[e];
    to.entry_word[i] = b.entry_word[e];
    to.entry_parent[i] = parent == kNowhere ? kNowhere : place[parent];
    to.entry_count[i] = b.entry_count[e];
    to.w[i] = b.w[e];
    to.z[i] = b.z[e];
  }
}

}  // namespace loglinear::stream
