// Distributions over the next word, and what is drawn from them.
#include <algorithm>
#include <cmath>
#include <mutex>
#include <numeric>
#include <shared_mutex>
#include <unordered_map>

#include "backoff/query.hh"
#include "util/errors.hh"
#include "util/random.hh"

namespace loglinear::backoff {

using trie::kHighestOrder;
namespace {

constexpr std::size_t kBlock = 128;  // words whose sum is taken at a time

// p(w)^power of every word without context.
std::vector<double> unigram_powers(const BackoffAutomaton& a, double power) {
  std::vector<double> result(a.n_words);
  for (std::size_t w = 0; w < a.n_words; ++w) result[w] = std::exp(power * a.entries[w].log_probability);
  return result;
}

// p(w | context)^power: from the empty context to the longest, each scaling what is below and setting its own.
void fill_powers(const BackoffAutomaton& a, std::uint32_t context, double power, std::span<const double> unigrams,
                 std::span<double> out) {
  std::uint32_t chain[kHighestOrder];
  double scale[kHighestOrder];  // of the entries of each: what backing off from the longer ones costs
  std::size_t n = 0;
  double log_scale = 0.0;
  for (std::uint32_t c = context; c != 0; c = a.contexts[c].parent) {
    a.enter(c);
    chain[n] = c, scale[n++] = std::exp(power * log_scale);
    log_scale += a.contexts[c].log_backoff;
  }
  const double all = std::exp(power * log_scale);
  for (std::size_t w = 0; w < out.size(); ++w) out[w] = unigrams[w] * all;
  while (n-- > 0) {
    const AutomatonContext& c = a.contexts[chain[n]];
    for (const AutomatonEntry& e : a.entries.subspan(c.first, c.size))
      if (e.word != kBlank) out[e.word] = scale[n] * std::exp(power * e.log_probability);
  }
}

// A word drawn from weights that need not sum to one.
std::uint32_t draw(std::span<const double> weights, std::vector<double>& sums, double u) {
  sums.clear();
  double total = 0.0;
  for (std::size_t begin = 0; begin < weights.size(); begin += kBlock) {
    double partial = 0.0;
    for (std::size_t w = begin; w < std::min(begin + kBlock, weights.size()); ++w) partial += weights[w];
    sums.push_back(total += partial);
  }
  if (!(total > 0.0) || !std::isfinite(total))
    throw InvalidInput(
        "sample: the probabilities of the next word do not sum to a positive number; choose a higher temperature");
  const double target = u * total;
  const auto block = static_cast<std::size_t>(std::upper_bound(sums.begin(), sums.end(), target) - sums.begin());
  const std::size_t first = std::min(block, sums.size() - 1) * kBlock;
  double sum = first == 0 ? 0.0 : sums[first / kBlock - 1];
  std::size_t drawn = weights.size();
  for (std::size_t w = first; w < weights.size() && !(sum > target); ++w)
    if (weights[w] > 0.0) sum += weights[drawn = w];
  for (std::size_t w = first; drawn == weights.size(); --w)  // rounding left the target above the last sum
    if (weights[w] > 0.0) drawn = w;
  return static_cast<std::uint32_t>(drawn);
}

// Draws from a model whose distributions sum to one without a look at all words: one of the context's own entries, or,
// with the probability that these leave, what is drawn for the next shorter context, again while it is one of them. The
// sums of large contexts are kept from their first use on.
class Sampler {
 public:
  explicit Sampler(const BackoffAutomaton& a) : a_(a), unigrams_(unigram_powers(a, 1.0)) {
    std::partial_sum(unigrams_.begin(), unigrams_.end(), unigrams_.begin());
  }

  // A word after the context but `excluded`; kBlank after many that were not allowed: all had better be looked at.
  std::uint32_t draw(std::uint32_t context, std::uint32_t excluded, Random& random) {
    int patience = 10'000;
    std::uint32_t word;
    do word = draw_from(context, random, patience);
    while (word == excluded && --patience > 0);
    return word == excluded ? kBlank : word;
  }

 private:
  static constexpr std::uint32_t kLarge = 64;  // slots that are summed anew each time

  std::uint32_t draw_from(std::uint32_t context, Random& random, int& patience) {
    const double u = random.uniform();
    if (context == 0) {
      const auto at = std::upper_bound(unigrams_.begin(), unigrams_.end(), u * unigrams_.back()) - unigrams_.begin();
      return static_cast<std::uint32_t>(std::min<std::ptrdiff_t>(at, std::ssize(unigrams_) - 1));
    }
    if (const AutomatonEntry* own = own_entry(context, u)) return own->word;
    while (--patience > 0) {
      const std::uint32_t word = draw_from(a_.contexts[context].parent, random, patience);
      if (word == kBlank || !a_.find(context, word, a_.seek(context, word))) return word;
    }
    return kBlank;
  }

  // The entry of a context at which the sum of probabilities passes u; null where it does not.
  const AutomatonEntry* own_entry(std::uint32_t context, double u) {
    a_.enter(context);
    const AutomatonContext& c = a_.contexts[context];
    const auto slots = a_.entries.subspan(c.first, c.size);
    if (c.size > kLarge) {
      const std::vector<double>& sums = sums_of(context, slots);
      const auto at = std::upper_bound(sums.begin(), sums.end(), u) - sums.begin();
      return at == std::ssize(sums) ? nullptr : &slots[static_cast<std::size_t>(at)];
    }
    double sum = 0.0;
    for (const AutomatonEntry& e : slots)
      if (e.word != kBlank && (sum += std::exp(static_cast<double>(e.log_probability))) > u) return &e;
    return nullptr;
  }

  const std::vector<double>& sums_of(std::uint32_t context, std::span<const AutomatonEntry> slots) {
    {
      const std::shared_lock lock(mutex_);
      if (const auto found = sums_.find(context); found != sums_.end()) return found->second;
    }
    std::vector<double> sums;
    double sum = 0.0;
    for (const AutomatonEntry& e : slots)
      sums.push_back(sum += e.word == kBlank ? 0.0 : std::exp(static_cast<double>(e.log_probability)));
    const std::unique_lock lock(mutex_);
    return sums_.try_emplace(context, std::move(sums)).first->second;  // stays where it is when others come
  }

  const BackoffAutomaton& a_;
  std::vector<double> unigrams_;  // sums up to each word
  std::shared_mutex mutex_;
  std::unordered_map<std::uint32_t, std::vector<double>> sums_;
};

}  // namespace

void next_distribution(const BackoffAutomaton& automaton, std::uint32_t context, std::span<double> out) {
  if (out.size() != automaton.n_words) throw InvalidInput("next_distribution: out needs one number for each word");
  if (context >= automaton.contexts.size()) throw InvalidInput("next_distribution: there is no such state");
  fill_powers(automaton, context, 1.0, unigram_powers(automaton, 1.0), out);
}

std::vector<std::uint32_t> most_probable(std::span<const double> probabilities, std::size_t k) {
  std::vector<std::uint32_t> order(probabilities.size());
  std::iota(order.begin(), order.end(), 0u);
  k = std::min(k, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(k), order.end(), [&](auto a, auto b) {
    return probabilities[a] != probabilities[b] ? probabilities[a] > probabilities[b] : a < b;
  });
  order.resize(k);
  return order;
}

SampledSentences sample_sentences(ThreadPool& pool, const BackoffAutomaton& automaton, std::uint32_t context,
                                  std::size_t n, std::size_t max_length, double temperature, std::uint32_t excluded,
                                  std::uint64_t seed) {
  if (!(temperature > 0.0) || !std::isfinite(temperature))
    throw InvalidInput("sample: the temperature must be positive and finite");
  if (context >= automaton.contexts.size()) throw InvalidInput("sample: there is no such state");
  constexpr std::size_t kSentences = 4;
  const double power = 1.0 / temperature;
  const std::vector<double> unigrams = unigram_powers(automaton, power);
  Sampler sampler(automaton);
  std::vector<std::vector<std::uint32_t>> sentences(n);
  parallel_for(pool, n, kSentences, [&](std::size_t begin, std::size_t end) {
    std::vector<double> weights, sums;
    const auto draw_from_all = [&](std::uint32_t state, Random& random) {
      weights.resize(automaton.n_words);
      fill_powers(automaton, state, power, unigrams, weights);
      if (excluded < weights.size()) weights[excluded] = 0.0;
      return draw(weights, sums, random.uniform());
    };
    for (std::size_t i = begin; i < end; ++i) {
      Random random(seed, i);
      for (std::uint32_t state = context; sentences[i].size() < max_length;) {
        std::uint32_t word = power == 1.0 ? sampler.draw(state, excluded, random) : kBlank;
        if (word == kBlank) word = draw_from_all(state, random);
        if (word == 0) break;
        sentences[i].push_back(word);
        state = automaton.step(state, word).next;
      }
    }
  });
  SampledSentences result{{}, {0}};
  for (const auto& sentence : sentences) {
    result.words.insert(result.words.end(), sentence.begin(), sentence.end());
    result.sentence_ptr.push_back(static_cast<std::int64_t>(result.words.size()));
  }
  return result;
}

}  // namespace loglinear::backoff
