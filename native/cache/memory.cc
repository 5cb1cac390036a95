#include "cache/memory.hh"

#include <algorithm>
#include <cmath>

#include "util/errors.hh"

namespace loglinear::cache {

Memory::Memory(const Shape& shape, std::size_t n_words, std::span<const std::uint32_t> words,
               std::span<const std::int64_t> document_start)
    : shape_(shape), words_(words), document_start_(document_start), slot_(n_words, kEmpty),
      sum_(shape.half_lives.size()), last_after_(n_words, -1), before_(shape.window + 1, -1) {
  for (std::size_t j = 0; j <= shape.half_lives.size(); ++j) {
    const double half_life = j < shape.half_lives.size() ? shape.half_lives[j] : shape.ngram_half_life;
    decay_.emplace_back(shape.window + 2);
    for (std::size_t age = 0; age < decay_.back().size(); ++age)
      decay_.back()[age] = std::exp2(-static_cast<double>(age) / half_life);
  }
}

void Memory::clear() {
  for (const std::uint32_t word : held_) slot_[word] = kEmpty;
  held_.clear();
  uses_.clear();
  since_.clear();
  for (auto& sums : sum_) sums.clear();
}

void Memory::begin(std::size_t event) {
  clear();
  document_ = static_cast<std::size_t>(
      std::upper_bound(document_start_.begin(), document_start_.end(), static_cast<std::int64_t>(event)) -
      document_start_.begin() - 1);
  const auto start = static_cast<std::size_t>(document_start_[document_]);
  first_ = event - start > shape_.window ? event - shape_.window : start;
  std::fill(last_after_.begin(), last_after_.end(), -1);
  for (event_ = first_; event_ < event;) advance();
}

void Memory::advance() {
  add(event_++);
  if (event_ == static_cast<std::size_t>(document_start_[document_ + 1])) {
    while (document_ + 2 < document_start_.size() && event_ == static_cast<std::size_t>(document_start_[document_ + 1]))
      ++document_;
    clear();
    first_ = event_;
    return;
  }
  if (event_ - first_ > shape_.window) forget(first_++);
}

// A use at the event, as of the event after it.
void Memory::add(std::size_t event) {
  if (event > 0) {  // also the word after which it came, for n-grams
    const std::uint32_t previous = words_[event - 1];
    before_[event % before_.size()] = last_after_[previous];
    last_after_[previous] = static_cast<std::int64_t>(event);
  }
  const std::uint32_t word = words_[event];
  if (word == 0) return;
  std::uint32_t& slot = slot_[word];
  if (slot == kEmpty) {
    slot = static_cast<std::uint32_t>(held_.size());
    held_.push_back(word);
    uses_.push_back(0);
    since_.push_back(event);
    for (auto& sums : sum_) sums.push_back(0.0);
  }
  ++uses_[slot];
  const std::size_t age = event - since_[slot];
  for (std::size_t j = 0; j < sum_.size(); ++j) sum_[j][slot] = sum_[j][slot] * decay_[j][age] + 1.0;
  since_[slot] = event;  // the use itself has age 0 there
}

void Memory::forget(std::size_t event) {
  const std::uint32_t word = words_[event];
  if (word == 0) return;
  const std::uint32_t slot = slot_[word];
  if (--uses_[slot] > 0) {
    const std::size_t age = since_[slot] - event;
    for (std::size_t j = 0; j < sum_.size(); ++j) sum_[j][slot] = std::max(sum_[j][slot] - decay_[j][age], 0.0);
    return;
  }
  const std::uint32_t last = held_.back();  // takes the place that becomes free
  held_[slot] = last, uses_[slot] = uses_.back(), since_[slot] = since_.back();
  for (auto& sums : sum_) sums[slot] = sums.back(), sums.pop_back();
  slot_[last] = slot;
  slot_[word] = kEmpty;
  held_.pop_back(), uses_.pop_back(), since_.pop_back();
}

void Memory::sums(std::vector<double>& out) const {
  const std::size_t n = held_.size();
  out.resize(sum_.size() * n);
  for (std::size_t j = 0; j < sum_.size(); ++j)
    for (std::size_t slot = 0; slot < n; ++slot) out[j * n + slot] = sum_[j][slot] * decay_[j][event_ - since_[slot]];
}

void Memory::repeated(std::vector<Repeated>& out) {
  out.clear();
  if (shape_.order < 2 || event_ == first_) return;
  place_.resize(std::max(place_.size(), held_.size()), kEmpty);
  const std::uint32_t previous = words_[event_ - 1];
  const bool longer = shape_.order > 2 && event_ - first_ > 1;
  for (std::int64_t i = last_after_[previous]; i > static_cast<std::int64_t>(first_);
       i = before_[static_cast<std::size_t>(i) % before_.size()]) {
    const auto at = static_cast<std::size_t>(i);
    if (words_[at] == 0) continue;
    const std::uint32_t slot = slot_[words_[at]];
    if (place_[slot] == kEmpty) {
      place_[slot] = static_cast<std::uint32_t>(out.size());
      out.push_back({slot, {0.0, 0.0}});
    }
    Repeated& one = out[place_[slot]];
    const double use = decay_.back()[event_ - at];
    one.sum[0] += use;
    if (longer && at > first_ + 1 && words_[at - 2] == words_[event_ - 2]) one.sum[1] += use;
  }
  for (const Repeated& one : out) place_[one.slot] = kEmpty;
}

}  // namespace loglinear::cache
