#include "backoff/mix.hh"

#include <algorithm>
#include <cmath>
#include <limits>

#include "trie/cuts.hh"
#include "util/errors.hh"

namespace loglinear::backoff {

using namespace trie;
void log_probabilities_of(ThreadPool& pool, const BackoffArrays& model, const TrieView& shape,
                          std::span<double> out) {
  if (model.shape.n_words != shape.n_words) throw InvalidInput("n-grams and model have vocabularies of different size");
  if (out.size() != shape.n_entries()) throw InvalidInput("out needs one number for each entry");
  const std::vector<std::uint32_t> nearest = nearest_contexts(pool, model.shape, shape);
  const std::vector<std::uint32_t> parents = shape.parents(), model_parents = model.shape.parents();
  std::copy_n(model.log_probability.begin(), shape.n_words, out.begin());
  for (std::size_t k = 1; k < shape.order; ++k)
    for_contexts(pool, shape, k, [&](std::uint32_t begin, std::uint32_t end) {
      for (std::uint32_t c = begin; c < end; ++c) {
        const std::uint32_t at = nearest[c], parent = parents[c];
        const bool whole = k < model.shape.order && at >= model.shape.context_start[k];
        std::uint32_t from = shape.context_entry[parent], model_from = model.shape.context_entry[at];
        for (std::uint32_t e = shape.context_entry[c]; e < shape.context_entry[c + 1]; ++e) {
          const std::uint32_t word = shape.entry_word[e];
          const std::uint32_t own = whole ? model.shape.entry_after(model_from, at, word) : kNowhere;
          const std::uint32_t shorter = own == kNowhere ? shape.entry_after(from, parent, word) : kNowhere;
          if (own != kNowhere) out[e] = model.log_probability[own];
          else if (shorter != kNowhere) out[e] = out[shorter] + (whole ? model.log_backoff[at] : 0.0);
          else out[e] = model.log_p(at, word, model_parents);
        }
      }
    });
}

namespace {

// log p(word | parent) for ascending words of one context; `from` begins at the parent's entries.
double log_p_below(const BackoffArrays& model, std::uint32_t parent, std::uint32_t word, std::uint32_t& from,
                   std::span<const std::uint32_t> parents) {
  const std::uint32_t shorter = model.shape.entry_after(from, parent, word);
  return shorter != kNowhere ? model.log_probability[shorter] : model.log_p(parent, word, parents);
}

}  // namespace

void loglinear_weights(ThreadPool& pool, const BackoffArrays& model, std::span<double> out) {
  const TrieView& shape = model.shape;
  if (out.size() != shape.n_entries()) throw InvalidInput("out needs one number for each entry");
  const std::vector<std::uint32_t> parents = shape.parents();
  std::copy_n(model.log_probability.begin(), shape.n_words, out.begin());
  for (std::size_t k = 1; k < shape.order; ++k)
    for_contexts(pool, shape, k, [&](std::uint32_t begin, std::uint32_t end) {
      for (std::uint32_t c = begin; c < end; ++c) {
        std::uint32_t from = shape.context_entry[parents[c]];
        for (std::uint32_t e = shape.context_entry[c]; e < shape.context_entry[c + 1]; ++e) {
          const double below = log_p_below(model, parents[c], shape.entry_word[e], from, parents);
          const double backed_off = below + model.log_backoff[c];
          out[e] = model.log_probability[e] == backed_off ? 0.0 : model.log_probability[e] - backed_off;
        }
      }
    });
}

void normalising_backoffs(ThreadPool& pool, const TrieView& shape, std::span<const double> log_probability,
                          std::span<double> log_backoff) {
  if (log_backoff.size() != shape.n_contexts() || log_probability.size() != shape.n_entries())
    throw InvalidInput("back-off weights or probabilities do not fit the contexts and entries");
  constexpr double kLeast = 1e-15;  // what is left of one after a sum is rounding below this
  const BackoffArrays model{shape, log_backoff, log_probability};
  const std::vector<std::uint32_t> parents = shape.parents();
  std::fill(log_backoff.begin(), log_backoff.end(), 0.0);
  for (std::size_t k = 1; k < shape.order; ++k)
    for_contexts(pool, shape, k, [&](std::uint32_t begin, std::uint32_t end) {
      for (std::uint32_t c = begin; c < end; ++c) {
        if (shape.context_entry[c + 1] - shape.context_entry[c] == shape.n_words) continue;
        double listed = 0.0, below = 0.0;
        std::uint32_t from = shape.context_entry[parents[c]];
        for (std::uint32_t e = shape.context_entry[c]; e < shape.context_entry[c + 1]; ++e) {
          listed += std::exp(log_probability[e]);
          below += std::exp(log_p_below(model, parents[c], shape.entry_word[e], from, parents));
        }
        log_backoff[c] = std::log(std::max(1.0 - listed, kLeast) / std::max(1.0 - below, kLeast));
      }
    });
}

}  // namespace loglinear::backoff
