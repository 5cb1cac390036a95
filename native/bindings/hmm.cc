#include "bindings/arrays.hh"
#include "hmm/expectations.hh"
#include "hmm/feature_counts.hh"
#include "hmm/posteriors.hh"
#include "hmm/sequences.hh"

namespace loglinear::bindings {

using namespace hmm;
namespace {

// The chain and the arrays it views, kept alive together; checked by every kernel that takes it.
struct BoundChain {
  In<std::int32_t> label;
  std::optional<In<std::int32_t>> previous;
  In<std::int64_t> indptr;
  In<std::int32_t> indices;
  In<double> values, enter, leave;
  StateChain chain;

  BoundChain(std::size_t n_labels, In<std::int32_t> label_, std::optional<In<std::int32_t>> previous_,
             In<std::int64_t> indptr_, In<std::int32_t> indices_, In<double> values_, In<double> enter_,
             In<double> leave_)
      : label(std::move(label_)), previous(std::move(previous_)), indptr(std::move(indptr_)),
        indices(std::move(indices_)), values(std::move(values_)), enter(std::move(enter_)), leave(std::move(leave_)),
        chain{n_labels,       view(label), view(previous), view(indptr), view(indices),
              view(values), view(enter), view(leave)} {
    chain.check();
  }
};

}  // namespace

void bind_hmm(nb::module_& m) {
  nb::class_<BoundChain>(m, "StateChain", "The Markov chain over the states of an HMM, as sparse rows.")
      .def(nb::init<std::size_t, In<std::int32_t>, std::optional<In<std::int32_t>>, In<std::int64_t>, In<std::int32_t>,
                    In<double>, In<double>, In<double>>(),
           nb::arg("n_labels"), nb::arg("label").noconvert(), nb::arg("previous").none().noconvert(),
           nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(), nb::arg("values").noconvert(),
           nb::arg("enter").noconvert(), nb::arg("leave").noconvert());

  m.def("attribute_expectations",
        [](ThreadPool& pool, const BoundChain& chain, In<double> into, In<double> out_of, In<double> before,
           In<double> after, In<std::int64_t> template_ptr, In<std::int32_t> macro_offset, In<std::int32_t> macro_view,
           In<std::int64_t> view_ptr, In<double> view_table, In<std::int32_t> attribute_template,
           In<std::int32_t> attribute_values, std::size_t width, In<std::int64_t> node_ptr,
           In<std::int32_t> node_label, In<std::int64_t> pair_ptr, In<std::int32_t> pair_code, Out<double> node_out,
           Out<double> pair_out) {
          nb::gil_scoped_release release;
          attribute_expectations(pool, chain.chain, {view(into), view(out_of), view(before), view(after)},
                                 {view(template_ptr), view(macro_offset), view(macro_view)},
                                 {view(view_ptr), view(view_table)},
                                 {view(attribute_template), view(attribute_values), width},
                                 {view(node_ptr), view(node_label), view(pair_ptr), view(pair_code)}, view(node_out),
                                 view(pair_out));
        },
        nb::arg("pool"), nb::arg("chain"), nb::arg("into").noconvert(), nb::arg("out_of").noconvert(),
        nb::arg("before").noconvert(), nb::arg("after").noconvert(), nb::arg("template_ptr").noconvert(),
        nb::arg("macro_offset").noconvert(), nb::arg("macro_view").noconvert(), nb::arg("view_ptr").noconvert(),
        nb::arg("view_table").noconvert(), nb::arg("attribute_template").noconvert(),
        nb::arg("attribute_values").noconvert(), nb::arg("width"), nb::arg("node_ptr").noconvert(),
        nb::arg("node_label").noconvert(), nb::arg("pair_ptr").noconvert(), nb::arg("pair_code").noconvert(),
        nb::arg("node_out").noconvert(), nb::arg("pair_out").noconvert(),
        "Expected counts of (attribute, label) and (attribute, label pair) features.");

  m.def("sample_sequences",
        [](ThreadPool& pool, const BoundChain& chain, const std::vector<In<double>>& emissions, std::size_t n,
           std::uint64_t seed, std::size_t max_length) {
          std::vector<std::span<const double>> tables;
          for (const auto& table : emissions) tables.push_back(view(table));
          SampledSequences sample;
          {
            nb::gil_scoped_release release;
            sample = sample_sequences(pool, chain.chain, tables, n, seed, max_length);
          }
          nb::list columns;
          for (auto& column : sample.columns) columns.append(to_numpy(std::move(column)));
          return nb::make_tuple(columns, to_numpy(std::move(sample.labels)), to_numpy(std::move(sample.sequence_ptr)));
        },
        nb::arg("pool"), nb::arg("chain"), nb::arg("emissions").noconvert(), nb::arg("n"), nb::arg("seed"),
        nb::arg("max_length"), "(ids of each column, labels, sequence_ptr) of n sequences drawn from an HMM.");

  m.def("input_log_probabilities",
        [](ThreadPool& pool, const BoundChain& chain, In<std::int64_t> sequence_ptr, In<double> scores,
           Out<double> out) {
          nb::gil_scoped_release release;
          input_log_probabilities(pool, chain.chain, view(sequence_ptr), view(scores), view(out));
        },
        nb::arg("pool"), nb::arg("chain"), nb::arg("sequence_ptr").noconvert(), nb::arg("scores").noconvert(),
        nb::arg("out").noconvert(), "out[i] = log p(observations of sequence i), summed over labels.");

  m.def("count_features",
        [](ThreadPool& pool, In<std::int64_t> sequence_ptr, In<std::int32_t> labels, In<std::int64_t> indptr,
           In<std::int32_t> attributes, std::optional<In<double>> values, std::size_t n_labels,
           In<std::int64_t> node_ptr, In<std::int32_t> node_label, In<std::int64_t> pair_ptr,
           In<std::int32_t> pair_code, In<std::int32_t> transition_code, In<std::int32_t> trigram_code) {
          FeatureRows rows;
          {
            nb::gil_scoped_release release;
            rows = count_features(pool,
                                  {view(sequence_ptr), view(labels), view(indptr), view(attributes), view(values)},
                                  {n_labels, view(node_ptr), view(node_label), view(pair_ptr), view(pair_code),
                                   view(transition_code), view(trigram_code)});
          }
          return nb::make_tuple(to_numpy(std::move(rows.indptr)), to_numpy(std::move(rows.indices)),
                                to_numpy(std::move(rows.values)));
        },
        nb::arg("pool"), nb::arg("sequence_ptr").noconvert(), nb::arg("labels").noconvert(),
        nb::arg("indptr").noconvert(), nb::arg("attributes").noconvert(), nb::arg("values").none().noconvert(),
        nb::arg("n_labels"), nb::arg("node_ptr").noconvert(), nb::arg("node_label").noconvert(),
        nb::arg("pair_ptr").noconvert(), nb::arg("pair_code").noconvert(), nb::arg("transition_code").noconvert(),
        nb::arg("trigram_code").noconvert(),
        "(indptr, indices, values): how often each labelled sequence has each listed feature.");

  m.def("posterior_counts",
        [](ThreadPool& pool, const BoundChain& chain, In<std::int64_t> sequence_ptr, In<std::int32_t> labels,
           In<std::int64_t> indptr, In<std::int32_t> attributes, std::optional<In<double>> values, In<double> scores,
           std::size_t n_labels, In<std::int64_t> node_ptr, In<std::int32_t> node_label, In<std::int64_t> pair_ptr,
           In<std::int32_t> pair_code, In<std::int32_t> transition_code, In<std::int32_t> trigram_code,
           Out<double> out) {
          nb::gil_scoped_release release;
          posterior_counts(pool, chain.chain,
                           {view(sequence_ptr), view(labels), view(indptr), view(attributes), view(values)},
                           view(scores),
                           {n_labels, view(node_ptr), view(node_label), view(pair_ptr), view(pair_code),
                            view(transition_code), view(trigram_code)},
                           view(out));
        },
        nb::arg("pool"), nb::arg("chain"), nb::arg("sequence_ptr").noconvert(), nb::arg("labels").noconvert(),
        nb::arg("indptr").noconvert(), nb::arg("attributes").noconvert(), nb::arg("values").none().noconvert(),
        nb::arg("scores").noconvert(), nb::arg("n_labels"), nb::arg("node_ptr").noconvert(),
        nb::arg("node_label").noconvert(), nb::arg("pair_ptr").noconvert(), nb::arg("pair_code").noconvert(),
        nb::arg("transition_code").noconvert(), nb::arg("trigram_code").noconvert(), nb::arg("out").noconvert(),
        "Expected counts of the features over the labellings that an HMM gives to observed sequences.");
}

}  // namespace loglinear::bindings
