// Word clustering without Python: moves raise the likelihood, threads change nothing, merges keep the counts.
#include <random>
#include <vector>

#include "check.hh"
#include "cluster/bidirectional.hh"
#include "cluster/exchange.hh"
#include "cluster/merge.hh"
#include "util/errors.hh"

namespace loglinear::tests::cluster {

using namespace loglinear::cluster;
using namespace loglinear;

namespace {

struct Words {
  std::size_t n_words = 0;
  std::vector<std::uint32_t> words;
  std::vector<std::int64_t> sentence_ptr{0};
  operator trie::SentencesView() const { return {n_words, words, sentence_ptr}; }
};

Words random_words(std::mt19937& random, std::size_t n_words, std::size_t n_sentences) {
  Words out;
  out.n_words = n_words;
  for (std::size_t s = 0; s < n_sentences; ++s) {
    for (std::size_t length = random() % 9; length > 0; --length)
      out.words.push_back(static_cast<std::uint32_t>(1 + (random() % (n_words - 1)) * (random() % 2)));
    out.sentence_ptr.push_back(static_cast<std::int64_t>(out.words.size()));
  }
  return out;
}

TEST(bigrams_count_every_token_twice) {
  std::mt19937 random(1);
  ThreadPool pool(2);
  const Words text = random_words(random, 30, 40);
  const Bigrams bigrams = count_bigrams(pool, text);
  for (std::size_t w = 0; w < bigrams.n_words; ++w) {
    std::int32_t after = 0, before = 0;
    for (const Neighbour& entry : bigrams.after.of(w)) after += entry.count;
    for (const Neighbour& entry : bigrams.before.of(w)) before += entry.count;
    CHECK(after == bigrams.count[w] && before == bigrams.count[w]);
  }
  CHECK(bigrams.count[0] == 40);
  Words wrong = text;
  wrong.words[0] = 30;
  CHECK_THROWS(count_bigrams(pool, wrong), InvalidInput);
}

TEST(exchanges_never_lose_and_do_not_depend_on_threads) {
  std::mt19937 random(2);
  ThreadPool one(1), three(3);
  const Bigrams bigrams = count_bigrams(one, random_words(random, 200, 500));
  std::vector<std::uint32_t> labels(200);
  for (std::uint32_t& label : labels) label = random() % 9;
  Exchange a(bigrams, 9, labels), b(bigrams, 9, labels);
  Bidirectional c(bigrams, 9, labels), d(bigrams, 9, labels);
  for (int pass = 0; pass < 5; ++pass) {
    const double before = a.log_likelihood(), words_before = c.objective();
    CHECK(a.pass(one) == b.pass(three) && c.pass(one) == d.pass(three));
    CHECK(a.log_likelihood() >= before && c.objective() >= words_before);
  }
  CHECK(std::vector(a.labels().begin(), a.labels().end()) == std::vector(b.labels().begin(), b.labels().end()));
  CHECK(std::vector(c.labels().begin(), c.labels().end()) == std::vector(d.labels().begin(), d.labels().end()));
  const Exchange anew(bigrams, 9, std::vector([&] {
                        std::vector<std::uint32_t> out(a.labels().begin(), a.labels().end());
                        out[0] = 0;
                        return out;
                      }()));
  CHECK(std::abs(anew.log_likelihood() - a.log_likelihood()) < 1e-6);
  CHECK_THROWS(Exchange(bigrams, 8, std::vector<std::uint32_t>(200, 8)), InvalidInput);
}

TEST(merges_leave_as_many_classes_as_wanted) {
  std::mt19937 random(3);
  ThreadPool pool(2);
  const Bigrams bigrams = count_bigrams(pool, random_words(random, 80, 300));
  Merger all(pool, bigrams, 7), half(pool, bigrams, 7);
  CHECK(all.insert(pool, 1000) == 0);
  CHECK(half.insert(pool, 20) > 0);
  half.put_rest(pool);
  for (const Merger* merger : {&all, &half}) {
    std::vector<int> members(8, 0);
    for (const std::uint32_t word : bigrams.by_count()) ++members.at(merger->labels()[word]);
    for (std::size_t c = 0; c < 7; ++c) CHECK(members[c] > 0);
    CHECK(members[7] == 0);
  }
  const auto tree = all.tree(pool);
  CHECK(tree.size() == 6 && std::max(tree.back().first, tree.back().second) == 11);
  CHECK_THROWS(Merger(pool, bigrams, 500), InvalidInput);
}

}  // namespace
}  // namespace loglinear::tests::cluster
