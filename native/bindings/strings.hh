// An index of strings and the arrays it looks into, kept alive together.
#pragma once
#include "bindings/bytes.hh"

namespace loglinear {

struct BoundIndex {
  In<std::uint8_t> blob;
  In<std::int64_t> offsets;
  StringIndex index;

  BoundIndex(In<std::uint8_t> b, In<std::int64_t> o)
      : blob(std::move(b)), offsets(std::move(o)), index([&] {
          nb::gil_scoped_release release;
          return StringIndex(Strings{as_characters(blob), view(offsets)});
        }()) {}
};

}  // namespace loglinear
