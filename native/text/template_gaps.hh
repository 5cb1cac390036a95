// Templates with gaps: the sites (token, template, row of the gap) of a text, and their attributes.
//
// A sequence of T tokens has about T^2 / 2 sites for each such template. They are visited in order of tokens, templates
// and rows, from the first row of the sequence to the last.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "text/template_block.hh"

namespace loglinear::text {

// Whether attribute `id` is that of a key of codes.
struct KeyOfGap {
  const std::int32_t* templates;
  const std::int32_t* codes;
  std::size_t width;
  std::size_t t, n_macros;
  const std::int32_t* key;

  std::int32_t code(std::size_t m) const { return key[m]; }
  bool operator()(std::int32_t id) const {
    const auto a = static_cast<std::size_t>(id);
    return static_cast<std::size_t>(templates[a]) == t && std::equal(key, key + n_macros, codes + a * width);
  }
};

// The rows [first, second) of a gap, seen from a token of the sequence [begin, end); empty where first >= second.
inline std::pair<std::int64_t, std::int64_t> gap_rows(const Gap& gap, std::int64_t token, std::int64_t begin,
                                                      std::int64_t end) {
  if (gap.row == kAnyBefore) return {begin, token + gap.reach};
  return {token + gap.reach + 1, end};
}

// visit(token, template, codes [n_macros], hash) for the sites of tokens [from, to); the hash is 0 where a value is
// unknown.
template <class Code, class Visit>
void for_gap_sites(const TemplateSet& set, const ViewedTokens<Code>& tokens, std::size_t from, std::size_t to,
                   const Visit& visit) {
  const auto ptr = tokens.sequence_ptr;
  std::vector<Code> key(set.max_macros());
  auto sequence = static_cast<std::size_t>(
      std::upper_bound(ptr.begin(), ptr.end(), static_cast<std::int64_t>(from)) - ptr.begin());
  for (std::size_t i = from; i < to; ++i) {
    const auto token = static_cast<std::int64_t>(i);
    while (ptr[sequence] <= token) ++sequence;
    const std::int64_t begin = ptr[sequence - 1], end = ptr[sequence];
    for (std::size_t t = 0; t < set.size(); ++t) {
      if (!set.gap(t)) continue;
      const auto [first, last] = gap_rows(set.gap(t), token, begin, end);
      for (std::int64_t row = first; row < last; ++row) {
        std::uint64_t hash = hash_seed(t);
        bool unknown = false;
        for (std::size_t m = 0; m < set.n_macros(t); ++m) {
          const Macro& macro = set.macro(t, m);
          const std::int64_t at = macro.is_gap() ? row : row_of(macro, token, begin, end);
          const auto view = static_cast<std::size_t>(macro.view);
          key[m] = code_at(tokens.ids[view], tokens.maps[view], set.n_borders(), at, begin, end);
          hash = hash_step(hash, hash_bits_of(key[m]));
          unknown = unknown || is_unknown(key[m]);
        }
        visit(i, t, key.data(), unknown ? 0 : hash_end(hash));
      }
    }
  }
}

// Where the sites of each token begin [n_tokens + 1]; throws InvalidInput where there are too many.
template <class Code>
std::vector<std::int64_t> gap_sites(const TemplateSet& set, const ViewedTokens<Code>& tokens) {
  std::vector<std::int64_t> ptr(set.has_gaps() ? tokens.n_tokens() + 1 : 1);
  for (std::size_t t = 0; t < set.size(); ++t) {
    if (!set.gap(t)) continue;
    for (std::size_t s = 0; s + 1 < tokens.sequence_ptr.size(); ++s) {
      const std::int64_t begin = tokens.sequence_ptr[s], end = tokens.sequence_ptr[s + 1];
      for (std::int64_t token = begin; token < end; ++token) {
        const auto [first, last] = gap_rows(set.gap(t), token, begin, end);
        ptr[static_cast<std::size_t>(token) + 1] += std::max<std::int64_t>(last - first, 0);
      }
    }
  }
  for (std::size_t i = 1; i < ptr.size(); ++i) ptr[i] += ptr[i - 1];
  if (ptr.back() > kMaxAttributes)
    throw InvalidInput("templates: those that look at any row before or after make " + std::to_string(ptr.back()) +
                       " attributes of these sequences, half the square of their lengths; split long sequences");
  return ptr;
}

// The rows of both, those of `more` after those of `rows` for each token.
inline AttributeRows merged(const AttributeRows& rows, const AttributeRows& more) {
  AttributeRows all;
  all.indptr.assign(1, 0);
  all.indptr.reserve(rows.indptr.size());
  all.indices.reserve(rows.indices.size() + more.indices.size());
  for (std::size_t i = 0; i + 1 < rows.indptr.size(); ++i) {
    for (const AttributeRows* part : {&rows, &more})
      all.indices.insert(all.indices.end(), part->indices.begin() + part->indptr[i],
                         part->indices.begin() + part->indptr[i + 1]);
    all.indptr.push_back(static_cast<std::int64_t>(all.indices.size()));
  }
  return all;
}

// The rows with those of the templates with gaps; number(template, codes, hash) is an attribute, or negative for none.
template <class Code, class Number>
AttributeRows with_gaps(ThreadPool& pool, AttributeRows&& rows, const TemplateSet& set,
                        const ViewedTokens<Code>& tokens, const Number& number) {
  constexpr std::size_t kChunk = 1024;
  gap_sites(set, tokens);
  std::vector<std::vector<std::int32_t>> parts(chunk_count(tokens.n_tokens(), kChunk));
  AttributeRows gaps;
  gaps.indptr.assign(tokens.n_tokens() + 1, 0);
  parallel_for(pool, tokens.n_tokens(), kChunk, [&](std::size_t begin, std::size_t end) {
    std::vector<std::int32_t>& part = parts[begin / kChunk];
    for_gap_sites(set, tokens, begin, end,
                  [&](std::size_t token, std::size_t t, const Code* key, std::uint64_t hash) {
                    const std::int32_t attribute = hash ? number(t, key, hash) : -1;
                    if (attribute < 0) return;
                    part.push_back(attribute);
                    ++gaps.indptr[token + 1];
                  });
  });
  for (std::size_t i = 0; i < tokens.n_tokens(); ++i) gaps.indptr[i + 1] += gaps.indptr[i];
  for (const auto& part : parts) gaps.indices.insert(gaps.indices.end(), part.begin(), part.end());
  return merged(rows, gaps);
}

}  // namespace loglinear::text
