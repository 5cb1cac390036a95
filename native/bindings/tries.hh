// Shapes, back-off models and language models to be asked, with the arrays they view, checked once and kept alive
// together.
#pragma once
#include <nanobind/stl/tuple.h>

#include <compare>
#include <string_view>
#include <variant>

#include "backoff/model.hh"
#include "backoff/query.hh"
#include "bindings/arrays.hh"
#include "disk/mapped.hh"
#include "disk/open_file.hh"
#include "kenlm/model.hh"
#include "trie/build.hh"
#include "trie/merge.hh"

namespace loglinear::bindings {

// Runs `body` without the GIL; what the system refuses becomes an OSError that names the folder.
template <class Body>
void with_files(Body body) {
  try {
    nb::gil_scoped_release release;
    body();
  } catch (const disk::IoError& error) {
    errno = error.number;
    PyErr_SetFromErrnoWithFilename(PyExc_OSError, error.path.c_str());
    throw nb::python_error();
  }
}

// A trie in mapped files, and the adjusted counts of Kneser-Ney once they are asked for.
struct BoundTrie {
  template <class Position>
  struct Counted {
    trie::MappedTrie<Position> trie;
    disk::MappedArray<Position> adjusted;
  };
  std::variant<Counted<std::uint32_t>, Counted<std::uint64_t>> counted;
  bool is_wide() const { return counted.index() == 1; }
};

struct BoundShape {
  In<std::int64_t> context_start, entry_start;
  In<std::uint32_t> context_word, context_child, context_entry, entry_word;
  trie::TrieView shape;

  BoundShape(ThreadPool& pool, std::size_t n_words, In<std::int64_t> context_starts,
             In<std::int64_t> entry_starts, In<std::uint32_t> context_words, In<std::uint32_t> children,
             In<std::uint32_t> entries, In<std::uint32_t> entry_words)
      : context_start(std::move(context_starts)),
        entry_start(std::move(entry_starts)),
        context_word(std::move(context_words)),
        context_child(std::move(children)),
        context_entry(std::move(entries)),
        entry_word(std::move(entry_words)),
        shape{context_start.size() == 0 ? 0 : context_start.size() - 1, n_words, view(context_start), view(entry_start),
              view(context_word), view(context_child), view(context_entry), {}, view(entry_word), {}, {}} {
    nb::gil_scoped_release release;
    shape.check_backoff(pool);
  }
};

struct BoundBackoff {
  BoundShape& bound;
  In<double> log_backoff, log_probability;
  backoff::BackoffArrays model;

  BoundBackoff(ThreadPool& pool, BoundShape& of, In<double> backoffs, In<double> probabilities)
      : bound(of), log_backoff(std::move(backoffs)), log_probability(std::move(probabilities)),
        model{of.shape, view(log_backoff), view(log_probability)} {
    nb::gil_scoped_release release;
    model.check_values(pool);
  }
};

inline nb::tuple shape_arrays(trie::OwnedShape&& shape) {
  return nb::make_tuple(to_numpy(std::move(shape.context_start)), to_numpy(std::move(shape.entry_start)),
                        to_numpy(std::move(shape.context_word)), to_numpy(std::move(shape.context_child)),
                        to_numpy(std::move(shape.context_entry)), to_numpy(std::move(shape.entry_word)));
}

// The arrays of a trie as they go to Python, in the order of the fields of NgramTrie.
inline nb::tuple arrays_tuple(trie::TrieArrays&& trie) {
  return nb::make_tuple(to_numpy(std::move(trie.context_start)), to_numpy(std::move(trie.entry_start)),
                        to_numpy(std::move(trie.context_word)), to_numpy(std::move(trie.context_child)),
                        to_numpy(std::move(trie.context_entry)), to_numpy(std::move(trie.context_count)),
                        to_numpy(std::move(trie.entry_word)), to_numpy(std::move(trie.entry_parent)),
                        to_numpy(std::move(trie.entry_count)));
}

// A state as code written for KenLM holds it: that of an automaton, or that of one of KenLM's binary files.
struct QueryState {
  std::uint32_t context = 0;
  kenlm::State words;

  std::strong_ordering operator<=>(const QueryState& other) const {
    return context != other.context ? context <=> other.context : kenlm::compare(words, other.words) <=> 0;
  }
  bool operator==(const QueryState& other) const { return (*this <=> other) == 0; }
  std::int64_t hash() const {
    std::uint64_t h = mix_bits(context);
    for (std::uint32_t i = 0; i < words.length; ++i) h = mix_bits(h + words.words[i] + 1);
    return static_cast<std::int64_t>(h >> 2);
  }

  using Parts = std::tuple<std::uint32_t, std::vector<std::uint32_t>, std::vector<float>>;
  Parts parts() const {
    return {context, {words.words, words.words + words.length}, {words.backoff, words.backoff + words.length}};
  }
  static QueryState of(const Parts& parts) {
    const auto& [number, own, backoff] = parts;
    require(own.size() < kenlm::kMostOrder && own.size() == backoff.size(), "a damaged state of a language model");
    QueryState state;
    state.context = number;
    state.words.length = static_cast<std::uint32_t>(own.size());
    std::copy(own.begin(), own.end(), state.words.words);
    std::copy(backoff.begin(), backoff.end(), state.words.backoff);
    return state;
  }
};

// Where the arrays of an automaton are in an open file.
struct BoundFile {
  disk::OpenFile file;
  std::uint64_t contexts_at, entries_at;

  BoundFile(int descriptor, std::string name, std::uint64_t contexts, std::uint64_t entries)
      : file(descriptor, std::move(name)), contexts_at(contexts), entries_at(entries) {}
};

// The automaton, the words and the arrays they view, kept alive together.
struct BoundQueries {
  In<std::int64_t> context_start;
  In<std::uint32_t> contexts, entries;
  In<std::uint8_t> blob;
  In<std::int64_t> offsets;
  StringIndex words;
  backoff::QueryModel model;
  backoff::StoredAutomaton stored;
  std::unique_ptr<backoff::CheckedBlocks> blocks;
  static constexpr std::size_t kSmall = 1 << 19;  // slots that are checked at once, in a few milliseconds

  // With a file, which must outlive this, contexts and entries are memory that it is read to.
  BoundQueries(ThreadPool& pool, std::uint32_t begin, In<std::int64_t> start, In<std::uint32_t> c,
               In<std::uint32_t> e, In<std::uint8_t> b, In<std::int64_t> o, bool is_open, const BoundFile* file)
      : context_start(std::move(start)), contexts(std::move(c)), entries(std::move(e)), blob(std::move(b)),
        offsets(std::move(o)), words([&] {
          nb::gil_scoped_release release;
          return StringIndex(Strings{as_characters(blob), view(offsets)});
        }()),
        model{{}, words, is_open ? 1u : backoff::kBlank} {
    require(contexts.ndim() == 2 && contexts.shape(1) == 4, "query arrays: contexts must have four columns");
    require(entries.ndim() == 2 && entries.shape(1) == 3, "query arrays: entries must have three columns");
    require(!is_open || offsets.size() > 2, "query arrays: an open vocabulary has at least two words");
    backoff::BackoffAutomaton& a = model.automaton;
    a = {offsets.size() - 1, begin, view(context_start),
         {reinterpret_cast<const backoff::AutomatonContext*>(contexts.data()), contexts.shape(0)},
         {reinterpret_cast<const backoff::AutomatonEntry*>(entries.data()), entries.shape(0)},
         nullptr};
    const bool is_small = a.entries.size() <= kSmall;
    nb::gil_scoped_release release;
    if (file)
      stored = {&file->file, file->contexts_at, file->entries_at, const_cast<backoff::AutomatonContext*>(a.contexts.data()),
                const_cast<backoff::AutomatonEntry*>(a.entries.data())};
    if (file || !is_small) {
      blocks = std::make_unique<backoff::CheckedBlocks>(a, file ? &stored : nullptr);
      a.blocks = blocks.get();
    }
    if (!is_small) {
      a.check_frame();
    } else {
      a.check(pool);
      a.blocks = nullptr;
    }
  }

  // Checks what has not been used yet.
  void check_all(ThreadPool& pool) const {
    if (model.automaton.blocks) model.automaton.check(pool);
  }

  std::uint32_t checked(const QueryState& state) const {
    require(state.context < model.automaton.contexts.size(), "this state belongs to another model");
    return state.context;
  }
};

// ---- text that comes from Python, and scores that go back ---------------------------------------------------------
inline constexpr std::size_t kLong = 1 << 14;  // bytes of text for which others may have the interpreter meanwhile

// The bytes of a str or bytes object, which must outlive them; `owner` holds what had to be made.
inline std::string_view text_of(nb::handle text, nb::object& owner) {
  if (PyUnicode_Check(text.ptr())) {
    Py_ssize_t size = 0;
    if (const char* data = PyUnicode_AsUTF8AndSize(text.ptr(), &size))
      return {data, static_cast<std::size_t>(size)};
    PyErr_Clear();  // lone surrogates, which Python allows
    owner = nb::steal(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogatepass"));
    if (!owner.is_valid()) throw nb::python_error();
    text = owner;
  }
  if (!PyBytes_Check(text.ptr()))
    throw nb::type_error(("expected str or bytes, not " + std::string(Py_TYPE(text.ptr())->tp_name)).c_str());
  return {PyBytes_AS_STRING(text.ptr()), static_cast<std::size_t>(PyBytes_GET_SIZE(text.ptr()))};
}

// The sentences of a sequence: a tuple keeps every string alive while others have the interpreter.
struct HeldTexts {
  nb::object held;
  std::vector<nb::object> made;
  std::vector<std::string_view> texts;

  explicit HeldTexts(nb::handle sentences) {
    if (PyUnicode_Check(sentences.ptr()) || PyBytes_Check(sentences.ptr()))
      throw nb::type_error("expected a list of sentences, not one");
    held = nb::steal(PySequence_Tuple(sentences.ptr()));
    if (!held.is_valid()) throw nb::python_error();
    texts.resize(static_cast<std::size_t>(PyTuple_GET_SIZE(held.ptr())));
    for (std::size_t i = 0; i < texts.size(); ++i) {
      nb::object owner;
      texts[i] = text_of(PyTuple_GET_ITEM(held.ptr(), static_cast<Py_ssize_t>(i)), owner);
      if (owner.is_valid()) made.push_back(std::move(owner));
    }
  }
};

inline nb::tuple to_tuple(backoff::SentenceScores&& s) {
  return nb::make_tuple(to_numpy(std::move(s.log_probability)), to_numpy(std::move(s.unknown_log_probability)),
                        to_numpy(std::move(s.n_words)), to_numpy(std::move(s.n_unknown)), to_numpy(std::move(s.hits)));
}

}  // namespace loglinear::bindings
