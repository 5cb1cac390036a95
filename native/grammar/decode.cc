#include "grammar/decode.hh"

#include <algorithm>
#include <cmath>
#include <queue>
#include <unordered_map>

#include "util/random.hh"

namespace loglinear::grammar {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
constexpr double kInfinity = __builtin_huge_val();

// Writes a tree in pre-order.
class Writer {
 public:
  explicit Writer(DecodedTrees& out) : out_(out) {}
  std::size_t begin(std::size_t symbol, std::int64_t word = -1) {
    out_.symbol.push_back(static_cast<std::int32_t>(symbol));
    out_.word.push_back(static_cast<std::int32_t>(word));
    out_.size.push_back(1);
    return out_.symbol.size() - 1;
  }
  void end(std::size_t node) { out_.size[node] = static_cast<std::int32_t>(out_.symbol.size() - node); }
  void finish(double score) {
    out_.tree_ptr.push_back(static_cast<std::int64_t>(out_.symbol.size()));
    out_.score.push_back(score);
  }

 private:
  DecodedTrees& out_;
};

// Runs body(worker state, sentence, out) over all sentences, and puts the trees of all together in order.
template <class MakeState, class Body>
DecodedTrees run(ThreadPool& pool, const Input& input, MakeState make, Body body) {
  constexpr std::size_t kSentences = 4;
  const std::size_t n = input.bank.n_sentences();
  const std::vector<double> scores = rule_scores(input.model);
  std::vector<DecodedTrees> pieces(chunk_count(n, kSentences));
  pool.run(pieces.size(), [&](std::size_t c) {
    Workspace work(input.model, scores, input.bank, input.masks, input.constraints);
    auto state = make();
    const Range range = chunk_range(n, kSentences, c);
    for (std::size_t s = range.begin; s < range.end; ++s) {
      work.set(s, input.constraints.any());
      body(state, work, s, pieces[c]);
      pieces[c].list_ptr.push_back(static_cast<std::int64_t>(pieces[c].score.size()));
    }
  });
  DecodedTrees all;
  for (const DecodedTrees& piece : pieces) {
    const auto nodes = static_cast<std::int64_t>(all.symbol.size()), trees = static_cast<std::int64_t>(all.score.size());
    for (std::size_t i = 1; i < piece.tree_ptr.size(); ++i) all.tree_ptr.push_back(nodes + piece.tree_ptr[i]);
    for (std::size_t i = 1; i < piece.list_ptr.size(); ++i) all.list_ptr.push_back(trees + piece.list_ptr[i]);
    all.symbol.insert(all.symbol.end(), piece.symbol.begin(), piece.symbol.end());
    all.word.insert(all.word.end(), piece.word.begin(), piece.word.end());
    all.size.insert(all.size.end(), piece.size.begin(), piece.size.end());
    all.score.insert(all.score.end(), piece.score.begin(), piece.score.end());
  }
  return all;
}

// Calls edge(rule or -1 - tag, split, value) for everything that makes a symbol over a span; stops when it returns true.
template <class Semiring, class Edge>
void each_edge(const Rules& rules, const Chart<Semiring>& chart, const Limits& limits, std::size_t symbol, std::size_t i,
               std::size_t j, Edge edge) {
  const std::size_t n = chart.n(), place = i * (n + 1) + j;
  if (limits.blocks(place) || !limits.allows(place, symbol)) return;
  if (j == i + 1) {
    for (std::size_t t = 0; t < rules.n_tags(); ++t)
      if (at(rules.tag_symbol[t]) == symbol && chart.token_value(i, t) != Semiring::zero)
        if (edge(-1 - static_cast<std::int64_t>(t), 0, chart.token_value(i, t))) return;
  } else {
    for (std::int64_t r = rules.binary_ptr[symbol]; r < rules.binary_ptr[symbol + 1]; ++r) {
      const simd::RowProduct x = chart.splits(at(r), i, j);
      if (x.low > x.high) continue;
      const double rule = chart.rule_value(at(r), i, j);
      for (std::size_t k = at(x.low); k <= at(x.high); ++k) {
        const double v = Semiring::times(Semiring::times(x.left[k], x.right[k]), x.split[k]);
        if (v == Semiring::zero) continue;
        if (edge(r, k, Semiring::times(v, rule))) return;
      }
    }
  }
  for (std::size_t u = 0; u < rules.n_unary(); ++u) {
    if (at(rules.unary_parent[u]) != symbol || !limits.allows_unary(place, u)) continue;
    const double child = chart.value(at(rules.unary_child[u]), i, j);
    if (child == Semiring::zero) continue;
    const std::size_t r = rules.n_binary() + u;
    if (edge(static_cast<std::int64_t>(r), 0, Semiring::times(child, chart.rule_value(r, i, j)))) return;
  }
}

// Writes the tree below a symbol; choose(symbol, i, j) gives the rule (or -1 - tag) and the split of each node.
template <class Choose>
void write_tree(const Rules& rules, Writer& out, std::size_t symbol, std::size_t i, std::size_t j, Choose& choose) {
  const auto [rule, k] = choose(symbol, i, j);
  const std::size_t node = out.begin(symbol, rule < 0 ? static_cast<std::int64_t>(i) : -1);
  if (rule >= 0 && at(rule) < rules.n_binary()) {
    write_tree(rules, out, at(rules.left[at(rule)]), i, k, choose);
    write_tree(rules, out, at(rules.right[at(rule)]), k, j, choose);
  } else if (rule >= 0) {
    write_tree(rules, out, at(rules.unary_child[at(rule) - rules.n_binary()]), i, j, choose);
  }
  out.end(node);
}

// ---- k best ----------------------------------------------------------------------------------------------------------
class KBest {
 public:
  KBest(const Rules& rules, const BestChart& chart, const Limits& limits) : rules_(rules), chart_(chart), limits_(limits) {}

  // The derivation of this rank (from 0) of the start symbol over all words; null where there are not so many.
  bool exists(std::size_t rank) { return get(rules_.start, 0, chart_.n(), rank) != nullptr; }
  double score(std::size_t rank) { return get(rules_.start, 0, chart_.n(), rank)->score; }
  void write(Writer& out, std::size_t rank) { write(out, rules_.start, 0, chart_.n(), rank); }

 private:
  struct Derivation {
    double score;
    std::int64_t rule;
    std::size_t split;
    std::uint32_t left, right;  // ranks of the children
  };
  struct Worse {
    bool operator()(const Derivation& a, const Derivation& b) const {
      if (a.score != b.score) return a.score < b.score;
      if (a.rule != b.rule) return a.rule > b.rule;  // ties are broken, so that the order is always the same
      if (a.split != b.split) return a.split > b.split;
      return a.left != b.left ? a.left > b.left : a.right > b.right;
    }
  };
  struct Node {
    std::vector<Derivation> best;
    std::priority_queue<Derivation, std::vector<Derivation>, Worse> candidates;
    std::vector<Derivation> seen;  // candidates that have been made, to make none twice
    bool started = false;
  };

  std::uint64_t key(std::size_t symbol, std::size_t i, std::size_t j) const {
    return (static_cast<std::uint64_t>(symbol) * (chart_.n() + 1) + i) * (chart_.n() + 1) + j;
  }

  const Derivation* get(std::size_t symbol, std::size_t i, std::size_t j, std::size_t rank) {
    Node& node = nodes_[key(symbol, i, j)];  // references into an unordered_map stay valid
    if (!node.started) {
      node.started = true;
      each_edge(rules_, chart_, limits_, symbol, i, j, [&](std::int64_t rule, std::size_t k, double value) {
        node.candidates.push({value, rule, k, 0, 0});
        return false;
      });
    }
    while (node.best.size() <= rank) {
      if (!node.best.empty()) {
        const Derivation last = node.best.back();
        if (last.rule >= 0) {
          next(node, last, i, j, 1, 0);
          if (at(last.rule) < rules_.n_binary()) next(node, last, i, j, 0, 1);
        }
      }
      if (node.candidates.empty()) return nullptr;
      node.best.push_back(node.candidates.top());
      node.candidates.pop();
    }
    return &node.best[rank];
  }

  void next(Node& node, const Derivation& from, std::size_t i, std::size_t j, std::uint32_t left, std::uint32_t right) {
    Derivation d = from;
    d.left += left;
    d.right += right;
    for (const Derivation& s : node.seen)
      if (s.rule == d.rule && s.split == d.split && s.left == d.left && s.right == d.right) return;
    const bool binary = at(d.rule) < rules_.n_binary();
    const auto child = [&](bool is_right, std::uint32_t rank) {
      if (!binary) return get(at(rules_.unary_child[at(d.rule) - rules_.n_binary()]), i, j, rank);
      return is_right ? get(at(rules_.right[at(d.rule)]), d.split, j, rank) : get(at(rules_.left[at(d.rule)]), i, d.split, rank);
    };
    const Derivation* const l = child(false, d.left);
    if (!l) return;
    double score = l->score + chart_.rule_value(at(d.rule), i, j);
    if (binary) {
      const double left_score = l->score;
      const Derivation* const r = child(true, d.right);
      if (!r) return;
      score = left_score + r->score + chart_.splits(at(d.rule), i, j).split[d.split] + chart_.rule_value(at(d.rule), i, j);
    }
    d.score = score;
    node.seen.push_back(d);
    node.candidates.push(d);
  }

  void write(Writer& out, std::size_t symbol, std::size_t i, std::size_t j, std::size_t rank) {
    const Derivation d = *get(symbol, i, j, rank);
    const std::size_t node = out.begin(symbol, d.rule < 0 ? static_cast<std::int64_t>(i) : -1);
    if (d.rule >= 0 && at(d.rule) < rules_.n_binary()) {
      write(out, at(rules_.left[at(d.rule)]), i, d.split, d.left);
      write(out, at(rules_.right[at(d.rule)]), d.split, j, d.right);
    } else if (d.rule >= 0) {
      write(out, at(rules_.unary_child[at(d.rule) - rules_.n_binary()]), i, j, d.left);
    }
    out.end(node);
  }

  const Rules& rules_;
  const BestChart& chart_;
  const Limits& limits_;
  std::unordered_map<std::uint64_t, Node> nodes_;
};

}  // namespace

DecodedTrees best_trees(ThreadPool& pool, const Input& input) {
  const Rules& rules = input.model.rules;
  return run(pool, input, [&] { return BestChart(rules); },
             [&](BestChart& chart, const Workspace& work, std::size_t, DecodedTrees& out) {
    const double score = chart.fill(work.scores(), work.limits());
    Writer writer(out);
    if (score > -kInfinity) {
      auto choose = [&](std::size_t symbol, std::size_t i, std::size_t j) {
        std::pair<std::int64_t, std::size_t> best{0, 0};
        double most = -kInfinity;
        each_edge(rules, chart, work.limits(), symbol, i, j, [&](std::int64_t rule, std::size_t k, double value) {
          if (value > most) most = value, best = {rule, k};
          return false;
        });
        return best;
      };
      write_tree(rules, writer, rules.start, 0, chart.n(), choose);
    }
    writer.finish(score);
  });
}

DecodedTrees nbest_trees(ThreadPool& pool, const Input& input, std::size_t k) {
  const Rules& rules = input.model.rules;
  return run(pool, input, [&] { return BestChart(rules); },
             [&](BestChart& chart, const Workspace& work, std::size_t, DecodedTrees& out) {
    if (chart.fill(work.scores(), work.limits()) == -kInfinity) return;
    KBest lists(rules, chart, work.limits());
    Writer writer(out);
    for (std::size_t rank = 0; rank < k && lists.exists(rank); ++rank) {
      lists.write(writer, rank);
      writer.finish(lists.score(rank));
    }
  });
}

DecodedTrees sample_trees(ThreadPool& pool, const Input& input, std::size_t n_samples, std::uint64_t seed) {
  const Rules& rules = input.model.rules;
  return run(pool, input, [&] { return TreeSums(rules); },
             [&](TreeSums& sums, const Workspace& work, std::size_t s, DecodedTrees& out) {
    const double log_z = sums.fill(work.scores(), work.limits());
    if (log_z == -kInfinity) return;
    Random random(seed, s);
    Writer writer(out);
    sums.visit([&]<class Semiring>(const Chart<Semiring>& chart, const auto&) {
      auto choose = [&](std::size_t symbol, std::size_t i, std::size_t j) {
        const double whole = chart.value(symbol, i, j);
        double rest = random.uniform();
        std::pair<std::int64_t, std::size_t> chosen{0, 0};
        each_edge(rules, chart, work.limits(), symbol, i, j, [&](std::int64_t rule, std::size_t k, double value) {
          chosen = {rule, k};  // the last one, should rounding leave a rest
          rest -= Semiring::ratio(value, whole);
          return rest < 0.0;
        });
        return chosen;
      };
      for (std::size_t sample = 0; sample < n_samples; ++sample) {
        write_tree(rules, writer, rules.start, 0, chart.n(), choose);
        writer.finish(log_z);
      }
    });
  });
}

// ---- marginals -------------------------------------------------------------------------------------------------------
namespace {

// Expected number of each label over a span: [n_labels], added to `row`.
void add_labels(const Rules& rules, const TreeSums& sums, const Workspace& work, const Constraints& constraints,
                std::size_t i, std::size_t j, double* row) {
  const std::size_t place = i * (sums.n() + 1) + j;
  for (std::size_t u = 0; u < rules.n_unary(); ++u) {
    if (constraints.label_ptr[u] == constraints.label_ptr[u + 1]) continue;
    if (!sums.has(at(rules.unary_child[u]), i, j) || !work.limits().allows_unary(place, u) ||
        !work.limits().allows(place, at(rules.unary_parent[u])))
      continue;
    const double p = sums.unary_probability(u, i, j);
    for (std::int64_t l = constraints.label_ptr[u]; l < constraints.label_ptr[u + 1]; ++l)
      row[constraints.labels[at(l)]] += p;
  }
}

}  // namespace

Marginals constituent_marginals(ThreadPool& pool, const Input& input, std::size_t n_labels, double threshold) {
  const Rules& rules = input.model.rules;
  require(input.constraints.label_ptr.size() == rules.n_unary() + 1, "marginals: labels of unary rules are missing");
  const std::size_t n_sentences = input.bank.n_sentences();
  const std::vector<double> scores = rule_scores(input.model);
  std::vector<Marginals> pieces(n_sentences);
  parallel_for(pool, n_sentences, 4, [&](std::size_t begin, std::size_t end) {
    Workspace work(input.model, scores, input.bank, input.masks, input.constraints);
    TreeSums sums(rules);
    std::vector<double> row(n_labels);
    for (std::size_t s = begin; s < end; ++s) {
      work.set(s, input.constraints.any());
      if (sums.fill(work.scores(), work.limits()) == -kInfinity) continue;
      PartCounts counts;
      sums.fill_outside(work.scores(), work.limits(), &counts);
      Marginals& out = pieces[s];
      const auto put = [&](std::size_t i, std::size_t j, std::size_t label, double p) {
        if (p < threshold || p <= 0.0) return;
        out.begin.push_back(static_cast<std::int32_t>(i));
        out.end.push_back(static_cast<std::int32_t>(j));
        out.label.push_back(static_cast<std::int32_t>(label));
        out.probability.push_back(p);
      };
      for (std::size_t i = 0; i < sums.n(); ++i)
        for (std::size_t j = i + 1; j <= sums.n(); ++j) {
          std::fill(row.begin(), row.end(), 0.0);
          add_labels(rules, sums, work, input.constraints, i, j, row.data());
          for (std::size_t l = 0; l < n_labels; ++l) put(i, j, l, row[l]);
          if (j == i + 1)
            for (std::size_t t = 0; t < rules.n_tags(); ++t) put(i, j, n_labels + t, counts.token[i * rules.n_tags() + t]);
        }
    }
  });
  Marginals all;
  for (const Marginals& piece : pieces) {
    all.begin.insert(all.begin.end(), piece.begin.begin(), piece.begin.end());
    all.end.insert(all.end.end(), piece.end.begin(), piece.end.end());
    all.label.insert(all.label.end(), piece.label.begin(), piece.label.end());
    all.probability.insert(all.probability.end(), piece.probability.begin(), piece.probability.end());
    all.ptr.push_back(static_cast<std::int64_t>(all.begin.size()));
  }
  return all;
}

DecodedTrees recall_trees(ThreadPool& pool, const Input& input, std::size_t n_labels, double cost) {
  const Rules& rules = input.model.rules;
  const Constraints& constraints = input.constraints;
  require(constraints.label_ptr.size() == rules.n_unary() + 1, "recall: labels of unary rules are missing");
  return run(pool, input, [&] { return TreeSums(rules); },
             [&](TreeSums& sums, const Workspace& work, std::size_t, DecodedTrees& out) {
    Writer writer(out);
    if (sums.fill(work.scores(), work.limits()) == -kInfinity) return writer.finish(-kInfinity);
    PartCounts counts;
    sums.fill_outside(work.scores(), work.limits(), &counts);
    const std::size_t n = sums.n();
    struct Cell {
      double gain = 0.0;
      std::int64_t rule = -1;  // unary rule whose labels stand here
      std::size_t split = 0;
    };
    std::vector<Cell> cells((n + 1) * (n + 1));
    std::vector<double> row(n_labels);
    for (std::size_t width = 1; width <= n; ++width)
      for (std::size_t i = 0; i + width <= n; ++i) {
        const std::size_t j = i + width, place = i * (n + 1) + j;
        Cell& cell = cells[place];
        std::fill(row.begin(), row.end(), 0.0);
        add_labels(rules, sums, work, constraints, i, j, row.data());
        double most = width == n ? -kInfinity : 0.0;  // all words together are a constituent
        for (std::size_t u = 0; u < rules.n_unary(); ++u) {
          if (constraints.label_ptr[u] == constraints.label_ptr[u + 1]) continue;
          if (!sums.has(at(rules.unary_parent[u]), i, j) || !sums.has(at(rules.unary_child[u]), i, j)) continue;
          double gain = 0.0;
          for (std::int64_t l = constraints.label_ptr[u]; l < constraints.label_ptr[u + 1]; ++l)
            gain += row[at(constraints.labels[at(l)])] - cost;
          if (gain > most) most = gain, cell.rule = static_cast<std::int64_t>(u);
        }
        cell.gain = most;
        double best = width == 1 ? 0.0 : -kInfinity;
        for (std::size_t k = i + 1; k < j; ++k) {
          const double x = cells[i * (n + 1) + k].gain + cells[k * (n + 1) + j].gain;
          if (x > best) best = x, cell.split = k;
        }
        cell.gain += best;
      }
    const auto emit = [&](auto& self, std::size_t i, std::size_t j) -> void {
      const Cell& cell = cells[i * (n + 1) + j];
      std::vector<std::size_t> nodes;
      if (cell.rule >= 0)
        for (std::int64_t l = constraints.label_ptr[at(cell.rule)]; l < constraints.label_ptr[at(cell.rule) + 1]; ++l)
          nodes.push_back(writer.begin(at(constraints.labels[at(l)])));
      if (j == i + 1) {
        const double* const tags = &counts.token[i * rules.n_tags()];
        writer.begin(n_labels + static_cast<std::size_t>(std::max_element(tags, tags + rules.n_tags()) - tags),
                     static_cast<std::int64_t>(i));
      } else {
        self(self, i, cell.split);
        self(self, cell.split, j);
      }
      while (!nodes.empty()) writer.end(nodes.back()), nodes.pop_back();
    };
    emit(emit, 0, n);
    writer.finish(cells[n].gain);
  });
}

}  // namespace loglinear::grammar
