#include "lists/edit_distance.hh"

#include <algorithm>
#include <utility>
#include <vector>

#include "lists/features.hh"
#include "util/blanks.hh"
#include "util/errors.hh"
#include "util/views.hh"

namespace loglinear::lists {

namespace {

// One column of the table, kept as differences between neighbours down it: bit i of block b is place 64 b + i of the
// pattern. `plus` marks where the distance grows by one, `minus` where it falls by one.
struct Block {
  std::uint64_t plus = ~std::uint64_t{0}, minus = 0;
};

// Advances one block by one symbol of the text. carry: the difference that enters at the top, -1, 0 or 1; returns the
// one that leaves at `last`, a bit of the block.
int advance(Block& block, std::uint64_t match, int carry, std::uint64_t last) {
  const std::uint64_t plus = block.plus, minus = block.minus;
  const std::uint64_t vertical = match | minus;
  if (carry < 0) match |= 1;
  const std::uint64_t horizontal = (((match & plus) + plus) ^ plus) | match;
  std::uint64_t up = minus | ~(horizontal | plus), down = plus & horizontal;
  const int out = (up & last) ? 1 : (down & last) ? -1 : 0;
  up = up << 1 | (carry > 0);
  down = down << 1 | (carry < 0);
  block.plus = down | ~(vertical | up);
  block.minus = up & vertical;
  return out;
}

// Neither is empty.
std::int64_t distance_by_blocks(std::span<const std::int32_t> pattern, std::span<const std::int32_t> text) {
  const std::size_t n_blocks = (pattern.size() + 63) / 64;
  std::vector<std::int32_t> symbols(pattern.begin(), pattern.end());
  std::sort(symbols.begin(), symbols.end());
  symbols.erase(std::unique(symbols.begin(), symbols.end()), symbols.end());
  const auto number = [&](std::int32_t s) {
    return static_cast<std::size_t>(std::lower_bound(symbols.begin(), symbols.end(), s) - symbols.begin());
  };
  std::vector<std::size_t> places(pattern.size());  // by symbol, ascending: no table of symbols x blocks
  std::vector<std::size_t> begin(symbols.size() + 1, 0);
  for (const std::int32_t s : pattern) ++begin[number(s) + 1];
  for (std::size_t s = 0; s < symbols.size(); ++s) begin[s + 1] += begin[s];
  std::vector<std::size_t> next(begin.begin(), begin.end() - 1);
  for (std::size_t i = 0; i < pattern.size(); ++i) places[next[number(pattern[i])]++] = i;

  std::vector<Block> blocks(n_blocks);
  std::vector<std::uint64_t> match(n_blocks, 0);
  auto distance = static_cast<std::int64_t>(pattern.size());
  for (const std::int32_t symbol : text) {
    const std::size_t s = number(symbol);
    const bool known = s < symbols.size() && symbols[s] == symbol;
    const auto toggle = [&] {
      for (std::size_t k = begin[s]; k < begin[s + 1]; ++k)
        match[places[k] / 64] ^= std::uint64_t{1} << (places[k] % 64);
    };
    if (known) toggle();
    int carry = 1;  // the first row of the table is 0, 1, 2, ...
    for (std::size_t b = 0; b < n_blocks; ++b) {
      const std::size_t last = b + 1 < n_blocks ? 63 : (pattern.size() - 1) % 64;
      carry = advance(blocks[b], match[b], carry, std::uint64_t{1} << last);
    }
    distance += carry;
    if (known) toggle();
  }
  return distance;
}

// Words as numbers of their own; characters as they are.
class Symbols {
 public:
  explicit Symbols(bool by_characters) : by_characters_(by_characters) {}
  void read(std::string_view text, std::vector<std::int32_t>& out) {
    out.clear();
    if (by_characters_) for_each_character(text, [&](std::int32_t c) { out.push_back(c); });
    else for_each_blank_separated(text, [&](std::string_view word) { out.push_back(words_.intern(word)); });
  }

 private:
  bool by_characters_;
  Interner words_;
};

}  // namespace

std::int64_t edit_distance(std::span<const std::int32_t> a, std::span<const std::int32_t> b) {
  std::size_t front = 0, back = 0;
  const std::size_t n = std::min(a.size(), b.size());
  while (front < n && a[front] == b[front]) ++front;
  while (back < n - front && a[a.size() - 1 - back] == b[b.size() - 1 - back]) ++back;
  a = a.subspan(front, a.size() - front - back);
  b = b.subspan(front, b.size() - front - back);
  if (a.empty() || b.empty()) return static_cast<std::int64_t>(std::max(a.size(), b.size()));
  if (a.size() > b.size()) std::swap(a, b);
  return distance_by_blocks(a, b);
}

void edit_distances(ThreadPool& pool, Strings transcripts, Strings texts, std::span<const std::int64_t> list_ptr,
                    bool by_characters, std::span<double> distances, std::span<double> lengths) {
  transcripts.check();
  texts.check();
  check_list_ptr(list_ptr, texts.size(), "candidates");
  const std::size_t n_lists = list_ptr.size() - 1;
  require(transcripts.size() == n_lists, "there must be one transcript for each list");
  require(distances.size() == texts.size(), "distances do not have one entry per candidate");
  require(lengths.size() == n_lists, "lengths do not have one entry per list");
  parallel_for(pool, n_lists, 64, [&](std::size_t begin, std::size_t end) {
    Symbols symbols(by_characters);
    std::vector<std::int32_t> transcript, text;
    for (std::size_t i = begin; i < end; ++i) {
      symbols.read(transcripts[i], transcript);
      lengths[i] = static_cast<double>(transcript.size());
      for (auto t = static_cast<std::size_t>(list_ptr[i]); t < static_cast<std::size_t>(list_ptr[i + 1]); ++t) {
        symbols.read(texts[t], text);
        distances[t] = static_cast<double>(edit_distance(transcript, text));
      }
    }
  });
}

}  // namespace loglinear::lists
