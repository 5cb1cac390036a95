// The CoNLL text format: one token a line, its columns separated, a blank line between sequences.
//
// The input is cut at line ends into chunks that are parsed in parallel. Each chunk numbers the values of each column
// in tables of its own, which are joined in order: values are numbered by first occurrence, whatever the number of
// threads. Nothing in the input is trusted: the result satisfies every invariant below, or is a ParseError with the
// line of the first fault.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "util/interner.hh"
#include "util/thread_pool.hh"

namespace loglinear::text {

enum class Separator {
  detect,  // tab if the first line of a token has one, otherwise blanks
  blanks,  // runs of spaces and tabs, also before the first and after the last column
  tab,     // each tab: values may be empty or hold spaces
};

struct ConllColumn {
  std::vector<std::int32_t> ids;  // [n_tokens], into values
  PackedStrings values;           // UTF-8, distinct, numbered by first occurrence
};

struct ConllData {
  std::vector<std::int64_t> sequence_ptr{0};  // [n_sequences + 1]; no sequence is empty
  std::vector<std::int64_t> first_lines;      // [n_sequences], where each begins, from 1
  std::vector<ConllColumn> columns;           // as many as the first token has; none without tokens
};

inline constexpr std::size_t kMaxColumns = 1024;  // more means that the file is something else

// Lines end in \n or \r\n. With `comments`, lines that begin with '#' are skipped. chunk_size is for tests.
ConllData parse_conll(ThreadPool& pool, std::span<const char> text, Separator separator, bool comments,
                      std::size_t chunk_size = 1 << 18);

// The text of columns, which reads back the same; `separator` is ' ' or '\t'. Throws InvalidInput for a value that
// cannot be written.
struct ConllView {
  std::span<const std::int32_t> ids;
  Strings values;
};
std::vector<char> format_conll(std::span<const std::int64_t> sequence_ptr, std::span<const ConllView> columns,
                               char separator);

}  // namespace loglinear::text
