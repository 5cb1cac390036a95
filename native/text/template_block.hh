// Blocks of tokens with the codes and hashes of their attributes, shared by fitting and by lookup of templates.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "text/templates.hh"
#include "util/errors.hh"

namespace loglinear::text {

inline constexpr std::size_t kBlock = 256;  // tokens whose codes and hashes fit in the first caches
inline constexpr std::int64_t kMaxAttributes = std::numeric_limits<std::int32_t>::max();

inline std::int32_t before_code(std::int64_t k) { return static_cast<std::int32_t>(-2 * k); }
inline std::int32_t after_code(std::int64_t k) { return static_cast<std::int32_t>(-2 * k - 1); }

inline std::uint64_t hash_seed(std::size_t t) { return mix_bits(0x5851F42D4C957F2Du + t); }
inline std::uint64_t hash_step(std::uint64_t h, std::uint64_t code) {
  h = (h ^ code) * 0x9E3779B97F4A7C15u;
  return h ^ (h >> 32);
}
inline std::uint64_t hash_end(std::uint64_t h) {
  return mix_bits(h) | 1;
}  // never 0, which marks an unknown value

inline std::uint64_t boundary_code(std::int32_t code, std::uint64_t) {
  return mix_bits(static_cast<std::uint64_t>(static_cast<std::int64_t>(code)));
}
inline std::int32_t boundary_code(std::int32_t code, std::int32_t) { return code; }
inline std::uint64_t hash_bits_of(std::int32_t code) { return static_cast<std::uint32_t>(code); }
inline std::uint64_t hash_bits_of(std::uint64_t code) { return code; }
inline bool is_unknown(std::int32_t code) { return code == kUnknownCode; }
inline bool is_unknown(std::uint64_t) { return false; }

// The row that a macro, not of a gap, looks at from a token of the sequence [first, last).
inline std::int64_t row_of(const Macro& macro, std::int64_t token, std::int64_t first, std::int64_t last) {
  if (!macro.absolute) return token + macro.row;
  return macro.row > 0 ? first + macro.row - 1 : last + macro.row;
}

// The code of row `at` of a view of the sequence [first, last), with `borders` marks on either side.
template <class Code>
Code code_at(std::span<const std::int32_t> ids, std::span<const Code> map, std::size_t borders, std::int64_t at,
             std::int64_t first, std::int64_t last) {
  if (at < first || at >= last) {
    const std::int64_t k = at < first ? first - at : at - last + 1;
    if (borders == 0) return boundary_code(at < first ? before_code(k) : after_code(k), Code());
    const std::size_t place = std::min(static_cast<std::size_t>(k), borders) - 1 + (at < first ? 0 : borders);
    return map[map.size() - 2 * borders + place];
  }
  const std::int32_t id = ids[static_cast<std::size_t>(at)];
  if (static_cast<std::uint32_t>(id) >= map.size() - 2 * borders)
    throw InvalidInput("templates: value number " + std::to_string(id) + " is outside [0, " +
                       std::to_string(map.size() - 2 * borders) + ")");
  return map[static_cast<std::size_t>(id)];
}

// Codes and hashes of up to kBlock tokens.
template <class Code>
class Block {
 public:
  Block(const TemplateSet& set, const ViewedTokens<Code>& tokens)
      : set_(set), tokens_(tokens), codes_(set.places().size() * kBlock), hashes_(set.size() * kBlock) {
    for (const auto& map : tokens.maps)
      require(map.size() >= 2 * set.n_borders(), "templates: a map lacks the marks of the borders");
    for (std::size_t t = 0; t < set.size(); ++t) {
      begin_of_.push_back(seen_.size());
      for (std::size_t m = 0; m < set.n_macros(t); ++m) seen_.push_back(codes_.data() + set.place(t, m) * kBlock);
    }
    begin_of_.push_back(seen_.size());
  }
  Block(const Block&) = delete;

  // The codes of tokens [begin, end), at most kBlock of them.
  void load(std::size_t begin, std::size_t end) {
    begin_ = begin;
    size_ = end - begin;
    find_sequences();
    for (std::size_t p = 0; p < set_.places().size(); ++p)
      if (!set_.places()[p].is_gap()) look(set_.places()[p], codes_.data() + p * kBlock);
  }

  // The hashes of template t for these tokens, 0 where a value is unknown.
  const std::uint64_t* hash(std::size_t t) {
    std::uint64_t* const out = hashes_.data() + t * kBlock;
    std::fill_n(out, size_, hash_seed(t));
    std::fill_n(unknown_, size_, false);
    for (std::size_t m = 0; m < set_.n_macros(t); ++m) {
      const Code* const codes = macros(t)[m];
      for (std::size_t i = 0; i < size_; ++i) {
        out[i] = hash_step(out[i], hash_bits_of(codes[i]));
        unknown_[i] = unknown_[i] | is_unknown(codes[i]);
      }
    }
    for (std::size_t i = 0; i < size_; ++i) out[i] = unknown_[i] ? 0 : hash_end(out[i]);
    return out;
  }

  std::size_t size() const { return size_; }
  const Code* const* macros(std::size_t t) const { return seen_.data() + begin_of_[t]; }  // [n_macros][size]

 private:
  void find_sequences() {
    const auto ptr = tokens_.sequence_ptr;
    auto sequence = static_cast<std::size_t>(
        std::upper_bound(ptr.begin(), ptr.end(), static_cast<std::int64_t>(begin_)) - ptr.begin() - 1);
    for (std::size_t i = 0; i < size_; ++i) {
      while (ptr[sequence + 1] <= static_cast<std::int64_t>(begin_ + i)) ++sequence;
      first_[i] = ptr[sequence];
      last_[i] = ptr[sequence + 1];
    }
  }

  void look(const Macro& macro, Code* out) {
    const auto view = static_cast<std::size_t>(macro.view);
    const std::span<const std::int32_t> ids = tokens_.ids[view];
    const std::span<const Code> map = tokens_.maps[view];
    for (std::size_t i = 0; i < size_; ++i) {
      const std::int64_t at = row_of(macro, static_cast<std::int64_t>(begin_ + i), first_[i], last_[i]);
      out[i] = code_at(ids, map, set_.n_borders(), at, first_[i], last_[i]);
    }
  }

  const TemplateSet& set_;
  const ViewedTokens<Code>& tokens_;
  std::size_t begin_ = 0, size_ = 0;
  std::vector<Code> codes_;             // [n_places][kBlock]
  std::vector<std::uint64_t> hashes_;   // [n_templates][kBlock]
  std::vector<const Code*> seen_;       // the codes that each macro of each template sees
  std::vector<std::size_t> begin_of_;   // [n_templates + 1], into seen_
  std::int64_t first_[kBlock], last_[kBlock];
  bool unknown_[kBlock];
};

inline std::uint64_t hash_key(const TemplateSet& set, std::size_t t, const std::int32_t* codes) {
  std::uint64_t h = hash_seed(t);
  for (std::size_t m = 0; m < set.n_macros(t); ++m) h = hash_step(h, hash_bits_of(codes[m]));
  return hash_end(h);
}

// Whether attribute `id` is the one that template t makes of token i of a block.
struct SameAttribute {
  const std::int32_t* templates;
  const std::int32_t* codes;
  std::size_t width;  // codes of an attribute
  std::size_t t, n_macros;
  const std::int32_t* const* macros;
  std::size_t i;

  std::int32_t code(std::size_t m) const { return macros[m][i]; }
  bool operator()(std::int32_t id) const {
    const auto a = static_cast<std::size_t>(id);
    if (static_cast<std::size_t>(templates[a]) != t) return false;
    for (std::size_t m = 0; m < n_macros; ++m)
      if (codes[a * width + m] != macros[m][i]) return false;
    return true;
  }
};

inline void check_shape(const TemplateSet& set, AttributesView attributes) {
  if (attributes.codes.size() != attributes.templates.size() * set.max_macros())
    throw InvalidInput("attributes: " + std::to_string(attributes.codes.size()) + " codes for " +
                       std::to_string(attributes.templates.size()) + " attributes of " +
                       std::to_string(set.max_macros()) + " macros");
  for (const std::int32_t t : attributes.templates)
    if (t < 0 || static_cast<std::size_t>(t) >= set.size())
      throw InvalidInput("attributes: there is no template " + std::to_string(t));
}

}  // namespace loglinear::text
