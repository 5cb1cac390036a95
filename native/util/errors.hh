// Errors of the native code. Bindings turn InvalidInput into ValueError and ParseError into FormatError.
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>

namespace loglinear {

struct InvalidInput : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A malformed record: `line` counts from 1, `offset` is the byte offset in the (uncompressed) input.
struct ParseError : std::runtime_error {
  ParseError(const std::string& message, std::int64_t line_number, std::int64_t byte_offset)
      : std::runtime_error(message), line(line_number), offset(byte_offset) {}
  std::int64_t line, offset;
};

}  // namespace loglinear
