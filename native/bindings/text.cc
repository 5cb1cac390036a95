#include "bindings/arrays.hh"
#include "text/conll.hh"
#include "text/corpus.hh"
#include "text/crfsuite.hh"
#include "text/json_lines.hh"
#include "text/svmlight.hh"
#include "text/templates.hh"
#include "text/text_ngrams.hh"
#include "text/wapiti_regex.hh"
#include "util/interner.hh"

namespace loglinear::bindings {

using namespace text;
namespace {

struct BoundKinds {
  NgramKinds kinds;
};

nb::tuple rows_to_numpy(CountRows&& rows) {
  return nb::make_tuple(to_numpy(std::move(rows.indptr)), to_numpy(std::move(rows.indices)),
                        to_numpy(std::move(rows.values)));
}

nb::tuple svmlight(ThreadPool& pool, In<std::uint8_t> text, const std::string& base, std::int64_t n_features,
                   std::size_t chunk_size) {
  require(base == "zero" || base == "one" || base == "detect", "svmlight: base must be 'zero', 'one' or 'detect'");
  const IndexBase index_base = base == "zero" ? IndexBase::zero : base == "one" ? IndexBase::one : IndexBase::detect;
  SvmlightData data;
  {
    nb::gil_scoped_release release;
    data = parse_svmlight(pool, as_characters(text), index_base, n_features, chunk_size);
  }
  nb::object indices = data.wide.empty() ? nb::cast(to_numpy(std::move(data.indices)))
                                         : nb::cast(to_numpy(std::move(data.wide)));
  return nb::make_tuple(to_numpy(std::move(data.indptr)), indices, to_numpy(std::move(data.values)),
                        to_numpy(std::move(data.labels)), bytes_array(std::move(data.label_names.blob)),
                        to_numpy(std::move(data.label_names.offsets)), data.n_features);
}

void bind_rows(nb::module_& m) {
  m.def("parse_svmlight", &svmlight, nb::arg("pool"), nb::arg("text").noconvert(), nb::arg("base"),
        nb::arg("n_features"), nb::arg("chunk_size") = std::size_t{1} << 20,
        "(indptr, indices, values, labels, label blob, label offsets, n_features); n_features < 0: as found");

  m.def("check_strings", [](In<std::uint8_t> blob, In<std::int64_t> offsets) {
    nb::gil_scoped_release release;
    Strings{as_characters(blob), view(offsets)}.check();
  }, nb::arg("blob").noconvert(), nb::arg("offsets").noconvert());
  m.def("gather_strings", [](In<std::uint8_t> blob, In<std::int64_t> offsets, In<std::int64_t> indices) {
    PackedStrings result;
    {
      nb::gil_scoped_release release;
      result = gather(Strings{as_characters(blob), view(offsets)}, view(indices));
    }
    return nb::make_tuple(bytes_array(std::move(result.blob)), to_numpy(std::move(result.offsets)));
  }, nb::arg("blob").noconvert(), nb::arg("offsets").noconvert(), nb::arg("indices").noconvert(),
        "(blob, offsets) of the strings chosen");

  nb::class_<BoundIndex>(m, "StringIndex", "Look-up of strings in (blob, offsets), which it keeps alive.")
      .def(nb::init<In<std::uint8_t>, In<std::int64_t>>(), nb::arg("blob").noconvert(), nb::arg("offsets").noconvert())
      .def("find", [](const BoundIndex& index, In<std::uint8_t> blob, In<std::int64_t> offsets, Out<std::int32_t> out) {
        nb::gil_scoped_release release;
        index.index.find_all(Strings{as_characters(blob), view(offsets)}, view(out));
      }, nb::arg("blob").noconvert(), nb::arg("offsets").noconvert(), nb::arg("out").noconvert(),
           "out[i] = id of string i, or -1");

  nb::class_<BoundKinds>(m, "NgramKinds", "Which n-grams of texts are counted.")
      .def("__init__", [](BoundKinds* self, std::vector<std::int32_t> orders, std::vector<std::int32_t> char_orders,
                          bool across_words, const BoundIndex* stop_words) {
        new (self) BoundKinds{{std::move(orders), std::move(char_orders), across_words,
                               stop_words ? &stop_words->index : nullptr}};
        self->kinds.check();
      }, nb::arg("orders"), nb::arg("char_orders"), nb::arg("across_words"), nb::arg("stop_words").none(),
           nb::keep_alive<1, 5>());
  m.def("fit_text_ngrams", [](ThreadPool& pool, In<std::uint8_t> blob, In<std::int64_t> offsets,
                              const BoundKinds& bound, std::int64_t min_count) {
    TextNgrams result;
    {
      nb::gil_scoped_release release;
      result = fit_text_ngrams(pool, Strings{as_characters(blob), view(offsets)}, bound.kinds, min_count);
    }
    return nb::make_tuple(rows_to_numpy(std::move(result.rows)), bytes_array(std::move(result.names.blob)),
                          to_numpy(std::move(result.names.offsets)));
  }, nb::arg("pool"), nb::arg("blob").noconvert(), nb::arg("offsets").noconvert(), nb::arg("kinds"),
        nb::arg("min_count"), "((indptr, indices, values), names blob, names offsets)");
  m.def("count_text_ngrams", [](ThreadPool& pool, In<std::uint8_t> blob, In<std::int64_t> offsets,
                                const BoundKinds& bound, const BoundIndex& vocabulary) {
    CountRows rows;
    {
      nb::gil_scoped_release release;
      rows = count_text_ngrams(pool, Strings{as_characters(blob), view(offsets)}, bound.kinds, vocabulary.index);
    }
    return rows_to_numpy(std::move(rows));
  }, nb::arg("pool"), nb::arg("blob").noconvert(), nb::arg("offsets").noconvert(), nb::arg("kinds"),
        nb::arg("vocabulary"), "(indptr, indices, values)");
  m.def("hash_text_ngrams", [](ThreadPool& pool, In<std::uint8_t> blob, In<std::int64_t> offsets,
                               const BoundKinds& bound, std::int64_t n_buckets,
                               std::optional<In<std::int32_t>> numbers) {
    CountRows rows;
    {
      nb::gil_scoped_release release;
      rows = hash_text_ngrams(pool, Strings{as_characters(blob), view(offsets)}, bound.kinds, n_buckets,
                              numbers ? view(*numbers) : std::span<const std::int32_t>());
    }
    return rows_to_numpy(std::move(rows));
  }, nb::arg("pool"), nb::arg("blob").noconvert(), nb::arg("offsets").noconvert(), nb::arg("kinds"),
        nb::arg("n_buckets"), nb::arg("numbers").none(), "(indptr, indices, values)");
  m.def("replace_words", [](ThreadPool& pool, In<std::uint8_t> blob, In<std::int64_t> offsets, const BoundIndex& words,
                            In<std::int32_t> labels, In<std::uint8_t> names, In<std::int64_t> name_offsets,
                            const std::string& mark) {
    PackedStrings result;
    {
      nb::gil_scoped_release release;
      result = replace_words(pool, Strings{as_characters(blob), view(offsets)}, words.index, view(labels),
                             Strings{as_characters(names), view(name_offsets)}, mark);
    }
    return nb::make_tuple(bytes_array(std::move(result.blob)), to_numpy(std::move(result.offsets)));
  }, nb::arg("pool"), nb::arg("blob").noconvert(), nb::arg("offsets").noconvert(), nb::arg("words"),
        nb::arg("labels").noconvert(), nb::arg("names").noconvert(), nb::arg("name_offsets").noconvert(),
        nb::arg("mark"), "(blob, offsets) of the texts with classes in place of their words");
}

nb::tuple conll(ThreadPool& pool, In<std::uint8_t> text, const std::string& separator, bool comments,
                std::size_t chunk_size) {
  require(separator == "detect" || separator == "blanks" || separator == "tab",
          "conll: separator must be 'detect', 'blanks' or 'tab'");
  const Separator kind = separator == "detect" ? Separator::detect
                         : separator == "tab"  ? Separator::tab
                                               : Separator::blanks;
  ConllData data;
  {
    nb::gil_scoped_release release;
    data = parse_conll(pool, as_characters(text), kind, comments, chunk_size);
  }
  nb::list columns;
  for (ConllColumn& column : data.columns)
    columns.append(nb::make_tuple(to_numpy(std::move(column.ids)), bytes_array(std::move(column.values.blob)),
                                  to_numpy(std::move(column.values.offsets))));
  return nb::make_tuple(to_numpy(std::move(data.sequence_ptr)), to_numpy(std::move(data.first_lines)), columns);
}

nb::bytes write(In<std::int64_t> sequence_ptr, const std::vector<In<std::int32_t>>& ids,
                const std::vector<In<std::uint8_t>>& blobs, const std::vector<In<std::int64_t>>& offsets,
                const std::string& separator) {
  require(separator == " " || separator == "\t", "conll: separator must be a space or a tab");
  require(ids.size() == blobs.size() && ids.size() == offsets.size(), "conll: columns differ in number");
  std::vector<ConllView> columns;
  for (std::size_t c = 0; c < ids.size(); ++c)
    columns.push_back({view(ids[c]), Strings{as_characters(blobs[c]), view(offsets[c])}});
  std::vector<char> text;
  {
    nb::gil_scoped_release release;
    text = format_conll(view(sequence_ptr), columns, separator[0]);
  }
  return nb::bytes(text.data(), text.size());
}

void bind_conll(nb::module_& m) {
  m.def("parse_conll", &conll, nb::arg("pool"), nb::arg("text").noconvert(), nb::arg("separator"),
        nb::arg("comments"), nb::arg("chunk_size") = std::size_t{1} << 18,
        "(sequence_ptr, first lines, [(ids, blob, offsets) of each column])");
  m.def("format_conll", &write, nb::arg("sequence_ptr").noconvert(), nb::arg("ids"), nb::arg("blobs"),
        nb::arg("offsets"), nb::arg("separator"), "the text of columns");
  m.def("parse_crfsuite", [](ThreadPool& pool, In<std::uint8_t> text, std::size_t chunk_size) {
    CrfsuiteData data;
    {
      nb::gil_scoped_release release;
      data = parse_crfsuite(pool, as_characters(text), chunk_size);
    }
    return nb::make_tuple(
        to_numpy(std::move(data.sequence_ptr)), to_numpy(std::move(data.indptr)), to_numpy(std::move(data.indices)),
        to_numpy(std::move(data.values)), bytes_array(std::move(data.attributes.blob)),
        to_numpy(std::move(data.attributes.offsets)), to_numpy(std::move(data.labels)),
        bytes_array(std::move(data.label_names.blob)), to_numpy(std::move(data.label_names.offsets)));
  }, nb::arg("pool"), nb::arg("text").noconvert(), nb::arg("chunk_size") = std::size_t{1} << 18,
        "(sequence_ptr, indptr, indices, values or none of them where all are 1, attribute blob, attribute offsets, "
        "labels, label blob, label offsets)");
}

using Ids = std::vector<In<std::int32_t>>;

template <class Code>
ViewedTokens<Code> viewed(const In<std::int64_t>& sequence_ptr, const Ids& ids, const std::vector<In<Code>>& maps) {
  ViewedTokens<Code> tokens{view(sequence_ptr), {}, {}};
  for (const auto& column : ids) tokens.ids.push_back(view(column));
  for (const auto& map : maps) tokens.maps.push_back(view(map));
  return tokens;
}

TemplateSet make_set(In<std::int64_t> ptr, In<std::int32_t> rows, In<std::int32_t> views, In<std::uint8_t> absolute,
                     std::size_t n_views, std::size_t n_borders) {
  require(rows.size() == views.size() && rows.size() == absolute.size(), "templates: macros differ in number");
  std::vector<Macro> macros;
  for (std::size_t m = 0; m < rows.size(); ++m)
    macros.push_back({rows.data()[m], views.data()[m], absolute.data()[m] != 0});
  return TemplateSet(view(ptr), macros, n_views, n_borders);
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

void bind_templates(nb::module_& m) {
  bind_strings(m);
  bind_regex(m);
  nb::class_<TemplateSet>(m, "TemplateSet", "The macros of templates.")
      .def(
          "__init__",
          [](TemplateSet* self, In<std::int64_t> ptr, In<std::int32_t> rows, In<std::int32_t> views,
             In<std::uint8_t> absolute, std::size_t n_views, std::size_t n_borders) {
            new (self) TemplateSet(make_set(std::move(ptr), std::move(rows), std::move(views), std::move(absolute),
                                            n_views, n_borders));
          },
          nb::arg("ptr").noconvert(), nb::arg("rows").noconvert(), nb::arg("views").noconvert(),
          nb::arg("absolute").noconvert(), nb::arg("n_views"), nb::arg("n_borders") = 0)
      .def(
          "fit",
          [](const TemplateSet& set, ThreadPool& pool, In<std::int64_t> sequence_ptr, const Ids& ids,
             const std::vector<In<std::int32_t>>& maps, In<std::int32_t> known_templates, In<std::int32_t> known_codes,
             std::int64_t min_count) {
            FittedAttributes fitted;
            {
              nb::gil_scoped_release release;
              fitted = fit_attributes(pool, set, viewed<std::int32_t>(sequence_ptr, ids, maps),
                                      {view(known_templates), view(known_codes)}, min_count);
            }
            return nb::make_tuple(rows_to_numpy(std::move(fitted.rows)),
                                  to_numpy(std::move(fitted.attributes.templates)),
                                  to_numpy(std::move(fitted.attributes.codes)));
          },
          nb::arg("pool"), nb::arg("sequence_ptr").noconvert(), nb::arg("ids"), nb::arg("maps"),
          nb::arg("known_templates").noconvert(), nb::arg("known_codes").noconvert(), nb::arg("min_count"),
          "((indptr, indices), template of each attribute, codes of each)")
      .def(
          "hash",
          [](const TemplateSet& set, ThreadPool& pool, In<std::int64_t> sequence_ptr, const Ids& ids,
             const std::vector<In<std::uint64_t>>& maps, In<std::int32_t> first, int bits) {
            AttributeRows rows;
            {
              nb::gil_scoped_release release;
              rows = hash_attributes(pool, set, viewed<std::uint64_t>(sequence_ptr, ids, maps), view(first), bits);
            }
            return rows_to_numpy(std::move(rows));
          },
          nb::arg("pool"), nb::arg("sequence_ptr").noconvert(), nb::arg("ids"), nb::arg("maps"),
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

Unit unit_of(const std::string& name) {
  require(name == "words" || name == "characters" || name == "bytes",
          "corpus: unit must be 'words', 'characters' or 'bytes'");
  return name == "words" ? Unit::words : name == "characters" ? Unit::characters : Unit::bytes;
}

nb::tuple tokenise(ThreadPool& pool, const std::vector<In<std::uint8_t>>& texts, const std::string& unit,
                   bool keep_empty, bool skip_boundaries, std::size_t chunk_size) {
  const CorpusOptions options{unit_of(unit), keep_empty, skip_boundaries, chunk_size};
  std::vector<std::span<const char>> views;
  for (const In<std::uint8_t>& text : texts) views.push_back(as_characters(text));
  TokenisedCorpus corpus;
  {
    nb::gil_scoped_release release;
    corpus = tokenise_corpus(pool, views, options);
  }
  return nb::make_tuple(to_numpy(std::move(corpus.tokens)), to_numpy(std::move(corpus.sentence_ptr)),
                        to_numpy(std::move(corpus.n_lines)), bytes_array(std::move(corpus.units.blob)),
                        to_numpy(std::move(corpus.units.offsets)), to_numpy(std::move(corpus.counts)),
                        to_numpy(std::move(corpus.first_text)), to_numpy(std::move(corpus.first_line)));
}

void bind_corpus(nb::module_& m) {
  m.def("tokenise_corpus", &tokenise, nb::arg("pool"), nb::arg("texts"), nb::arg("unit"), nb::arg("keep_empty"),
        nb::arg("skip_boundaries"), nb::arg("chunk_size") = std::size_t{0},
        "(tokens, sentence_ptr, n_lines of each text, unit blob, unit offsets, counts, first_text, first_line)");
  m.def("json_texts", [](ThreadPool& pool, In<std::uint8_t> lines, const std::string& key, std::size_t chunk_size) {
    JsonTexts found;
    {
      nb::gil_scoped_release release;
      found = json_texts(pool, as_characters(lines), key, chunk_size);
    }
    return nb::make_tuple(bytes_array(std::move(found.text)), to_numpy(std::move(found.places)), found.n_lines);
  }, nb::arg("pool"), nb::arg("lines").noconvert(), nb::arg("key"), nb::arg("chunk_size") = std::size_t{0},
        "(the strings under a key of JSON objects, a line end after each; the line of each line; lines read)");
  m.def("renumber_tokens", [](ThreadPool& pool, Out<std::uint32_t> tokens, In<std::uint32_t> numbers) {
    nb::gil_scoped_release release;
    renumber_tokens(pool, view(tokens), view(numbers));
  }, nb::arg("pool"), nb::arg("tokens").noconvert(), nb::arg("numbers").noconvert(),
        "tokens[i] = numbers[tokens[i]], in place");
}

}  // namespace

void bind_text(nb::module_& m) {
  bind_rows(m);
  bind_conll(m);
  bind_templates(m);
  bind_corpus(m);
}

}  // namespace loglinear::bindings
