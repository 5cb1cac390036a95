// CRFsuite's data format: `label TAB attribute[:value] TAB attribute ...`, one token a line, a blank line between
// sequences. A backslash takes the character after it as it is, so that names may hold `:` and `\`.
//
// Okazaki, "CRFsuite: a fast implementation of conditional random fields", 2007,
// http://www.chokkan.org/software/crfsuite
//
// Parsed in parallel chunks of whole lines, joined in order: labels and attributes are numbered by first occurrence,
// whatever the number of threads. Any bytes give data that satisfies the invariants below or a ParseError.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "util/interner.hh"
#include "util/thread_pool.hh"

namespace loglinear::text {

struct CrfsuiteData {
  std::vector<std::int64_t> sequence_ptr{0};  // [n_sequences + 1]; no sequence is empty
  std::vector<std::int64_t> indptr{0};        // [n_tokens + 1]
  std::vector<std::int32_t> indices;          // [n_occurrences], into attributes
  std::vector<double> values;                 // [n_occurrences], finite; empty where all are 1
  PackedStrings attributes;                   // UTF-8, distinct, not empty
  std::vector<std::int32_t> labels;           // [n_tokens], into label_names
  PackedStrings label_names;                  // UTF-8, distinct
};

// Empty fields are skipped. chunk_size is for tests.
CrfsuiteData parse_crfsuite(ThreadPool& pool, std::span<const char> text, std::size_t chunk_size = 1 << 18);

}  // namespace loglinear::text
