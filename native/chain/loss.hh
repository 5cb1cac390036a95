// Losses of label chains: value and gradient over all sequences, in one pass, on all threads.
//
//   crf               log Z(x) - score(x, y)                                   (Lafferty, McCallum and Pereira 2001)
//   memm              sum_t -log p(y_t | y_{t-1}, y_{t-2}, x)                  (McCallum, Freitag and Pereira 2000)
//   pseudolikelihood  sum_t -log p(y_t | all other labels, x)                  (Besag 1975)
//
// A crf takes partly labelled sequences: log Z(x) - log Z(x, labels allowed); its loss is then no longer convex. The
// other two leave out tokens whose own label, or one they depend on, is unknown.
#pragma once
#include <span>

#include "chain/inference.hh"

namespace loglinear::chain {

enum class ChainLoss { crf, memm, pseudolikelihood };

// `labels` [n_tokens], -1 where unknown; `allowed` [n_tokens][L] or empty: labels an unknown one may be; `node_base`
// [n_tokens][L] or empty. The model has its weights set. Threads own contiguous parts of the sequences: the same bits
// for the same number of threads.
double chain_loss(ThreadPool& pool, ChainLoss kind, const ChainModel& model, const Sequences& sequences,
                  const ChainTokens& tokens, std::span<const double> node_base, std::span<const std::int32_t> labels,
                  std::span<const std::uint8_t> allowed, ChainWork& work, std::span<double> gradient);

// Message for a sequence without a legal path, counting from 0.
[[noreturn]] void throw_no_path(std::size_t sequence, std::size_t token);

}  // namespace loglinear::chain
