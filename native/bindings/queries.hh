// A language model to be asked, with the arrays it views, checked once and kept alive together.
#pragma once
#include "backoff/query.hh"
#include "bindings/arrays.hh"

namespace loglinear::bindings {

// A state of the automaton, as code written for KenLM holds it.
struct QueryState {
  std::uint32_t context = 0;
  auto operator<=>(const QueryState&) const = default;
};

// The automaton, the words and the arrays they view, kept alive together.
struct BoundQueries {
  In<std::int64_t> context_start;
  In<std::uint32_t> contexts, entries;
  In<std::uint8_t> blob;
  In<std::int64_t> offsets;
  StringIndex words;
  backoff::QueryModel model;

  BoundQueries(ThreadPool& pool, std::uint32_t begin, In<std::int64_t> start, In<std::uint32_t> c,
               In<std::uint32_t> e, In<std::uint8_t> b, In<std::int64_t> o, bool is_open)
      : context_start(std::move(start)), contexts(std::move(c)), entries(std::move(e)), blob(std::move(b)),
        offsets(std::move(o)), words([&] {
          nb::gil_scoped_release release;
          return StringIndex(Strings{as_characters(blob), view(offsets)});
        }()),
        model{{}, words, is_open ? 1u : backoff::kBlank} {
    require(contexts.ndim() == 2 && contexts.shape(1) == 4, "query arrays: contexts must have four columns");
    require(entries.ndim() == 2 && entries.shape(1) == 3, "query arrays: entries must have three columns");
    require(!is_open || offsets.size() > 2, "query arrays: an open vocabulary has at least two words");
    model.automaton = {offsets.size() - 1, begin, view(context_start),
                       {reinterpret_cast<const backoff::AutomatonContext*>(contexts.data()), contexts.shape(0)},
                       {reinterpret_cast<const backoff::AutomatonEntry*>(entries.data()), entries.shape(0)}};
    nb::gil_scoped_release release;
    model.automaton.check(pool);
  }

  std::uint32_t checked(const QueryState& state) const {
    require(state.context < model.automaton.contexts.size(), "this state belongs to another model");
    return state.context;
  }
};

}  // namespace loglinear::bindings
