// Label pairs as states where few pairs have weights of their own.
//
// A pair without a weight of its own, in no trigram with one, is unlisted: at a token it scores as its second label
// does, and what comes after depends on that label alone. So the states are the listed pairs and, for every label, the
// unlisted pairs that end in it, together. With A_t(c) the forward value of all pairs that end in c, U_t(c) that of the
// unlisted ones and e the potential of a trigram without a weight,
//
//     alpha_t(b, c)  =  psi_t(b, c) ( e U_{t-1}(b)  +  sum over listed (a, b) of alpha_{t-1}(a, b) E(a, b, c) )
//     U_t(c)         =  psi_t(c) e  sum over b of A_{t-1}(b) where (b, c) is unlisted
//
// Every term is positive, so nothing cancels, and the sums are those over all pairs. Scores of a token are a row
// [ label | listed pair ]; the first token has labels alone.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "chain/features.hh"
#include "simd/loops.hh"
#include "util/aligned.hh"

namespace loglinear::chain {

struct ResolvedWeights;

class ListedPairs {
 public:
  ListedPairs() = default;
  // Empty where pairs are few or most of them are listed: then all of them are better states.
  explicit ListedPairs(const ChainFeatures& features);

  bool empty() const { return n == 0; }
  std::size_t stride() const { return Lp + n; }
  // Of a listed pair in a row; 0, where labels are, if it is unlisted.
  std::size_t place(std::size_t a, std::size_t b) const { return place_[a * L + b]; }

  std::size_t L = 0, Lp = 0;
  std::size_t n = 0;                   // places: those of the pairs that begin with one label stand together, padded to 4
  std::vector<std::int32_t> second;    // [n]: the second label of the pair, or -1
  WeightRows rows;                     // of the pair weights of attributes
  std::vector<std::uint32_t> transition_place;  // of every transition weight, in a row
  // Of every trigram weight: places in E, then, from n_trigrams on, in the table of sequences' beginnings.
  std::vector<std::uint32_t> trigram_place;
  std::size_t n_trigrams = 0;          // places in E

  // Tables of the loops (simd/loops.hh), the potentials left out.
  simd::PairLattice lattice() const;

 private:
  std::vector<std::uint32_t> place_;                   // [L L]
  std::vector<std::uint32_t> first_, in_ptr_, in_, block_, back_;
  friend struct ListedPotentials;
};

// What weights make of them.
struct ListedPotentials {
  AlignedDoubles transitions;              // [n]: scores; pads are -infinity
  AlignedDoubles E, Et, start;             // trigrams, transposed, and those at the second token
  AlignedDoubles unlisted, unlisted_back;  // [L][Lp]: e where a pair is unlisted, and transposed
  AlignedDoubles expanded, rows;           // of pair weights: those of attributes; with those of bundles
  double background = 1.0;                 // e

  // The potentials of trigrams are divided by exp(highest).
  void set(ThreadPool& pool, const ListedPairs& pairs, const ResolvedWeights& resolved, const ChainFeatures& features,
           const double* weights, double highest);
};

// Sums of residuals over some sequences.
struct ListedSums {
  AlignedDoubles transitions;     // [n]: final
  AlignedDoubles counts, starts;  // as E and start: await multiplication by them
  AlignedDoubles rows;

  void clear(const ListedPairs& pairs, std::size_t n_rows);
};

class ChainModel;
struct ChainGradient;
struct ChainTokens;
struct ChainWork;

// A CRF's loss of sequences whose labels are all known, one after another, with these states.
class ListedCrf {
 public:
  ListedCrf(const ChainModel& model, const Sequences& sequences, const ChainTokens& tokens, const ChainWork& work,
            const double* node_base);
  // Adds the gradient; throws NoPath.
  double sequence(std::size_t number, const std::int32_t* labels, ChainGradient& gradient);

 private:
  void take_scores(std::size_t number);
  double score(std::size_t T, const std::int32_t* labels) const;
  double forward_backward(std::size_t T, ChainGradient& gradient);
  double by_logarithms(std::size_t T, ChainGradient& gradient);
  void scatter(std::size_t number, const std::int32_t* labels, ChainGradient& gradient);

  const ChainModel& m_;
  const Sequences& sequences_;
  const ChainTokens& tokens_;
  const ChainWork& work_;
  const ListedPairs& pairs_;
  const double* node_base_;
  AlignedDoubles N_, psi_, alpha_, scale_, passes_;  // of the longest sequence so far
};

// Adds the sums of all parts to the gradient of the weights of pairs, transitions and trigrams.
void finish_listed(const ListedPairs& pairs, const ListedPotentials& potentials, const ChainFeatures& features,
                   std::span<const ChainGradient> parts, std::span<double> out);

}  // namespace loglinear::chain
