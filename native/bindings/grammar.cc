#include "bindings/arrays.hh"
#include "grammar/decode.hh"
#include "grammar/generate.hh"
#include "grammar/trees.hh"
#include "text/brackets.hh"

namespace loglinear::bindings {

using namespace grammar;
namespace grammar_binding {  // named, because sources of several families are compiled together

using Ints = In<std::int32_t>;
using Longs = In<std::int64_t>;
using Bytes = In<std::uint8_t>;

Strings strings(const Bytes& blob, const Longs& offsets) { return {as_characters(blob), view(offsets)}; }

Trees trees_of(const Longs& ptr, const Ints& label, const Ints& word, const Ints& size, std::size_t n_labels,
               std::size_t n_words) {
  const Trees trees{view(ptr), view(label), view(word), view(size), n_labels, n_words};
  trees.check();
  return trees;
}

nb::tuple packed(PackedStrings&& s) {
  return nb::make_tuple(bytes_array(std::move(s.blob)), to_numpy(std::move(s.offsets)));
}

struct BoundRules {
  Longs ptr;
  Ints left, right, parent, child, tags, classes, labels;
  Rules rules;
  BoundRules(std::size_t n_symbols, std::size_t start, Longs p, Ints l, Ints r, Ints up, Ints uc, Ints t,
             std::size_t n_labels, Ints rc, Ints cl)
      : ptr(std::move(p)), left(std::move(l)), right(std::move(r)), parent(std::move(up)), child(std::move(uc)),
        tags(std::move(t)), classes(std::move(rc)), labels(std::move(cl)),
        rules(n_symbols, start, view(ptr), view(left), view(right), view(parent), view(child), view(tags), n_labels,
              view(classes), view(labels)) {}
};

struct BoundTreeFeatures {
  nb::object owner;
  Ints tag_label, rule_weight, bucket;
  Longs rule_ptr;
  std::vector<Longs> role_ptr;
  std::vector<Ints> role_target;
  TreeFeatures features;

  BoundTreeFeatures(nb::object rules, std::size_t n_words, std::size_t n_word_classes, Ints tl, Longs rp, Ints rw, Ints b,
                    std::vector<Longs> ptrs, std::vector<Ints> targets)
      : owner(std::move(rules)), tag_label(std::move(tl)), rule_weight(std::move(rw)), bucket(std::move(b)),
        rule_ptr(std::move(rp)), role_ptr(std::move(ptrs)), role_target(std::move(targets)) {
    require(role_ptr.size() == kRoles && role_target.size() == kRoles, "tree features: four roles are needed");
    features = {n_words, n_word_classes, 0, view(tag_label), view(rule_ptr), view(rule_weight), view(bucket), {}, 0, false};
    for (std::size_t r = 0; r < kRoles; ++r) features.roles[r] = {view(role_ptr[r]), view(role_target[r]), 0};
    features.check(nb::cast<BoundRules&>(owner).rules);
  }
};

struct BoundTreeModel {
  nb::object features_owner;
  In<double> weights;
  std::optional<In<double>> base, lexicon_base;
  Longs lexicon_ptr;
  Ints lexicon_tag;

  BoundTreeModel(nb::object f, In<double> w, std::optional<In<double>> b, Longs lp, Ints lt, std::optional<In<double>> lb)
      : features_owner(std::move(f)), weights(std::move(w)), base(std::move(b)), lexicon_base(std::move(lb)),
        lexicon_ptr(std::move(lp)), lexicon_tag(std::move(lt)) {
    model().check();
  }
  const TreeFeatures& features() const { return nb::cast<BoundTreeFeatures&>(features_owner).features; }
  const Rules& rules() const { return nb::cast<BoundRules&>(nb::cast<BoundTreeFeatures&>(features_owner).owner).rules; }
  TreeModel model() const {
    return {rules(), features(), view(weights), view(base), view(lexicon_ptr), view(lexicon_tag), view(lexicon_base)};
  }
};

struct BoundSentences {
  Longs ptr;
  Ints words, class_of_word;
  TreeBank bank;
  BoundSentences(Longs p, Ints w, Ints c)
      : ptr(std::move(p)), words(std::move(w)), class_of_word(std::move(c)), bank{view(ptr), view(words), view(class_of_word)} {}
};

struct BoundMasks {
  Longs ptr;
  In<std::uint64_t> bits;
  Ints coarse;
  Masks masks;
  BoundMasks(Longs p, In<std::uint64_t> b, Ints c, std::size_t n_words)
      : ptr(std::move(p)), bits(std::move(b)), coarse(std::move(c)), masks{view(ptr), view(bits), view(coarse), n_words} {}
};

struct BoundConstraints {
  std::optional<Longs> bracket_ptr;
  std::optional<Ints> begin, end, label, tags;
  Bytes hidden;
  Longs label_ptr;
  Ints labels;
  Constraints constraints;
  BoundConstraints(std::optional<Longs> p, std::optional<Ints> b, std::optional<Ints> e, std::optional<Ints> l,
                   std::optional<Ints> t, Bytes h, Longs lp, Ints ls)
      : bracket_ptr(std::move(p)), begin(std::move(b)), end(std::move(e)), label(std::move(l)), tags(std::move(t)),
        hidden(std::move(h)), label_ptr(std::move(lp)), labels(std::move(ls)),
        constraints{view(bracket_ptr), view(begin), view(end), view(label), view(tags), view(hidden), view(label_ptr),
                    view(labels)} {}
};

const Masks& masks_of(const BoundMasks* m) {
  static const Masks none;
  return m ? m->masks : none;
}
const Constraints& constraints_of(const BoundConstraints* c) {
  static const Constraints none;
  return c ? c->constraints : none;
}

// Everything a parse needs, checked.
struct Job {
  TreeModel model;
  const TreeBank& bank;
  const Masks& masks;
  const Constraints& constraints;
  Job(const BoundTreeModel& m, const BoundSentences& s, const BoundMasks* k, const BoundConstraints* c)
      : model(m.model()), bank(s.bank), masks(masks_of(k)), constraints(constraints_of(c)) {
    bank.check(model.features);
    masks.check(model.rules, bank);
    constraints.check(model.rules, bank);
  }
  Input input() const { return {model, bank, masks, constraints}; }
};

nb::tuple decoded(DecodedTrees&& t) {
  return nb::make_tuple(to_numpy(std::move(t.tree_ptr)), to_numpy(std::move(t.symbol)), to_numpy(std::move(t.word)),
                        to_numpy(std::move(t.size)), to_numpy(std::move(t.score)), to_numpy(std::move(t.list_ptr)));
}

template <class Work>
nb::tuple decode_with(const BoundTreeModel& m, const BoundSentences& s, const BoundMasks* k, const BoundConstraints* c,
                      Work work) {
  const Job job(m, s, k, c);
  DecodedTrees out;
  {
    nb::gil_scoped_release release;
    out = work(job.input());
  }
  return decoded(std::move(out));
}

void bind_trees(nb::module_& m) {
  m.def("read_brackets",
        [](ThreadPool& pool, Bytes text, std::size_t chunk_bytes) {
          text::BracketedTrees t;
          {
            nb::gil_scoped_release release;
            t = text::read_brackets(pool, as_characters(text), chunk_bytes);
          }
          return nb::make_tuple(to_numpy(std::move(t.tree_ptr)), to_numpy(std::move(t.label)),
                                to_numpy(std::move(t.word)), to_numpy(std::move(t.size)), packed(std::move(t.labels)),
                                packed(std::move(t.words)));
        },
        nb::arg("pool"), nb::arg("text").noconvert(), nb::arg("chunk_bytes") = std::size_t{1} << 20,
        "(tree_ptr, label, word, size, labels, words) of bracketed trees.");
  m.def("write_brackets",
        [](ThreadPool& pool, Longs ptr, Ints label, Ints word, Ints size, Bytes label_blob, Longs label_offsets,
           Bytes word_blob, Longs word_offsets) {
          std::vector<char> out;
          {
            nb::gil_scoped_release release;
            const Strings labels = strings(label_blob, label_offsets), words = strings(word_blob, word_offsets);
            trees_of(ptr, label, word, size, labels.size(), words.size());
            out = text::write_brackets(pool, view(ptr), view(label), view(word), view(size), labels, words);
          }
          return bytes_array(std::move(out));
        },
        nb::arg("pool"), nb::arg("tree_ptr").noconvert(), nb::arg("label").noconvert(), nb::arg("word").noconvert(),
        nb::arg("size").noconvert(), nb::arg("label_blob").noconvert(), nb::arg("label_offsets").noconvert(),
        nb::arg("word_blob").noconvert(), nb::arg("word_offsets").noconvert(), "Trees as text, one per line.");
  m.def("check_trees",
        [](Longs ptr, Ints label, Ints word, Ints size, std::size_t n_labels, std::size_t n_words) {
          nb::gil_scoped_release release;
          trees_of(ptr, label, word, size, n_labels, n_words);
        },
        nb::arg("tree_ptr").noconvert(), nb::arg("label").noconvert(), nb::arg("word").noconvert(),
        nb::arg("size").noconvert(), nb::arg("n_labels"), nb::arg("n_words"), "Raise ValueError for arrays that are no trees.");
  m.def("find_heads",
        [](Longs ptr, Ints label, Ints word, Ints size, std::size_t n_labels, std::size_t n_words, Bytes from_left,
           Longs wanted_ptr, Ints wanted, Bytes is_word_like, std::int32_t possessed, std::int32_t possessive,
           Out<std::int64_t> out) {
          nb::gil_scoped_release release;
          find_heads(trees_of(ptr, label, word, size, n_labels, n_words),
                     {view(from_left), view(wanted_ptr), view(wanted), view(is_word_like), possessed, possessive},
                     view(out));
        },
        nb::arg("tree_ptr").noconvert(), nb::arg("label").noconvert(), nb::arg("word").noconvert(),
        nb::arg("size").noconvert(), nb::arg("n_labels"), nb::arg("n_words"), nb::arg("from_left").noconvert(),
        nb::arg("wanted_ptr").noconvert(), nb::arg("wanted").noconvert(), nb::arg("is_word_like").noconvert(),
        nb::arg("possessed"), nb::arg("possessive"), nb::arg("out").noconvert(),
        "out[v] = the leaf that holds the head word of node v.");
  m.def("binarise_trees",
        [](Longs ptr, Ints label, Ints word, Ints size, std::size_t n_words, Bytes blob, Longs offsets, bool right,
           std::int64_t horizontal, std::int64_t vertical, bool annotate_tags, std::optional<Ints> head) {
          BinaryTrees t;
          {
            nb::gil_scoped_release release;
            const Strings names = strings(blob, offsets);
            t = binarise(trees_of(ptr, label, word, size, names.size(), n_words), names,
                         {right, horizontal, vertical, annotate_tags, view(head)});
          }
          return nb::make_tuple(to_numpy(std::move(t.tree_ptr)), to_numpy(std::move(t.symbol)),
                                to_numpy(std::move(t.word)), to_numpy(std::move(t.size)), packed(std::move(t.symbols)));
        },
        nb::arg("tree_ptr").noconvert(), nb::arg("label").noconvert(), nb::arg("word").noconvert(),
        nb::arg("size").noconvert(), nb::arg("n_words"), nb::arg("blob").noconvert(), nb::arg("offsets").noconvert(),
        nb::arg("right"), nb::arg("horizontal"), nb::arg("vertical"), nb::arg("annotate_tags"),
        nb::arg("head").none(),
        "(tree_ptr, symbol, word, size, symbols): trees of symbols with at most two children.");
  m.def("unbinarise_trees",
        [](Longs ptr, Ints symbol, Ints word, Ints size, std::size_t n_words, Bytes kind, Longs chain_ptr, Ints chain,
           std::size_t n_labels) {
          PlainTrees t;
          {
            nb::gil_scoped_release release;
            const SymbolTable table{view(kind), view(chain_ptr), view(chain)};
            table.check(n_labels);
            t = unbinarise(trees_of(ptr, symbol, word, size, table.kind.size(), n_words), table);
          }
          return nb::make_tuple(to_numpy(std::move(t.tree_ptr)), to_numpy(std::move(t.label)),
                                to_numpy(std::move(t.word)), to_numpy(std::move(t.size)));
        },
        nb::arg("tree_ptr").noconvert(), nb::arg("symbol").noconvert(), nb::arg("word").noconvert(),
        nb::arg("size").noconvert(), nb::arg("n_words"), nb::arg("kind").noconvert(), nb::arg("chain_ptr").noconvert(),
        nb::arg("chain").noconvert(), nb::arg("n_labels"), "(tree_ptr, label, word, size): the trees that symbols stand for.");
  m.def("generate_trees",
        [](ThreadPool& pool, Longs ptr, In<double> cumulative, Ints first, Ints second, std::int32_t start, std::size_t n,
           std::uint64_t seed, std::size_t max_nodes) {
          GeneratedTrees t;
          {
            nb::gil_scoped_release release;
            t = generate_trees(pool, {view(ptr), view(cumulative), view(first), view(second)}, start, n, seed, max_nodes);
          }
          return nb::make_tuple(to_numpy(std::move(t.tree_ptr)), to_numpy(std::move(t.symbol)),
                                to_numpy(std::move(t.word)), to_numpy(std::move(t.size)));
        },
        nb::arg("pool"), nb::arg("ptr").noconvert(), nb::arg("cumulative").noconvert(), nb::arg("first").noconvert(),
        nb::arg("second").noconvert(), nb::arg("start"), nb::arg("n"), nb::arg("seed"), nb::arg("max_nodes"),
        "(tree_ptr, symbol, word, size) of n trees drawn from a grammar.");
}

}  // namespace grammar_binding

void bind_grammar(nb::module_& m) {
  using namespace grammar_binding;
  bind_trees(m);
  nb::class_<BoundRules>(m, "GrammarRules", "Rules of a binarised grammar, checked once.")
      .def(nb::init<std::size_t, std::size_t, Longs, Ints, Ints, Ints, Ints, Ints, std::size_t, Ints, Ints>(),
           nb::arg("n_symbols"), nb::arg("start"), nb::arg("binary_ptr").noconvert(), nb::arg("left").noconvert(),
           nb::arg("right").noconvert(), nb::arg("unary_parent").noconvert(), nb::arg("unary_child").noconvert(),
           nb::arg("tag_symbol").noconvert(), nb::arg("n_labels"), nb::arg("rule_class").noconvert(),
           nb::arg("class_label").noconvert())
      .def("chart_bytes", [](const BoundRules& r, std::size_t n) { return BestChart::bytes(r.rules, n); }, nb::arg("n"),
           "Memory of a chart of n words.");
  nb::class_<BoundTreeFeatures>(m, "TreeFeatures", "Which features of trees have weights, checked once.")
      .def(nb::init<nb::object, std::size_t, std::size_t, Ints, Longs, Ints, Ints, std::vector<Longs>, std::vector<Ints>>(),
           nb::arg("rules"), nb::arg("n_words"), nb::arg("n_word_classes"), nb::arg("tag_label").noconvert(),
           nb::arg("rule_ptr").noconvert(), nb::arg("rule_weight").noconvert(), nb::arg("bucket").noconvert(),
           nb::arg("role_ptr").noconvert(), nb::arg("role_target").noconvert())
      .def_prop_ro("n_weights", [](const BoundTreeFeatures& f) { return f.features.n_weights; })
      .def_prop_ro("anchored", [](const BoundTreeFeatures& f) { return f.features.anchored; })
      .def("count", [](const BoundTreeFeatures& f, ThreadPool& pool, const BoundSentences& s, Longs ptr, Ints rule,
                       Ints begin, Ints split, Ints end) {
             const Rules& rules = nb::cast<BoundRules&>(f.owner).rules;
             FeatureCounts out;
             {
               nb::gil_scoped_release release;
               s.bank.check(f.features);
               const TreeParts parts{view(ptr), view(rule), view(begin), view(split), view(end)};
               parts.check(rules, s.bank);
               out = count_tree_features(pool, rules, f.features, s.bank, parts);
             }
             return nb::make_tuple(to_numpy(std::move(out.indptr)), to_numpy(std::move(out.indices)),
                                   to_numpy(std::move(out.values)));
           },
           nb::arg("pool"), nb::arg("sentences"), nb::arg("part_ptr").noconvert(), nb::arg("rule").noconvert(),
           nb::arg("begin").noconvert(), nb::arg("split").noconvert(), nb::arg("end").noconvert(),
           "(indptr, indices, values): how often each tree has each feature.");
  nb::class_<BoundTreeModel>(m, "TreeModel", "Weights of features of trees, with a base model or without.")
      .def(nb::init<nb::object, In<double>, std::optional<In<double>>, Longs, Ints, std::optional<In<double>>>(),
           nb::arg("features"), nb::arg("weights").noconvert(), nb::arg("base").none(), nb::arg("lexicon_ptr").noconvert(),
           nb::arg("lexicon_tag").noconvert(), nb::arg("lexicon_base").none());
  nb::class_<BoundSentences>(m, "TreeSentences", "Sentences of numbered words.")
      .def(nb::init<Longs, Ints, Ints>(), nb::arg("sentence_ptr").noconvert(), nb::arg("words").noconvert(),
           nb::arg("class_of_word").noconvert());
  nb::class_<BoundMasks>(m, "TreeMasks", "Symbols that may stand over each span.")
      .def(nb::init<Longs, In<std::uint64_t>, Ints, std::size_t>(), nb::arg("ptr").noconvert(), nb::arg("bits").noconvert(),
           nb::arg("coarse").noconvert(), nb::arg("n_words"));
  nb::class_<BoundConstraints>(m, "TreeConstraints", "Given brackets and tags, and the labels that unary rules make.")
      .def(nb::init<std::optional<Longs>, std::optional<Ints>, std::optional<Ints>, std::optional<Ints>,
                    std::optional<Ints>, Bytes, Longs, Ints>(),
           nb::arg("bracket_ptr").none(), nb::arg("begin").none(), nb::arg("end").none(), nb::arg("label").none(),
           nb::arg("tags").none(), nb::arg("hidden").noconvert(), nb::arg("label_ptr").noconvert(),
           nb::arg("labels").noconvert());

  m.def("tree_loss",
        [](ThreadPool& pool, const BoundTreeModel& model, const BoundSentences& s, const BoundMasks* k,
           const BoundConstraints* c, Out<double> gradient) {
          const Job job(model, s, k, c);
          nb::gil_scoped_release release;
          return tree_loss(pool, job.model, job.bank, job.masks, job.constraints, view(gradient));
        },
        nb::arg("pool"), nb::arg("model"), nb::arg("sentences"), nb::arg("masks").none(), nb::arg("constraints").none(),
        nb::arg("gradient").noconvert(), "Sum of log Z; the gradient is the expected counts.");
  m.def("tree_log_normalisers",
        [](ThreadPool& pool, const BoundTreeModel& model, const BoundSentences& s, const BoundMasks* k,
           const BoundConstraints* c, Out<double> out) {
          const Job job(model, s, k, c);
          nb::gil_scoped_release release;
          log_normalisers(pool, job.model, job.bank, job.masks, job.constraints, view(out));
        },
        nb::arg("pool"), nb::arg("model"), nb::arg("sentences"), nb::arg("masks").none(), nb::arg("constraints").none(),
        nb::arg("out").noconvert(), "log Z of every sentence.");
  m.def("best_trees",
        [](ThreadPool& pool, const BoundTreeModel& model, const BoundSentences& s, const BoundMasks* k,
           const BoundConstraints* c) {
          return decode_with(model, s, k, c, [&](const Input& in) { return best_trees(pool, in); });
        },
        nb::arg("pool"), nb::arg("model"), nb::arg("sentences"), nb::arg("masks").none(), nb::arg("constraints").none(),
        "(tree_ptr, symbol, word, size, score, list_ptr) of the best trees.");
  m.def("nbest_trees",
        [](ThreadPool& pool, const BoundTreeModel& model, const BoundSentences& s, const BoundMasks* k,
           const BoundConstraints* c, std::size_t n) {
          return decode_with(model, s, k, c, [&](const Input& in) { return nbest_trees(pool, in, n); });
        },
        nb::arg("pool"), nb::arg("model"), nb::arg("sentences"), nb::arg("masks").none(), nb::arg("constraints").none(),
        nb::arg("k"), "The same of the k best trees of every sentence.");
  m.def("sample_trees",
        [](ThreadPool& pool, const BoundTreeModel& model, const BoundSentences& s, const BoundMasks* k,
           const BoundConstraints* c, std::size_t n, std::uint64_t seed) {
          return decode_with(model, s, k, c, [&](const Input& in) { return sample_trees(pool, in, n, seed); });
        },
        nb::arg("pool"), nb::arg("model"), nb::arg("sentences"), nb::arg("masks").none(), nb::arg("constraints").none(),
        nb::arg("n_samples"), nb::arg("seed"), "The same of trees drawn from p(tree | sentence).");
  m.def("recall_trees",
        [](ThreadPool& pool, const BoundTreeModel& model, const BoundSentences& s, const BoundMasks* k,
           const BoundConstraints* c, std::size_t n_labels, double cost) {
          return decode_with(model, s, k, c, [&](const Input& in) { return recall_trees(pool, in, n_labels, cost); });
        },
        nb::arg("pool"), nb::arg("model"), nb::arg("sentences"), nb::arg("masks").none(), nb::arg("constraints").none(),
        nb::arg("n_labels"), nb::arg("cost"), "The same, as trees of labels, of greatest expected recall.");
  m.def("tree_marginals",
        [](ThreadPool& pool, const BoundTreeModel& model, const BoundSentences& s, const BoundMasks* k,
           const BoundConstraints* c, std::size_t n_labels, double threshold) {
          const Job job(model, s, k, c);
          Marginals out;
          {
            nb::gil_scoped_release release;
            out = constituent_marginals(pool, job.input(), n_labels, threshold);
          }
          return nb::make_tuple(to_numpy(std::move(out.ptr)), to_numpy(std::move(out.begin)), to_numpy(std::move(out.end)),
                                to_numpy(std::move(out.label)), to_numpy(std::move(out.probability)));
        },
        nb::arg("pool"), nb::arg("model"), nb::arg("sentences"), nb::arg("masks").none(), nb::arg("constraints").none(),
        nb::arg("n_labels"), nb::arg("threshold"), "(ptr, begin, end, label, probability) of constituents.");
  m.def("coarse_masks",
        [](ThreadPool& pool, const BoundTreeModel& model, const BoundSentences& s, double threshold,
           std::optional<Longs> ptr, std::optional<Ints> symbol, std::optional<Ints> begin, std::optional<Ints> end) {
          const Job job(model, s, nullptr, nullptr);
          CoarseMasks out;
          {
            nb::gil_scoped_release release;
            out = coarse_masks(pool, job.model, job.bank, threshold, view(ptr), view(symbol), view(begin), view(end));
          }
          return nb::make_tuple(to_numpy(std::move(out.ptr)), to_numpy(std::move(out.bits)), out.kept, out.possible, out.lost);
        },
        nb::arg("pool"), nb::arg("model"), nb::arg("sentences"), nb::arg("threshold"), nb::arg("always_ptr").none(),
        nb::arg("always_symbol").none(), nb::arg("always_begin").none(), nb::arg("always_end").none(),
        "(ptr, bits, kept, possible, lost): masks of what a coarse model finds likely.");
}

}  // namespace loglinear::bindings
