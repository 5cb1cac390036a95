#include "disk/spool.hh"

#include <algorithm>
#include <string>

#include "text/corpus.hh"
#include "util/errors.hh"
#include "util/views.hh"

namespace loglinear::disk {

namespace {

constexpr std::size_t kBuffer = 1 << 18;  // numbers

}  // namespace

void TokenSpool::add(ThreadPool& pool, std::span<std::uint32_t> tokens, std::span<const std::int64_t> sentence_ptr,
                     const UnitsView& part) {
  part.units.check();
  const std::size_t n_units = part.units.size();
  require(part.counts.size() == n_units && part.first_text.size() == n_units && part.first_line.size() == n_units,
          "token spool: counts and places need one number per unit");
  trie::SentencesView{std::max<std::size_t>(n_units, 1), tokens, sentence_ptr}.check();
  require(n_units_ == counts_.size(), "token spool: nothing can be added once its units are forgotten");
  std::vector<std::uint32_t> numbers(n_units);
  for (std::size_t i = 0; i < n_units; ++i) {
    const auto id = static_cast<std::size_t>(units_.intern(part.units[i]));
    if (id == counts_.size()) {
      counts_.push_back(0);
      first_text_.push_back(part.first_text[i]);
      first_line_.push_back(part.first_line[i]);
    }
    counts_[id] += part.counts[i];
    numbers[i] = static_cast<std::uint32_t>(id);
  }
  n_units_ = counts_.size();
  text::renumber_tokens(pool, tokens, numbers);
  std::vector<std::uint32_t> buffer;
  std::uint64_t at = n_predicted() * sizeof(std::uint32_t);
  const auto write = [&] {
    file_.write(buffer.data(), buffer.size() * sizeof(std::uint32_t), at);
    at += buffer.size() * sizeof(std::uint32_t);
    buffer.clear();
  };
  for (std::size_t s = 0; s + 1 < sentence_ptr.size(); ++s) {
    const auto begin = tokens.begin() + sentence_ptr[s], end = tokens.begin() + sentence_ptr[s + 1];
    longest_ = std::max(longest_, static_cast<std::uint64_t>(end - begin));
    buffer.insert(buffer.end(), begin, end);
    buffer.push_back(kEnd);
    if (buffer.size() >= kBuffer) write();
  }
  write();
  n_tokens_ += tokens.size();
  n_sentences_ += sentence_ptr.size() - 1;
}

void TokenSpool::forget_units() {
  units_ = Interner();
  std::vector<std::int64_t>().swap(counts_);
  std::vector<std::int64_t>().swap(first_line_);
  std::vector<std::int32_t>().swap(first_text_);
}

trie::Corpus TokenSpool::piece(ThreadPool& pool, std::uint64_t begin, std::uint64_t end,
                               std::span<const std::uint32_t> numbers, std::size_t n_words, std::size_t order) const {
  require(begin <= end && end <= n_predicted(), "token spool: the piece is outside the text");
  require(numbers.size() == n_units_, "token spool: one number is needed for every unit");
  const std::uint64_t history = std::max<std::size_t>(order, 2) - 1;
  const std::uint64_t from = begin > history ? begin - history : 0;
  const bool is_first = begin < history;  // the mark before the first sentence is part of it
  trie::Corpus corpus;
  corpus.n_words = n_words;
  corpus.first = static_cast<std::size_t>(begin - from) + (is_first ? 1 : 0);
  corpus.text.resize(static_cast<std::size_t>(end - from) + (is_first ? 1 : 0));
  std::uint32_t* const text = corpus.text.data() + (is_first ? 1 : 0);
  if (is_first) corpus.text[0] = corpus.begin_word();
  parallel_for(pool, static_cast<std::size_t>(end - from), kBuffer, [&](std::size_t b, std::size_t e) {
    file_.read(text + b, (e - b) * sizeof(std::uint32_t), (from + b) * sizeof(std::uint32_t));
    for (std::size_t i = b; i < e; ++i) {
      const std::uint32_t number = text[i] == kEnd ? corpus.begin_word() : numbers[text[i]];
      if (text[i] != kEnd && number >= n_words)
        throw InvalidInput("token spool: word number " + std::to_string(number) + " is outside [0, " +
                           std::to_string(n_words) + ")");
      text[i] = number;
    }
  });
  return corpus;
}

}  // namespace loglinear::disk
