// Simple mutations of inputs, where there is no libFuzzer: bytes and words set, inserted, removed, repeated and joined.
#pragma once
#include <random>

#include "fuzz/target.hh"

namespace loglinear::fuzz {

class Mutator {
 public:
  Mutator(const Target& target, unsigned seed) : target_(target), corpus_(target.seeds()), random_(seed) {}
  void add(Bytes bytes) { corpus_.push_back(std::move(bytes)); }
  const std::vector<Bytes>& corpus() const { return corpus_; }

  Bytes next() {
    Bytes data = pick();
    for (std::size_t n = 1 + below(5); n > 0; --n) change(data);
    return data;
  }

 private:
  std::size_t below(std::size_t n) { return random_() % n; }
  const Bytes& pick() {
    static const Bytes empty;
    return corpus_.empty() ? empty : corpus_[below(corpus_.size())];
  }
  void insert(Bytes& data, std::size_t at, const Bytes& piece) {
    data.insert(data.begin() + static_cast<std::ptrdiff_t>(at), piece.begin(), piece.end());
  }
  static Bytes piece_of(const Bytes& data, std::size_t at, std::size_t most) {
    const std::size_t end = std::min(data.size(), at + most);
    return {data.begin() + static_cast<std::ptrdiff_t>(at), data.begin() + static_cast<std::ptrdiff_t>(end)};
  }
  void change(Bytes& data) {
    const std::size_t at = below(data.size() + 1), kind = below(6);
    const auto begin = data.begin() + static_cast<std::ptrdiff_t>(at);
    if (kind == 0 && at < data.size()) {
      data[at] = static_cast<std::uint8_t>(below(2) ? random_() : kPlain + below(std::size(kIntegers)));
    } else if (kind == 1 && at < data.size()) {
      data[at] = static_cast<std::uint8_t>(data[at] + (below(2) ? 1 : 255));
    } else if (kind == 2) {
      data.erase(begin, begin + static_cast<std::ptrdiff_t>(std::min(data.size() - at, 1 + below(4))));
    } else if (kind == 3 && !target_.words.empty()) {
      const std::string& word = target_.words[below(target_.words.size())];
      insert(data, at, {word.begin(), word.end()});
    } else if (kind == 4) {
      const Bytes& other = pick();
      insert(data, at, piece_of(other, below(other.size() + 1), 40));
    } else {
      const Bytes piece = piece_of(data, at, 1 + below(12));
      for (std::size_t n = 1 + below(8); n > 0; --n) insert(data, at, piece);
    }
  }

  const Target& target_;
  std::vector<Bytes> corpus_;
  std::mt19937 random_;
};

}  // namespace loglinear::fuzz
