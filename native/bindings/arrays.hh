// Array arguments. nanobind checks dtype, contiguity and writability; kernels check lengths; nothing is converted
// silently. Bindings hold no arithmetic: they make spans, release the GIL and call one kernel.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "util/interner.hh"
#include "util/pages.hh"
#include "util/views.hh"

namespace loglinear::bindings {

namespace nb = nanobind;

template <class T>
using In = nb::ndarray<const T, nb::c_contig, nb::device::cpu>;
template <class T>
using Out = nb::ndarray<T, nb::c_contig, nb::device::cpu>;

template <class T>
std::span<const T> view(const In<T>& a) {
  return {a.data(), a.size()};
}
template <class T>
std::span<T> view(Out<T>& a) {
  return {a.data(), a.size()};
}
template <class T>
std::span<const T> view(const std::optional<In<T>>& a) {
  return a ? view(*a) : std::span<const T>{};
}

// A vector handed to Python without a copy.
template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> to_numpy(std::vector<T>&& values) {
  auto* owner = new std::vector<T>(std::move(values));
  nb::capsule free(owner, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return {owner->data(), {owner->size()}, free};
}

// Pages handed to Python without a copy.
template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> to_numpy(Pages<T>&& values) {
  auto* owner = new Pages<T>(std::move(values));
  nb::capsule free(owner, [](void* p) noexcept { delete static_cast<Pages<T>*>(p); });
  return {owner->data(), {owner->size()}, free};
}

// The matrix and the arrays it views, kept alive together.
template <class Index>
struct BoundSparse {
  In<std::int64_t> indptr;
  In<Index> indices;
  In<double> values;
  SparseMatrix<Index> matrix;

  BoundSparse(In<std::int64_t> p, In<Index> i, In<double> v, std::size_t n_columns)
      : indptr(std::move(p)), indices(std::move(i)), values(std::move(v)),
        matrix([&] {
          nb::gil_scoped_release release;
          return SparseMatrix<Index>(view(indptr), view(indices), view(values), n_columns);
        }()) {}
};

inline std::span<const char> as_characters(const In<std::uint8_t>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Bytes handed to Python without a copy, as uint8.
inline nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>> bytes_array(std::vector<char>&& values) {
  auto* owner = new std::vector<char>(std::move(values));
  nb::capsule free(owner, [](void* p) noexcept { delete static_cast<std::vector<char>*>(p); });
  return {reinterpret_cast<std::uint8_t*>(owner->data()), {owner->size()}, free};
}

// An index of strings and the arrays it looks into, kept alive together.
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

void bind_linear(nb::module_& m);
void bind_vector(nb::module_& m);
void bind_tree(nb::module_& m);
void bind_attributes(nb::module_& m);
void bind_text(nb::module_& m);
void bind_hmm(nb::module_& m);
void bind_chain(nb::module_& m);
void bind_baselines(nb::module_& m);
void bind_backoff(nb::module_& m);
void bind_query(nb::module_& m);
void bind_ime(nb::module_& m);
void bind_ngram(nb::module_& m);
void bind_stream(nb::module_& m);
void bind_trie(nb::module_& m);
void bind_suffix(nb::module_& m);
void bind_lists(nb::module_& m);
void bind_composite(nb::module_& m);
void bind_cluster(nb::module_& m);
void bind_grammar(nb::module_& m);
void bind_cache(nb::module_& m);

}  // namespace loglinear::bindings
