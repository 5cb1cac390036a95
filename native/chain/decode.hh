// Prediction with label chains: best and k best labellings, marginals, scores, samples.
//
// `local` is null, or a model that normalises every label given those before (a MEMM). It may be `model` itself; or,
// where `model` and `node_base` forbid labels, the same model without these constraints: probabilities are then those
// of the MEMM conditioned on the constraints, instead of those of a MEMM that renormalises what is left at every token.
// `node_base` [n_tokens][L] may be empty. All functions only read the models and may run on several Python threads.
#pragma once
#include <cstdint>
#include <span>

#include "chain/inference.hh"

namespace loglinear::chain {

struct ChainInput {
  const ChainModel& model;  // with its weights set
  const Sequences& sequences;
  std::span<const double> node_base;
  const ChainModel* local;
};

// The labelling of the highest score; the lowest labels among equals, from the last token back.
void chain_viterbi(ThreadPool& pool, const ChainInput& input, std::span<std::int32_t> labels);

// The same of one sequence, whose scores are in work.N; throws NoPath.
void best_path(const ChainModel& model, std::size_t T, ChainWorkspace& work, std::int32_t* labels);

// labels [k][n_tokens] and scores [n_sequences][k], best first; -1 and -infinity where there are fewer than k.
void chain_nbest(ThreadPool& pool, const ChainInput& input, std::size_t k, std::span<std::int32_t> labels,
                 std::span<double> scores);

// log_z [n_sequences]; nodes [n_tokens][L] and edges [n_tokens][L][L] (previous, current; zero at first tokens), each
// of which may be empty.
void chain_marginals(ThreadPool& pool, const ChainInput& input, std::span<double> log_z, std::span<double> nodes,
                     std::span<double> edges);

// Scores [n_sequences] of complete labellings.
void chain_scores(ThreadPool& pool, const ChainInput& input, std::span<const std::int32_t> labels,
                  std::span<double> scores);

// labels [n_samples][n_tokens], drawn from p(y | x); a sequence's samples depend on the seed and its number alone.
void chain_sample(ThreadPool& pool, const ChainInput& input, std::uint64_t seed, std::size_t n_samples,
                  std::span<std::int32_t> labels);

}  // namespace loglinear::chain
