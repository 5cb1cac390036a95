// Normalisers and expectations of composite models by sharing over intersections: what a set of sources adds together
// is summed once for all histories that have the same contexts of these sources (Wu 2002, lemma 2, with the hierarchy
// of each source kept; Lafferty and Suhm's cluster expansion where every pattern is a source of its own).
//
// With S_i(e) the product of the parameters of entry e of source i and its parents, and D_i(e) = S_i(e) - S_i(parent e)
// (S = 1 above depth 1), the product of source i's parameters for a word is 1 + sum of D_i over its entries, so
//
//   Z(x) / Z(unigrams) = 1 + sum over sets K of sources, over contexts c_i of x in the sources i of K, of
//                        T(c_K),      T(c_K) = sum over words w with entries in all of c_K of p(w) prod_{i in K} D_i
//
// A *node* is a tuple of contexts whose words intersect. For K = {i} its terms are the entries of a context themselves.
// Nodes of one K that differ only in the depth of the first source are summed along that source, so a history refers to
// one node per *column*: a set K and the depths of its other sources. With weights that are not negative all terms are
// positive and nothing cancels.
//
// Terms are stored: the node, an entry of the first source, entries of the others. Where a context of the first source
// occurs with most contexts of one other source it is *spread*: it has a node for each of them, and its entries of words
// with features in many of these contexts add rows of D to all nodes at once, which takes no bytes per term.
//
// The first source, which should be the one with most entries, is swept in units that fit the cache: its products, the
// nodes it owns, the histories that end there, and back again to the gradient. The others' sums are made before and
// after. Chunks of units have sums of their own, added in order: the same bits on any number of threads.
//
// While a unit is swept, the sums of all contexts of other sources, of all nodes they own and of the unit's own nodes
// are in one array (units.cc lays it out), so that a history is a row of numbers into it; number 0 is a zero.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "composite/problem.hh"

namespace loglinear::composite {

// Where the D of a source that is not swept are: words with entries in many contexts of a depth have a row with a place
// for each of these contexts, D = 0 where there is no entry; the entries of other words follow, by word.
struct Slots {
  struct Depth {
    std::uint32_t first_context = 0, n_contexts = 0;
    std::uint32_t first = 0, row_size = 0;  // slots; rows are longer than n_contexts, a multiple of 16
    std::vector<std::uint32_t> row;         // [n_words] or kNone
  };
  std::vector<Depth> depths;            // [depth + 1]; 0 is empty
  std::vector<std::uint32_t> of_entry;  // [n_entries]
  std::size_t n_slots = 0;

  Slots() = default;
  Slots(const Source& source, std::size_t n_words);
  bool in_row(std::size_t depth, std::uint32_t word) const { return depths[depth].row[word] != kNone; }
};

// Histories in the order of one source's deepest contexts.
struct Order {
  std::vector<std::uint32_t> history;  // [n_histories]
  std::vector<std::uint32_t> start;    // [n_contexts + 1]
  std::vector<std::uint32_t> child;    // [n_contexts + 1] first child, those of depth d + 1 after all of depth d

  Order() = default;
  Order(const Problem& problem, std::size_t source);
};

inline constexpr std::uint32_t kSpread = 0x80000000;  // in the number of a node: one of a spread context

struct Column {
  std::vector<std::uint32_t> sources;  // ascending; the first owns the column
  std::vector<std::uint32_t> depths;   // of the other sources

  // Nodes with stored terms only, by the depth of the owner's context; [depth + 2] where depths begin.
  std::vector<std::uint32_t> stored;
  std::vector<std::uint32_t> context;  // [n_stored] of the owner, ascending within a depth
  std::vector<std::uint32_t> parent;   // [n_stored] the node with the parent of that context, or kNone
  // Spread contexts, numbered in the same way; s has the nodes kSpread | s * together + (context of the other source).
  std::vector<std::uint32_t> spread;
  std::vector<std::uint32_t> spread_context;  // [n_spread]
  std::vector<std::uint32_t> spread_parent;   // [n_spread] the spread context above, or kNone
  std::vector<std::uint64_t> spread_pair;     // [n_spread + 1]
  std::vector<std::uint32_t> pairs;           // [n_pairs][2] an entry of the owner, the row of its word
  std::uint32_t together = 0;                 // row_size of the other source
  std::uint64_t n_spread_terms = 0;
  // Stored terms by context of the owner: [n_terms][1 + sources] node, entry of the owner, slots of the others.
  std::vector<std::uint32_t> terms;

  std::vector<std::uint32_t> node;  // [n_histories] the deepest node of the history, or kNone

  std::size_t width() const { return 1 + sources.size(); }
  std::size_t n_nodes() const { return context.size() + spread_context.size() * together; }
  std::uint64_t n_stored_terms() const { return terms.size() / width(); }
  std::uint64_t n_terms() const { return n_stored_terms() + n_spread_terms; }
  std::size_t bytes() const;
};

// All columns with at least one node; those that the first source owns come first. `apart` lists sets of sources, as
// bits, whose words are taken for disjoint: no set that contains one of them gets a column, and the result is an
// approximation. Throws InvalidInput where the columns would take more than `max_bytes`.
std::vector<Column> build_columns(ThreadPool& pool, const Problem& problem, std::span<const Slots> slots,
                                  const Order& first, std::span<const std::uint32_t> apart, std::uint64_t max_bytes);

class Clusters {
 public:
  // The problem's arrays must outlive this object and have been checked. `unit`: entries and nodes swept together.
  Clusters(ThreadPool& pool, const Problem& problem, std::span<const std::uint32_t> apart, std::uint64_t max_bytes,
           std::size_t unit = 8192);
  ~Clusters();
  Clusters(Clusters&&) noexcept;

  double value_and_gradient(ThreadPool& pool, std::span<const double> w, std::span<double> gradient) const;
  void hessian_vector(ThreadPool& pool, std::span<const double> w, std::span<const double> v,
                      std::span<double> out) const;
  void log_z(ThreadPool& pool, std::span<const double> w, std::span<double> out) const;

  std::uint64_t terms() const;  // of all normalisers: unigrams, entries and intersections
  std::size_t bytes() const;
  std::span<const Column> columns() const { return columns_; }

  // Contexts [begin, end) of the first source, of one depth and below one parent, with what they own of each column:
  // numbers of nodes, of spread contexts and of terms, and where their nodes begin in the array of sums.
  struct Piece {
    std::uint32_t first = 0, end = 0, first_spread = 0, end_spread = 0, at = 0, spread_at = 0;
    std::uint64_t term = 0, end_term = 0;
  };
  struct Frame {
    std::uint32_t depth, begin, end, above;  // `above`: the frame of their parents, or kNone
    std::uint32_t until;                     // the end of its nodes in the array of sums
  };
  // Frames [first, last) of ever greater depth, and the units that follow up to `next`, which lie below the last one.
  struct Unit {
    std::uint32_t first, last, next;
  };

  // What the sweep reads; see sweep.hh.
  struct View {
    const Problem& problem;
    std::span<const Slots> slots;
    std::span<const Column> columns;
    std::size_t n_owned;                      // columns of the first source
    const Order& order;                       // of the first source
    std::span<const Frame> frames;
    std::span<const Piece> pieces;            // [n_frames][n_owned]
    std::span<const std::uint32_t> rows;      // [n_histories][stride] numbers into the array of sums
    std::span<const double> count;            // [n_histories] in that order
    std::size_t stride;
    std::span<const std::uint32_t> source_at;  // [source] where the sums of its contexts begin
    std::span<const std::uint32_t> column_at;  // [column] where those of a column begin that the first does not own
    std::size_t n_shared, n_sums;              // the array of sums: of the others; with those of a unit
  };

 private:
  struct Workspaces;

  View view() const;
  // units.cc
  void plan(std::size_t unit);
  void cut(std::span<const std::uint64_t> size, std::size_t unit, std::uint32_t depth, std::uint32_t begin,
           std::uint32_t end, std::uint32_t above);
  std::uint32_t add_frame(std::uint32_t depth, std::uint32_t begin, std::uint32_t end, std::uint32_t above);
  void deal(std::span<const std::uint64_t> cost);
  void localise(ThreadPool& pool);
  std::uint32_t local(std::size_t column, std::uint32_t node, std::uint32_t frame) const;

  template <class Num, bool is_signed>
  double evaluate(ThreadPool& pool, std::span<const double> w, std::span<const double> v, std::span<double> out,
                  std::span<double> log_z) const;

  const Problem& problem_;
  std::vector<Slots> slots_;            // [source]; that of the first is empty
  Order order_;
  std::vector<Column> columns_;
  std::size_t n_owned_ = 0, n_shared_ = 1, n_sums_ = 1;
  std::vector<std::uint32_t> source_at_, column_at_;
  std::vector<Frame> frames_;
  std::vector<Piece> pieces_;
  std::vector<std::uint32_t> rows_;
  std::vector<double> count_;
  std::vector<Unit> units_;             // in the order of a walk
  std::vector<std::uint32_t> chunks_;   // [n_chunks + 1] units
  std::unique_ptr<Workspaces> spare_;  // memory of earlier evaluations
};

}  // namespace loglinear::composite
