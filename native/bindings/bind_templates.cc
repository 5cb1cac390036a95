#include "bindings/bytes.hh"
#include "kernels/templates.hh"
#include "kernels/wapiti_regex.hh"

namespace loglinear {
namespace {

using Ids = std::vector<In<std::int32_t>>;

template <class Code>
ViewedTokens<Code> viewed(const In<std::int64_t>& sequence_ptr, const Ids& ids, const std::vector<In<Code>>& maps) {
  ViewedTokens<Code> tokens{view(sequence_ptr), {}, {}};
  for (const auto& column : ids) tokens.ids.push_back(view(column));
  for (const auto& map : maps) tokens.maps.push_back(view(map));
  return tokens;
}

TemplateSet make_set(In<std::int64_t> ptr, In<std::int32_t> rows, In<std::int32_t> views, In<std::uint8_t> absolute,
                     std::size_t n_views) {
  require(rows.size() == views.size() && rows.size() == absolute.size(), "templates: macros differ in number");
  std::vector<Macro> macros;
  for (std::size_t m = 0; m < rows.size(); ++m)
    macros.push_back({rows.data()[m], views.data()[m], absolute.data()[m] != 0});
  return TemplateSet(view(ptr), macros, n_views);
}

// The index and what it looks into, kept alive together.
struct BoundAttributes {
  TemplateSet set;
  In<std::int32_t> templates, codes;
  AttributeIndex index;

  BoundAttributes(const TemplateSet& s, In<std::int32_t> t, In<std::int32_t> c, In<std::int64_t> n_values)
      : set(s), templates(std::move(t)), codes(std::move(c)), index([&] {
          nb::gil_scoped_release release;
          return AttributeIndex(set, {view(templates), view(codes)}, view(n_values));
        }()) {}
  BoundAttributes(const BoundAttributes&) = delete;
};

nb::tuple rows_to_numpy(AttributeRows&& rows) {
  return nb::make_tuple(to_numpy(std::move(rows.indptr)), to_numpy(std::move(rows.indices)));
}

void bind_strings(nb::module_& m) {
  m.def("intern_strings", [](In<std::uint8_t> known_blob, In<std::int64_t> known_offsets, In<std::uint8_t> blob,
                             In<std::int64_t> offsets) {
    std::vector<std::int32_t> ids;
    PackedStrings all;
    {
      nb::gil_scoped_release release;
      Interner interner;
      const Strings known{as_characters(known_blob), view(known_offsets)}, more{as_characters(blob), view(offsets)};
      known.check();
      more.check();
      for (std::size_t i = 0; i < known.size(); ++i) interner.intern(known[i]);
      ids.reserve(more.size());
      for (std::size_t i = 0; i < more.size(); ++i) ids.push_back(interner.intern(more[i]));
      all = std::move(interner).take();
    }
    return nb::make_tuple(to_numpy(std::move(ids)), bytes_array(std::move(all.blob)), to_numpy(std::move(all.offsets)));
  }, nb::arg("known_blob").noconvert(), nb::arg("known_offsets").noconvert(), nb::arg("blob").noconvert(),
        nb::arg("offsets").noconvert(), "(ids of the strings, blob, offsets): the known ones first, then new ones");
  m.def("hash_strings", [](In<std::uint8_t> blob, In<std::int64_t> offsets) {
    std::vector<std::uint64_t> hashes;
    {
      nb::gil_scoped_release release;
      const Strings strings{as_characters(blob), view(offsets)};
      strings.check();
      for (std::size_t i = 0; i < strings.size(); ++i) hashes.push_back(hash_bytes(strings[i]));
    }
    return to_numpy(std::move(hashes));
  }, nb::arg("blob").noconvert(), nb::arg("offsets").noconvert());
}

void bind_regex(nb::module_& m) {
  using Characters = In<std::uint32_t>;
  nb::class_<WapitiRegex>(m, "WapitiRegex", "A regular expression of Wapiti's templates.")
      .def("__init__", [](WapitiRegex* self, const std::string& pattern) { new (self) WapitiRegex(pattern); },
           nb::arg("pattern"))
      .def("test", [](const WapitiRegex& regex, In<std::uint8_t> blob, In<std::int64_t> offsets, Characters characters,
                      In<std::uint8_t> classes) {
        std::vector<std::uint8_t> result;
        {
          nb::gil_scoped_release release;
          result = regex_test(regex, {as_characters(blob), view(offsets)}, {view(characters), view(classes)});
        }
        return to_numpy(std::move(result));
      }, nb::arg("blob").noconvert(), nb::arg("offsets").noconvert(), nb::arg("characters").noconvert(),
           nb::arg("classes").noconvert(), "1 for each string in which it matches")
      .def("extract", [](const WapitiRegex& regex, In<std::uint8_t> blob, In<std::int64_t> offsets,
                         Characters characters, In<std::uint8_t> classes) {
        PackedStrings result;
        {
          nb::gil_scoped_release release;
          result = regex_extract(regex, {as_characters(blob), view(offsets)}, {view(characters), view(classes)});
        }
        return nb::make_tuple(bytes_array(std::move(result.blob)), to_numpy(std::move(result.offsets)));
      }, nb::arg("blob").noconvert(), nb::arg("offsets").noconvert(), nb::arg("characters").noconvert(),
           nb::arg("classes").noconvert(), "(blob, offsets) of what it matches in each string");
}

}  // namespace

void bind_templates(nb::module_& m) {
  bind_strings(m);
  bind_regex(m);
  nb::class_<TemplateSet>(m, "TemplateSet", "The macros of templates.")
      .def("__init__", [](TemplateSet* self, In<std::int64_t> ptr, In<std::int32_t> rows, In<std::int32_t> views,
                          In<std::uint8_t> absolute, std::size_t n_views) {
        new (self) TemplateSet(make_set(std::move(ptr), std::move(rows), std::move(views), std::move(absolute), n_views));
      }, nb::arg("ptr").noconvert(), nb::arg("rows").noconvert(), nb::arg("views").noconvert(),
           nb::arg("absolute").noconvert(), nb::arg("n_views"))
      .def("fit", [](const TemplateSet& set, ThreadPool& pool, In<std::int64_t> sequence_ptr, const Ids& ids,
                     const std::vector<In<std::int32_t>>& maps, In<std::int32_t> known_templates,
                     In<std::int32_t> known_codes, std::int64_t min_count) {
        FittedAttributes fitted;
        {
          nb::gil_scoped_release release;
          fitted = fit_attributes(pool, set, viewed<std::int32_t>(sequence_ptr, ids, maps),
                                  {view(known_templates), view(known_codes)}, min_count);
        }
        return nb::make_tuple(rows_to_numpy(std::move(fitted.rows)), to_numpy(std::move(fitted.attributes.templates)),
                              to_numpy(std::move(fitted.attributes.codes)));
      }, nb::arg("pool"), nb::arg("sequence_ptr").noconvert(), nb::arg("ids"), nb::arg("maps"),
           nb::arg("known_templates").noconvert(), nb::arg("known_codes").noconvert(), nb::arg("min_count"),
           "((indptr, indices), template of each attribute, codes of each)")
      .def("hash", [](const TemplateSet& set, ThreadPool& pool, In<std::int64_t> sequence_ptr, const Ids& ids,
                      const std::vector<In<std::uint64_t>>& maps, In<std::int32_t> first, int bits) {
        AttributeRows rows;
        {
          nb::gil_scoped_release release;
          rows = hash_attributes(pool, set, viewed<std::uint64_t>(sequence_ptr, ids, maps), view(first), bits);
        }
        return rows_to_numpy(std::move(rows));
      }, nb::arg("pool"), nb::arg("sequence_ptr").noconvert(), nb::arg("ids"), nb::arg("maps"),
           nb::arg("first").noconvert(), nb::arg("bits"), "(indptr, indices)");
  nb::class_<BoundAttributes>(m, "AttributeIndex", "Look-up of the attributes that templates make.")
      .def(nb::init<const TemplateSet&, In<std::int32_t>, In<std::int32_t>, In<std::int64_t>>(), nb::arg("templates"),
           nb::arg("attribute_templates").noconvert(), nb::arg("codes").noconvert(), nb::arg("n_values").noconvert())
      .def("find", [](const BoundAttributes& bound, ThreadPool& pool, In<std::int64_t> sequence_ptr, const Ids& ids,
                      const std::vector<In<std::int32_t>>& maps) {
        AttributeRows rows;
        {
          nb::gil_scoped_release release;
          rows = bound.index.find(pool, viewed<std::int32_t>(sequence_ptr, ids, maps));
        }
        return rows_to_numpy(std::move(rows));
      }, nb::arg("pool"), nb::arg("sequence_ptr").noconvert(), nb::arg("ids"), nb::arg("maps"), "(indptr, indices)");
}

}  // namespace loglinear
