#include "kenlm/model.hh"

#include <cmath>

#include "kenlm/search.hh"

namespace loglinear::kenlm {
namespace {

// From the last word to older ones, as long as n-grams are found.
template <class Search>
Score score_by(const Search& search, std::size_t order, const State& in, std::uint32_t word, State& out) {
  typename Search::Node node;
  bool extends = false;
  Value v = search.unigram(word, node, extends);
  Score score{v.log10, 1};
  float backoff[kMostOrder];
  backoff[0] = v.backoff;
  std::uint32_t kept = is_context(v.backoff) ? 1 : 0;
  for (std::uint32_t k = 0; extends && k < in.length; ++k) {
    if (k + 2 == order) {
      if (search.longest(in.words[k], node, score.log10)) score.length = static_cast<std::uint32_t>(order);
      break;
    }
    if (!search.middle(k + 2, in.words[k], node, v, extends)) break;
    score = {v.log10, k + 2};
    backoff[k + 1] = v.backoff;
    if (is_context(v.backoff)) kept = k + 2;
  }
  for (std::uint32_t k = score.length - 1; k < in.length; ++k) score.log10 += in.backoff[k];
  if (std::isnan(score.log10)) refuse_damage();
  std::memmove(out.words + 1, in.words, (kept > 1 ? kept - 1 : 0) * sizeof(std::uint32_t));
  out.words[0] = word;
  std::memcpy(out.backoff, backoff, kept * sizeof(float));
  out.length = kept;
  return score;
}

// The place of a hash among ascending ones; n where it is not there.
std::uint64_t find_hash(const std::uint8_t* hashes, std::uint64_t n, std::uint64_t hash) {
  std::uint64_t low = 0, high = n, least = 0, most = ~std::uint64_t{0};
  for (int step = 0; low < high; ++step) {
    const std::uint64_t width = high - low;
    std::uint64_t ahead = width / 2;
    if (step < 8) {
      const double share = static_cast<double>(hash - least) / (static_cast<double>(most - least) + 1.0);
      ahead = std::min(static_cast<std::uint64_t>(share * static_cast<double>(width)), width - 1);
    }
    const auto found = load<std::uint64_t>(hashes + 8 * (low + ahead));
    if (found == hash) return low + ahead;
    if (found < hash) low += ahead + 1, least = found + 1;
    else high = low + ahead, most = found - 1;
  }
  return n;
}

}  // namespace

int compare(const State& a, const State& b) {
  if (a.length != b.length) return a.length < b.length ? -1 : 1;
  return std::memcmp(a.words, b.words, a.length * sizeof(std::uint32_t));
}

Model::Model(std::span<const std::uint8_t> file) : file_(file), layout_(read_layout(file)) {
  begin_ = number_of("<s>"), end_ = number_of("</s>");
}

std::uint32_t Model::number_of(std::string_view word) const {
  const std::uint64_t hash = hash_word(word.data(), word.size());
  const std::uint8_t* const table = file_.data() + layout_.vocabulary_at;
  if (!layout_.is_probing()) {
    const std::uint64_t place = find_hash(table, layout_.vocabulary_slots, hash);
    return place == layout_.vocabulary_slots ? 0 : static_cast<std::uint32_t>(place + 1);
  }
  const std::uint8_t* const found = ProbingSearch::find(table, layout_.vocabulary_slots, 12, hash);
  const std::uint32_t number = found ? load<std::uint32_t>(found) : 0;
  if (number >= layout_.n_words) refuse_damage();
  return number;
}

State Model::begin_state() const {
  const std::uint8_t* const unigram = &file_[layout_.unigrams_at + std::uint64_t{begin_} * layout_.unigram_size()];
  State state;
  state.length = 1;
  state.words[0] = begin_;
  state.backoff[0] = load<float>(unigram + 4);
  return state;
}

Score Model::score(const State& in, std::uint32_t word, State& out) const {
  if (layout_.is_probing()) return score_by(ProbingSearch(file_, layout_), layout_.order, in, word, out);
  return score_by(TrieSearch(file_, layout_), layout_.order, in, word, out);
}

std::vector<std::string_view> words_of(const Model& model) {
  const Layout& layout = model.layout();
  if (!layout.has_words)
    throw InvalidInput("KenLM binary file: it was built without its words (build_binary -v), so that they cannot be "
                       "listed; build it with them");
  const auto* p = reinterpret_cast<const char*>(model.file().data()) + layout.words_at;
  const char* const end = reinterpret_cast<const char*>(model.file().data()) + model.file().size();
  std::vector<std::string_view> words;
  words.reserve(std::min<std::size_t>(layout.n_words, static_cast<std::size_t>(end - p)));
  for (const char* next; words.size() < layout.n_words; p = next + 1) {
    next = std::find(p, end, '\0');
    if (next == end) throw InvalidInput("KenLM binary file: it has fewer words than numbers; fetch it again");
    words.emplace_back(p, static_cast<std::size_t>(next - p));
    if (words.size() > 1 && model.number_of(words.back()) != words.size() - 1)
      throw InvalidInput("KenLM binary file: its words and their numbers do not agree; fetch it again");
  }
  return words;
}

std::vector<ListedOrder> list_ngrams(const Model& model) {
  const Layout& layout = model.layout();
  if (layout.is_probing())
    throw InvalidInput("KenLM binary file: a probing file holds hashes of n-grams, from which the n-grams cannot be "
                       "listed; use the ARPA file, or a file of the kind 'trie'");
  const TrieSearch search(model.file(), layout);
  std::vector<ListedOrder> orders(layout.order);
  std::vector<std::uint64_t> first(layout.n_words + 1), next;  // where the children of each n-gram begin
  ListedOrder& unigrams = orders[0];
  for (std::uint32_t w = 0; w < layout.n_words; ++w) {
    TrieSearch::Node node{};
    bool extends = false;
    const Value v = search.unigram(w, node, extends);
    if (node.first != first[w]) refuse_damage();
    first[w + 1] = node.last;
    unigrams.words.push_back(w);
    unigrams.log10.push_back(v.log10);
    unigrams.log10_backoff.push_back(v.backoff);
  }
  for (std::size_t n = 2; n <= layout.order; ++n) {
    const PackedOrder& p = layout.packed[n - 2];
    const ListedOrder& shorter = orders[n - 2];
    ListedOrder& own = orders[n - 1];
    if (first.back() != p.count) refuse_damage();
    own.words.reserve(p.count * n);
    next.assign(p.count + 1, 0);
    for (std::size_t parent = 0; parent + 1 < first.size(); ++parent) {
      for (std::uint64_t i = first[parent]; i < first[parent + 1]; ++i) {
        const std::uint32_t oldest = search.word(n, i);
        if (oldest >= layout.n_words) refuse_damage();
        own.words.push_back(oldest);
        own.words.insert(own.words.end(), shorter.words.begin() + static_cast<std::ptrdiff_t>(parent * (n - 1)),
                         shorter.words.begin() + static_cast<std::ptrdiff_t>((parent + 1) * (n - 1)));
        const Value v = search.value(n, i);
        if (std::isnan(v.log10) || std::isnan(v.backoff)) refuse_damage();
        own.log10.push_back(v.log10);
        if (n == layout.order) continue;
        own.log10_backoff.push_back(v.backoff);
        const TrieSearch::Node node = search.children(n, i);
        if (node.first != next[i]) refuse_damage();
        next[i + 1] = node.last;
      }
    }
    first.swap(next);
  }
  return orders;
}

}  // namespace loglinear::kenlm
