// The innermost loops, compiled once per instruction set (loops.inc) and chosen once at run time (dispatch.cc).
//
// Everything here works on one thread, on raw ranges that the callers have checked and cut.
// Shapes: W [n_features][K], margins and residuals [n_rows][K], all row-major; K is the number of classes.
#pragma once
#include <cstddef>
#include <cstdint>

namespace loglinear::simd {

template <class Index>
struct SparseLoops {
  // out[r][k] = bias[k] + sum_j X[r][j] W[j][k] for rows [begin, end); bias may be null.
  void (*margins)(const std::int64_t* indptr, const Index* indices, const double* values, std::size_t begin,
                  std::size_t end, const double* weights, const double* bias, std::size_t K, double* out);
  // out[j][k] = sum_r X[r][j]^power R[r][k] for columns [begin, end) of the transposed matrix; power 1 or 2.
  void (*gradient)(const std::int64_t* indptr, const Index* indices, const double* values, std::size_t begin,
                   std::size_t end, const double* residuals, std::size_t K, int power, double* out);
  // The same two with weight (j, k) replaced by shared[map[j K + k]]; the gradient is added into `shared_out`.
  void (*tied_margins)(const std::int64_t* indptr, const Index* indices, const double* values, std::size_t begin,
                       std::size_t end, const double* shared, const std::int32_t* map, const double* bias,
                       std::size_t K, double* out);
  void (*tied_gradient)(const std::int64_t* indptr, const Index* indices, const double* values, std::size_t begin,
                        std::size_t end, const double* residuals, const std::int32_t* map, std::size_t K,
                        double* shared_out);
};

// A sequence of a group whose forward and backward passes run side by side.
struct ChainRun {
  double* psi;        // [T][Lp]: potentials in; out B_t, by which alpha_{t-1} E B_t are the marginals of two labels
  double* alpha;      // [T][Lp]: out, forward values
  double* marginals;  // [T][Lp]: out; states of label pairs have [T][L Lp] of each
  double* scale;      // [T]: out
  std::size_t T;
  std::size_t reached;  // out: the first token that no path reaches, or T
};
inline constexpr std::size_t kChainGroup = 32;  // most sequences of a group

// Tables of a lattice of listed label pairs (chain/listed_pairs.hh). Pairs (b, c) with one b are those from first[b] on;
// `in` are the places in a row of the pairs (a, b), from in_ptr[b] on.
struct PairLattice {
  std::size_t L, Lp, n;
  const std::uint32_t *first, *in_ptr, *in;
  const std::uint32_t *block, *back;              // where the potentials of (a, b, c) with one b begin
  const double *E, *Et;                           // block b of E [a][c], of Et [c][a]
  const double* start;                            // [n]: at the second token
  const double *unlisted, *unlisted_back;         // [L][Lp]: `background` where a pair is unlisted; transposed
  double background;
  double *counts, *starts;                        // as E and start, added to
};

// Loops over label chains; chain.inc says what each does.
struct ChainLoops {
  double (*potentials)(const double* scores, std::size_t rows, std::size_t L, std::size_t Lp, double* psi,
                       double* range);
  std::size_t (*forward)(const double* psi, const double* E, std::size_t T, std::size_t L, std::size_t Lp,
                         double* alpha, double* scale);
  void (*pack)(const double* E, bool transposed, std::size_t L, std::size_t Lp, double* out);
  void (*group)(ChainRun* runs, std::size_t n, const double* E, const double* Et, std::size_t L, std::size_t Lp);
  void (*outer)(const double* alpha, const double* B, std::size_t n, std::size_t L, std::size_t Lp, double* counts);
  void (*max)(const double* nodes, const double* M, std::size_t T, std::size_t L, std::size_t Lp, double* delta);
  std::size_t (*pairs_forward)(const double* psi, const double* E, std::size_t T, std::size_t L, std::size_t Lp,
                               double* alpha, double* scale);
  void (*pairs_group)(ChainRun* runs, std::size_t n, const double* E, const double* Et, std::size_t L, std::size_t Lp,
                      double* beta, double* counts);
  void (*listed_pairs)(const PairLattice& lattice, ChainRun* run, double* work);
  void (*pairs_max)(const double* nodes, const double* G, std::size_t T, std::size_t L, std::size_t Lp, double* delta);
  void (*add_rows)(const double* const* rows, const double* values, std::size_t count, std::size_t n, double* out);
  void (*add_to_rows)(double* const* rows, const double* values, std::size_t count, std::size_t n, const double* x);
};

// Loops of penalties with corners; separable.inc says what each does.
struct SeparableLoops {
  void (*least_subgradient)(const double* w, const double* g, const double* right, const double* left, double* out,
                            std::size_t n);
  void (*align)(const double* w, const double* pseudo, const double* left, double* direction, std::size_t n);
  void (*project)(const double* from, const double* pseudo, const double* left, double* w, std::size_t n);
  void (*hold)(const double* w, const double* left, double* v, std::size_t n);
};

// A step of an accelerated proximal method: the momentum m that led to x; m' and L' of the step that follows.
struct AcceleratedStep {
  double momentum, next_momentum, lipschitz;
};
inline constexpr std::size_t kAcceleratedSums = 6;  // change, length, turn, penalty, violation, largest

// linear/accelerated.hh says what they do; vectors are kept in double or in single precision.
template <class Kept>
struct AcceleratedLoops {
  void (*accelerate)(double* x, const Kept* before, Kept* older, const double* g, const Kept* g_before, Kept* g_older,
                     const Kept* metric, const double* right, const double* left, const double* ridge,
                     const AcceleratedStep& step, std::size_t n, double* sums);
  void (*retake)(const Kept* before, const Kept* older, const Kept* g_before, const Kept* g_older, const Kept* metric,
                 const double* right, const double* left, const double* ridge, const AcceleratedStep& step,
                 std::size_t n, double* x);
};

// Vectors kept in single precision; sums are double.
struct SingleLoops {
  double (*dot)(const float* a, const double* b, std::size_t n);
  void (*axpy)(double a, const float* x, double* out, std::size_t n);  // out += a x
  void (*widen)(const float* x, double* out, std::size_t n);
};

// Loops of word clustering; cluster.inc says what each does.
struct ClusterLoops {
  void (*add_gains)(const std::int32_t* counts, const double* old, double more, double scale, double* out,
                    std::size_t n);
  void (*add_scaled_gains)(const double* x, double more, double scale, double* out, std::size_t n);
  void (*add_plain_gains)(const std::int32_t* counts, double more, double* out, std::size_t n);
};

// Rows of one length n, a multiple of 16, chosen by pairs (place in x and g, row).
struct RowLoops {
  // out += sum over pairs of x[place] rows[row].
  void (*add)(const double* rows, const std::uint32_t* pairs, std::size_t count, std::size_t n, const double* x,
              double* out);
  // g[place] += a . rows[row] and sums[row] += x[place] a, for all pairs.
  void (*both)(const double* rows, const std::uint32_t* pairs, std::size_t count, std::size_t n, const double* x,
               const double* a, double* g, double* sums);
};

// left[k] right[k] split[k] over the splits k in [low, high] of a span.
struct RowProduct {
  const double *left, *right, *split;
  std::int32_t low, high;
};

// Loops over charts of trees; grammar.inc says what each does.
struct ChartLoops {
  void (*sums)(const RowProduct* products, std::size_t n, double* out);
  void (*maxima)(const RowProduct* products, std::size_t n, double* out);
  void (*spread)(const RowProduct* products, std::size_t n, const double* g, const double* rows, double* out_rows,
                 const double* splits, double* out_splits, double* mass);
};

// Rows of a dense matrix, in double or in single precision; sums are double.
template <class Entry>
struct DenseLoops {
  void (*margins)(const Entry* X, std::size_t n_features, std::size_t begin, std::size_t end, const double* weights,
                  const double* bias, std::size_t K, double* out);
  // out[j][k] += sum over rows [begin, end) of X[r][j]^power R[r][k].
  void (*gradient)(const Entry* X, std::size_t n_features, std::size_t begin, std::size_t end, const double* residuals,
                   std::size_t K, int power, double* out);
};

struct Loops {
  const char* name;

  void (*exp)(const double* x, double* out, std::size_t n);
  void (*log)(const double* x, double* out, std::size_t n);
  double (*logsumexp)(const double* x, std::size_t n);
  // In place: scale * softmax(x), of at least one finite number; returns log sum exp x.
  double (*softmax)(double* x, double scale, std::size_t n);

  // Log-loss of rows [begin, end). In: margins; out: residuals weight * (p - [k = label]). Returns the weighted loss.
  // `log_loss_binary` has K = 1 and labels 0 or 1; `sample_weight` may be null.
  double (*log_loss_binary)(double* margins, const std::int32_t* labels, const double* sample_weight, std::size_t begin,
                            std::size_t end);
  double (*log_loss_multinomial)(double* margins, const std::int32_t* labels, const double* sample_weight,
                                 std::size_t begin, std::size_t end, std::size_t K);
  // In: margins; out: probabilities (log false) or log-probabilities. Binary: K = 1 and out is p(1), log form log p(1).
  void (*probabilities)(double* margins, std::size_t begin, std::size_t end, std::size_t K, bool logarithm);

  double (*dot)(const double* a, const double* b, std::size_t n);
  double (*max_abs)(const double* a, std::size_t n);  // NaN where an entry is not finite
  void (*combine)(double a, const double* x, double b, const double* y, double* out, std::size_t n);  // a x + b y
  void (*axpy)(double a, const double* x, double* out, std::size_t n);                                // out += a x

  DenseLoops<double> dense;
  DenseLoops<float> dense_single;
  SparseLoops<std::int32_t> sparse32;
  SparseLoops<std::int64_t> sparse64;
  ChainLoops chain;
  SeparableLoops separable;
  AcceleratedLoops<double> accelerated;
  AcceleratedLoops<float> accelerated_single;
  SingleLoops single;
  ClusterLoops cluster;
  RowLoops rows;
  ChartLoops charts;
  template <class Entry>
  const DenseLoops<Entry>& dense_of() const {
    if constexpr (sizeof(Entry) == 4) return dense_single;
    else return dense;
  }
  template <class Index>
  const SparseLoops<Index>& sparse() const {
    if constexpr (sizeof(Index) == 4) return sparse32;
    else return sparse64;
  }
};

// The table for this machine: the best instruction set it has. select("baseline" | "avx2" | "avx512") forces one, for
// tests and benchmarks, and returns false where the machine cannot run it.
const Loops& loops();
bool select(const char* name);

}  // namespace loglinear::simd
