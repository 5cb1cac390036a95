// Text as arrays of bytes, in and out.
#pragma once
#include "bindings/arrays.hh"
#include "util/interner.hh"

namespace loglinear {

inline std::span<const char> as_characters(const In<std::uint8_t>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Bytes handed to Python without a copy, as uint8.
inline nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>> bytes_array(std::vector<char>&& values) {
  auto* owner = new std::vector<char>(std::move(values));
  nb::capsule free(owner, [](void* p) noexcept { delete static_cast<std::vector<char>*>(p); });
  return {reinterpret_cast<std::uint8_t*>(owner->data()), {owner->size()}, free};
}

}  // namespace loglinear
