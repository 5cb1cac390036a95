// The strings under one key of JSON lines, as lines of text.
//
// Every line of the input is blank or one JSON object; the string under the key is written in UTF-8 with a line end
// after it, in the order of the input. The lines are cut into chunks that are read in parallel, which does not change
// the result. Nothing in the input is trusted: it follows the grammar of JSON, or is a ParseError with its line. That
// the bytes of strings are UTF-8 is left to the reader of the text.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "util/thread_pool.hh"

namespace loglinear::text {

struct JsonTexts {
  std::vector<char> text;            // the strings, each with a line end after it
  std::vector<std::int64_t> places;  // [lines of text], the line of the input that each is from, from 1
  std::int64_t n_lines = 0;          // of the input
};

JsonTexts json_texts(ThreadPool& pool, std::span<const char> input, std::string_view key, std::size_t chunk_size = 0);

}  // namespace loglinear::text
