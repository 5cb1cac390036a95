// Expected feature counts under an HMM (Smith, Vail and Lafferty, "Computationally Efficient M-Estimation of Log-Linear
// Structure Models", section 4.1.1, equations 9-12).
//
// A feature is a label (or a pair of labels) at a position i together with observations around it: an attribute. With
// i_s the expected number of visits to state s and o_s the weight of all that may follow it, the expected number of
// positions in state s that have the attribute is
//
//   E[s] = left[s] e_0[s] right[s],     left  = ((i e_-k T) e_-k+1 T) ...      right = T e_1 (T e_2 ... (e_k o))
//
// where e_d[s] is the probability of what the attribute asks for at offset d (1 where it asks for nothing): one product
// with the sparse T per step. An attribute may also say where the sequence begins or ends; the walk then begins at the
// first state (enter in place of i) or ends with the last one (leave in place of o).
//
// An attribute may look at a gap: any row before the others of its template, or after them. With
//
//   before[y] = (i, where the label is y) (I + T + T^2 + ...)       after[y] = (I + T + T^2 + ...) (o, where it is y)
//
// the walk then begins one step beyond the other rows, at sum_y e(y) before[y] (or after[y]), with e(y) the probability
// that label y emits what the attribute asks for in the gap.
//
// Attributes of one template are sorted by what they ask for on the left, then on the right, so that a side is computed
// once for all attributes that share it.
#pragma once
#include <cstdint>
#include <limits>
#include <span>

#include "hmm/state_chain.hh"
#include "util/thread_pool.hh"

namespace loglinear::hmm {

// Value codes of an attribute: a value of the view (>= 0), or one of these.
inline constexpr std::int32_t kUnknownValue = -1;  // has probability zero
// "the position lies k before the first token" is -2k, "k behind the last token" is -2k - 1, k >= 1.
inline bool is_before(std::int32_t value) { return value < -1 && value % 2 == 0; }
inline bool is_behind(std::int32_t value) { return value < -1 && value % 2 != 0; }
inline std::int64_t boundary_distance(std::int32_t value) { return -(std::int64_t{value} / 2); }

inline constexpr std::int32_t kMaxOffset = 10000;
inline constexpr std::int32_t kAnyBefore = std::numeric_limits<std::int32_t>::min();  // offsets of gaps
inline constexpr std::int32_t kAnyAfter = std::numeric_limits<std::int32_t>::max();

struct ObservationTemplates {
  std::span<const std::int64_t> ptr;     // [n_templates + 1]
  std::span<const std::int32_t> offset;  // [n_macros], from the token that has the label
  std::span<const std::int32_t> view;    // [n_macros]
};

struct ViewTables {
  std::span<const std::int64_t> ptr;  // [n_views + 1]
  std::span<const double> table;      // [ptr.back()][n_labels], p(value | label)
};

struct AttributeKeys {
  std::span<const std::int32_t> template_of;  // [n_attributes]
  std::span<const std::int32_t> values;       // [n_attributes][width], in the order of the template's macros
  std::size_t width = 0;
};

// Features of attributes as lists: (attribute, label) and (attribute, previous label * L + label). A node label of L is
// any label: the expected number of tokens that have the attribute.
struct AttributeFeatures {
  std::span<const std::int64_t> node_ptr;  // [n_attributes + 1]
  std::span<const std::int32_t> node_label;
  std::span<const std::int64_t> pair_ptr;  // [n_attributes + 1]
  std::span<const std::int32_t> pair_code;
};

// Sums over all paths: into [S] = i, out_of [S] = o, before and after [L][S] as above, empty where no template has gaps.
struct PathSums {
  std::span<const double> into, out_of, before, after;
};

// node_out and pair_out get the expected count of each feature. The two labels of a pair feature are those of the token
// and of the one before it. No two macros of a template may look at one column at one offset (their values would not be
// independent): callers join such views first.
void attribute_expectations(ThreadPool& pool, const StateChain& chain, const PathSums& sums,
                            const ObservationTemplates& templates, const ViewTables& views,
                            const AttributeKeys& keys, const AttributeFeatures& features, std::span<double> node_out,
                            std::span<double> pair_out);

}  // namespace loglinear::hmm
