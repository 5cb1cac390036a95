// The svmlight / libsvm text format: `label index:value index:value ... # comment`, one example a line.
//
// The input is cut at line ends into chunks that are parsed in parallel and joined in order. Nothing in it is trusted:
// whatever the bytes, the result is data that satisfies every invariant of a sparse matrix, or a ParseError with the
// line of the first fault.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "util/interner.hh"
#include "util/thread_pool.hh"

namespace loglinear::text {

enum class IndexBase { detect, zero, one };  // detect: zero if index 0 occurs, otherwise one

struct SvmlightData {
  std::vector<std::int64_t> indptr;    // [n_rows + 1]
  std::vector<std::int32_t> indices;   // [n_nonzeros], ascending in a row, counted from 0 ...
  std::vector<std::int64_t> wide;      // ... or here instead, when one of them needs 64 bits
  std::vector<double> values;          // [n_nonzeros], finite
  std::vector<std::int32_t> labels;    // [n_rows], into label_names
  PackedStrings label_names;           // UTF-8, numbered by first occurrence
  std::int64_t n_features = 0;
};

// n_features < 0: as many as the largest index asks for; otherwise larger indices are refused. Labels are any text
// without white space or '#', but not something that reads as index:value, which means that the label was forgotten.
// `qid:` entries are skipped. A carriage return counts as white space. chunk_size is for tests.
SvmlightData parse_svmlight(ThreadPool& pool, std::span<const char> text, IndexBase base, std::int64_t n_features,
                            std::size_t chunk_size = 1 << 20);

}  // namespace loglinear::text
