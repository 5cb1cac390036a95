// Files of examples: CoNLL, CRFsuite's data, svmlight, bracketed trees.
#include "fuzz/target.hh"
#include "grammar/trees.hh"
#include "text/brackets.hh"
#include "text/conll.hh"
#include "text/crfsuite.hh"
#include "text/svmlight.hh"

namespace loglinear::fuzz::records {
namespace {

using namespace text;

void use_conll(Input& input) {
  ThreadPool& pool = input.pool();
  const std::size_t chunk_size = input.chunk_size(), settings = input.byte();
  const std::vector<char> file = input.text();
  const ConllData data = parse_conll(pool, file, static_cast<Separator>(settings % 3), settings & 4, chunk_size);
  std::vector<ConllView> columns;
  for (const ConllColumn& c : data.columns) columns.push_back({c.ids, c.values});
  if (columns.empty()) return;
  const std::vector<char> written = format_conll(data.sequence_ptr, columns, '\t');
  const ConllData again = parse_conll(pool, written, Separator::tab, false, chunk_size + 3);
  expect(again.sequence_ptr == data.sequence_ptr && again.columns.size() == columns.size(), "CoNLL: not read back");
  for (std::size_t c = 0; c < columns.size(); ++c)
    expect(again.columns[c].ids == data.columns[c].ids && again.columns[c].values.blob == data.columns[c].values.blob,
           "CoNLL: other values are read back");
}

std::vector<Bytes> conll_seeds() {
  std::vector<Bytes> seeds;
  for (const char* file : {"the DT B-NP\ndog NN I-NP\n\nruns VB B-VP\n", "a b\tc\n\t\n\n\xc3\xa9\td e\r\n",
                           "-DOCSTART- O\r\n\r\n# a\nb c\n", "one\n\n\n\ntwo"})
    for (const std::size_t settings : {0, 2, 5}) seeds.push_back(Seed().byte(0).byte(3).byte(settings).text(file));
  return seeds;
}

void use_crfsuite(Input& input) {
  ThreadPool& pool = input.pool();
  const std::size_t chunk_size = input.chunk_size();
  const std::vector<char> file = input.text();
  const CrfsuiteData data = parse_crfsuite(pool, file, chunk_size);
  expect(data.indptr.back() == static_cast<std::int64_t>(data.indices.size()) &&
             data.sequence_ptr.back() == static_cast<std::int64_t>(data.labels.size()),
         "CRFsuite: pointers do not end at the data");
  for (const std::int32_t i : data.indices)
    expect(i >= 0 && static_cast<std::size_t>(i) < data.attributes.size(), "CRFsuite: an attribute has no name");
}

std::vector<Bytes> crfsuite_seeds() {
  std::vector<Bytes> seeds;
  for (const char* file : {"A\tw=the\tn:2.5\nB\tw\\:x\\\\\n\nO\n", "X\ta:1\ta:-3e-2\tb\r\n\r\nY\t\tc:1e300\n"})
    seeds.push_back(Seed().byte(0).byte(3).text(file));
  return seeds;
}

void use_svmlight(Input& input) {
  ThreadPool& pool = input.pool();
  const std::size_t chunk_size = input.chunk_size(), settings = input.byte();
  const std::vector<char> file = input.text();
  const SvmlightData data = parse_svmlight(pool, file, static_cast<IndexBase>(settings % 3),
                                           settings & 4 ? std::int64_t{1} << (settings / 5) : -1, chunk_size);
  expect(data.indptr.size() == data.labels.size() + 1, "svmlight: rows and labels differ in number");
  const std::size_t n = data.values.size();
  expect(data.indices.size() + data.wide.size() == n && data.indptr.back() == static_cast<std::int64_t>(n),
         "svmlight: values and indices differ in number");
  for (const std::int32_t i : data.indices) expect(i >= 0 && i < data.n_features, "svmlight: an index is no feature");
  for (const std::int64_t i : data.wide) expect(i >= 0 && i < data.n_features, "svmlight: a wide index is no feature");
}

std::vector<Bytes> svmlight_seeds() {
  std::vector<Bytes> seeds;
  for (const char* file : {"+1 1:0.5 3:-2e3 # note\n-1 qid:3 2:1\n", "a 0:1 4294967296:2\r\n\nb\n", "1 7:1e-400\n0 1:.5"})
    for (const std::size_t settings : {0, 1, 40 * 4 + 4 + 2}) seeds.push_back(Seed().byte(0).byte(3).byte(settings).text(file));
  return seeds;
}

void use_brackets(Input& input) {
  ThreadPool& pool = input.pool();
  const std::size_t chunk_size = input.chunk_size(), settings = input.byte();
  const std::vector<char> file = input.text();
  const BracketedTrees t = read_brackets(pool, file, chunk_size);
  const grammar::Trees trees{t.tree_ptr, t.label, t.word, t.size, t.labels.size(), t.words.size()};
  trees.check();
  const auto write = [&] { return write_brackets(pool, t.tree_ptr, t.label, t.word, t.size, t.labels, t.words); };
  const std::vector<char> written = write();
  const BracketedTrees again = read_brackets(pool, written, chunk_size + 3);
  expect(again.size == t.size && again.word == t.word && again.labels.blob == t.labels.blob, "brackets: not read back");
  const grammar::Binarisation how{(settings & 1) != 0, static_cast<std::int64_t>(settings / 2 % 4) - 1,
                                  static_cast<std::int64_t>(settings / 8 % 3) + 1, (settings & 64) != 0, {}};
  const grammar::BinaryTrees b = grammar::binarise(trees, t.labels, how);
  grammar::Trees{b.tree_ptr, b.symbol, b.word, b.size, b.symbols.size(), t.words.size()}.check();
}

std::vector<Bytes> brackets_seeds() {
  std::vector<Bytes> seeds;
  for (const char* file : {"(S (NP (DT the) (NN dog)) (VP (VBZ barks)))\n( (S (A (x a) (y b) (z c) (z d)) (B (B (y b)))))",
                           "(q (x a))(q (x a)\n(x a))", "(S (-LRB- -LRB-) (X \xc3\xa9))\r\n"})
    for (const std::size_t settings : {0, 91}) seeds.push_back(Seed().byte(0).byte(3).byte(settings).text(file));
  return seeds;
}

[[maybe_unused]] const bool added =
    add_target({"conll", use_conll, conll_seeds, {"\t", "\r\n", "\n\n", "#", "\xef\xbb\xbf"}}) &&
    add_target({"crfsuite", use_crfsuite, crfsuite_seeds, {"\t", ":", "\\:", "\\\\", "1e999", "nan", "\n\n"}}) &&
    add_target({"svmlight", use_svmlight, svmlight_seeds, {"qid:1", ":", "#", "2147483648:1", "9223372036854775807:1", "1e999"}}) &&
    add_target({"brackets", use_brackets, brackets_seeds, {"(", ")", "(x y)", "((", "))", "(a (b c))", "\n"}});

}  // namespace
}  // namespace loglinear::fuzz::records
