// Attributes of tokens by templates, after CRF++ and Wapiti.
//
// A macro looks at a place, which is a row (relative to the token, or counted from an end of the sequence) and a view:
// a column with a function of its values, numbered. A template is a tuple of macros; an attribute is the number of a
// template and the codes that its macros see:
//
//   code >= 0    number of a value of the view
//   code = -1    a value that the view does not know: there is no attribute
//   -2 k         k places before the sequence (_B-k)          -2 k - 1    k places after it (_E+k)
//
// or, where a set has marks for its borders (`n_borders` on either side), what the view makes of them: the last
// 2 n_borders entries of its map are those of the marks 1, 2, ... places before the sequence, then after it. Places
// further out have the last mark of their side.
//
// A macro may also look at a gap: any row before the others of its template (kAnyBefore), or after them (kAnyAfter), and
// all such macros of a template look at the same row. The template then makes an attribute for every such row; one that
// several rows share is there several times, and rows outside the sequence make none.
//
// Keys are tuples of integers and are always compared in full; no strings are made. Tokens go in blocks: the codes of
// each place, then the hash of each template, then the look-ups with their memory already on its way.
#pragma once
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "util/interner.hh"
#include "util/thread_pool.hh"

namespace loglinear::text {

inline constexpr std::int32_t kUnknownCode = -1;
inline constexpr std::int32_t kNoMacro =
    std::numeric_limits<std::int32_t>::min();  // pads the codes of a short template
inline constexpr std::int32_t kMaxRow = 1000;  // furthest row of a macro
inline constexpr std::int32_t kLeastCode = -2 * kMaxRow - 1;

inline constexpr std::int32_t kAnyBefore = std::numeric_limits<std::int32_t>::min();
inline constexpr std::int32_t kAnyAfter = std::numeric_limits<std::int32_t>::max();

struct Macro {
  std::int32_t row = 0;  // absolute: 1, 2, ... from the first token, -1, -2, ... from the last
  std::int32_t view = 0;
  bool absolute = false;
  bool is_gap() const { return row == kAnyBefore || row == kAnyAfter; }
};

// The gap of a template: where it lies (0: there is none), and the furthest row on its side that other macros look at.
struct Gap {
  std::int32_t row = 0, reach = 0;
  explicit operator bool() const { return row != 0; }
};

// The macros of all templates; equal places are looked at once.
class TemplateSet {
 public:
  // Template t has the macros [ptr[t], ptr[t + 1]). Throws InvalidInput.
  TemplateSet(std::span<const std::int64_t> ptr, std::span<const Macro> macros, std::size_t n_views,
              std::size_t n_borders = 0);

  std::size_t size() const { return ptr_.size() - 1; }
  std::size_t n_views() const { return n_views_; }
  std::size_t n_macros(std::size_t t) const { return ptr_[t + 1] - ptr_[t]; }
  std::size_t max_macros() const { return max_macros_; }
  std::size_t place(std::size_t t, std::size_t m) const { return place_[ptr_[t] + m]; }
  const std::vector<Macro>& places() const { return places_; }
  const Macro& macro(std::size_t t, std::size_t m) const { return places_[place(t, m)]; }
  const Gap& gap(std::size_t t) const { return gaps_[t]; }
  bool has_gaps() const { return has_gaps_; }
  std::size_t n_borders() const { return n_borders_; }

 private:
  Gap gap_of(std::size_t t) const;

  std::vector<std::size_t> ptr_, place_;
  std::vector<Macro> places_;
  std::vector<Gap> gaps_;  // [n_templates]
  bool has_gaps_ = false;
  std::size_t n_views_, n_borders_, max_macros_ = 0;
};

// The tokens, as each view sees them: token t has code map[ids[t]].
template <class Code>
struct ViewedTokens {
  std::span<const std::int64_t> sequence_ptr;           // [n_sequences + 1]
  std::vector<std::span<const std::int32_t>> ids;       // [n_views][n_tokens]
  std::vector<std::span<const Code>> maps;              // [n_views][n_values]

  std::size_t n_tokens() const { return static_cast<std::size_t>(sequence_ptr.back()); }
  void check(std::size_t n_views) const;  // throws InvalidInput
};

struct AttributeRows {
  std::vector<std::int64_t> indptr;   // [n_tokens + 1]
  std::vector<std::int32_t> indices;  // in the order of the templates, those with gaps last
};

struct Attributes {
  std::vector<std::int32_t> templates;  // [n]
  std::vector<std::int32_t> codes;      // [n][max_macros], kNoMacro where the template has fewer
};

struct AttributesView {
  std::span<const std::int32_t> templates, codes;
};

template <class Code>
class Block;

// Looks attributes up; keeps the views, which must outlive it. Throws InvalidInput for codes that the template cannot
// have (n_values: those of each view), and for attributes that are there twice.
class AttributeIndex {
 public:
  AttributeIndex(const TemplateSet& set, AttributesView attributes, std::span<const std::int64_t> n_values);
  AttributeRows find(ThreadPool& pool, const ViewedTokens<std::int32_t>& tokens) const;

 private:
  void make_tables(std::span<const std::int64_t> n_values);
  // out[i * n_templates] = the attribute that template t makes of token i of the block, -1 where it is unknown.
  void look_up(Block<std::int32_t>& block, std::size_t t, std::int32_t* out) const;

  const TemplateSet& set_;
  AttributesView attributes_;
  HashSlots slots_;
  std::vector<std::vector<std::int32_t>> tables_;  // of a template with one macro: [code - kLeastCode], or none
};

// The attributes of the tokens: first the known ones, with their numbers, then those that occur min_count times, by
// first occurrence in order of tokens and templates; those of templates with gaps after all others. The same for any number of threads.
struct FittedAttributes {
  AttributeRows rows;
  Attributes attributes;
};
FittedAttributes fit_attributes(ThreadPool& pool, const TemplateSet& set,
                                const ViewedTokens<std::int32_t>& tokens, AttributesView known, std::int64_t min_count);

// Attribute numbers by hashing: template t gets numbers in [first[t], first[t] + 2^bits). Maps hold hashes of the
// values' strings, so that numbers do not depend on the numbering of values.
AttributeRows hash_attributes(ThreadPool& pool, const TemplateSet& set, const ViewedTokens<std::uint64_t>& tokens,
                              std::span<const std::int32_t> first, int bits);

}  // namespace loglinear::text
