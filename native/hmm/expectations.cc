#include "hmm/expectations.hh"

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

namespace loglinear::hmm {

namespace {

bool is_gap(std::int32_t offset) { return offset == kAnyBefore || offset == kAnyAfter; }

struct Macro {
  std::size_t column;     // place among the attribute's values
  std::int64_t distance;  // from the token, >= 0
  std::int32_t view;
};

// The macros of a template by where they look; the sides from far to near.
struct Plan {
  std::vector<Macro> left, centre, right;
  std::vector<Macro> before, after;     // of the gaps on the left and on the right
  std::vector<std::size_t> sort_order;  // columns in order of comparison: left, right, centre
};

Plan make_plan(const ObservationTemplates& templates, std::size_t t) {
  Plan plan;
  const auto begin = static_cast<std::size_t>(templates.ptr[t]), end = static_cast<std::size_t>(templates.ptr[t + 1]);
  for (std::size_t m = begin; m < end; ++m) {
    const std::int32_t offset = templates.offset[m];
    auto& side = offset == kAnyBefore  ? plan.before
                 : offset == kAnyAfter ? plan.after
                 : offset < 0          ? plan.left
                 : offset > 0          ? plan.right
                                       : plan.centre;
    const bool gap = &side == &plan.before || &side == &plan.after;
    side.push_back({m - begin, gap ? 0 : std::abs(std::int64_t{offset}), templates.view[m]});
  }
  const auto far_first = [](const Macro& a, const Macro& b) { return a.distance > b.distance; };
  std::stable_sort(plan.left.begin(), plan.left.end(), far_first);
  std::stable_sort(plan.right.begin(), plan.right.end(), far_first);
  for (const auto* side : {&plan.left, &plan.before, &plan.right, &plan.after, &plan.centre})
    for (const Macro& m : *side) plan.sort_order.push_back(m.column);
  return plan;
}

// How far one side of an attribute reaches, and whether the sequence ends there.
struct Reach {
  bool possible = true, bounded = false;
  std::int64_t distance = 0;
};

Reach reach_of(const std::vector<Macro>& side, const std::int32_t* values, bool left) {
  Reach reach;
  std::int64_t border = 0, seen = 0;
  for (const Macro& m : side) {
    const std::int32_t value = values[m.column];
    if (value >= 0) {
      seen = std::max(seen, m.distance);
      continue;
    }
    const std::int64_t at = m.distance - boundary_distance(value);  // distance of the last token on this side
    const bool agrees = !reach.bounded || at == border;
    if (value == kUnknownValue || is_before(value) != left || at < 0 || !agrees) return {false, false, 0};
    reach.bounded = true;
    border = at;
  }
  reach.distance = reach.bounded ? border : seen;
  reach.possible = seen <= reach.distance;
  return reach;
}

// The same where the side has a gap: it must lie in the sequence, beyond whatever else the attribute looks at.
Reach reach_beyond(const std::vector<Macro>& side, const std::vector<Macro>& gap, const std::int32_t* values,
                   bool left) {
  Reach reach = reach_of(side, values, left);
  if (gap.empty()) return reach;
  reach.possible = reach.possible && !reach.bounded &&
                   std::all_of(gap.begin(), gap.end(), [&](const Macro& m) { return values[m.column] >= 0; });
  reach.distance += 1;
  return reach;
}

bool same_values(const std::vector<Macro>& side, const std::int32_t* a, const std::int32_t* b) {
  return std::all_of(side.begin(), side.end(), [&](const Macro& m) { return a[m.column] == b[m.column]; });
}

class Walker {
 public:
  Walker(const StateChain& chain, const PathSums& sums, const ViewTables& views)
      : chain_(chain), sums_(sums), views_(views), before_(chain.n_states()),
        left_(chain.n_states()), right_(chain.n_states()), scratch_(chain.n_states()), mass_(chain.n_states()),
        centre_(chain.n_labels), by_label_(chain.n_labels + 1) {}

  // Mass of each state at the positions that have the attribute; false where there are none.
  bool visit(const Plan& plan, const std::int32_t* values) {
    if (&plan != plan_ || !same_values(plan.left, values, last_) || !same_values(plan.before, values, last_)) {
      const Reach reach = reach_beyond(plan.left, plan.before, values, true);
      left_possible_ = reach.possible;
      if (reach.possible) {
        begin(plan.before, sums_.before, reach.bounded ? chain_.enter : sums_.into, values, left_);
        walk_left(plan.left, values, reach);
      }
    }
    if (&plan != plan_ || !same_values(plan.right, values, last_) || !same_values(plan.after, values, last_)) {
      const Reach reach = reach_beyond(plan.right, plan.after, values, false);
      right_possible_ = reach.possible;
      if (reach.possible) {
        begin(plan.after, sums_.after, reach.bounded ? chain_.leave : sums_.out_of, values, right_);
        walk_right(plan.right, values, reach);
      }
    }
    plan_ = &plan;
    last_ = values;
    if (!left_possible_ || !right_possible_) return false;
    std::fill(centre_.begin(), centre_.end(), 1.0);
    for (const Macro& m : plan.centre) {
      if (values[m.column] < 0) return false;
      const double* row = emissions(m.view, values[m.column]);
      for (std::size_t y = 0; y < centre_.size(); ++y) centre_[y] *= row[y];
    }
    for (std::size_t s = 0; s < mass_.size(); ++s) mass_[s] = left_[s] * centre_[chain_.label[s]] * right_[s];
    return true;
  }

  // Sums over the states with each label, and over all of them [L + 1].
  const std::vector<double>& by_label() {
    std::fill(by_label_.begin(), by_label_.end(), 0.0);
    for (std::size_t s = 0; s < mass_.size(); ++s) by_label_[chain_.label[s]] += mass_[s];
    for (std::size_t y = 0; y < chain_.n_labels; ++y) by_label_[chain_.n_labels] += by_label_[y];
    return by_label_;
  }

  double state_mass(std::int32_t s) const { return s < 0 ? 0.0 : mass_[s]; }

  // Mass of the transition from state a, the one before the token, to state b.
  double edge_mass(std::int32_t a, std::int32_t b) const {
    if (a < 0 || b < 0) return 0.0;
    const auto first = chain_.indices.begin() + chain_.indptr[a], last = chain_.indices.begin() + chain_.indptr[a + 1];
    const auto at = std::lower_bound(first, last, b);
    if (at == last || *at != b) return 0.0;
    return before_[a] * chain_.values[at - chain_.indices.begin()] * centre_[chain_.label[b]] * right_[b];
  }

 private:
  const double* emissions(std::int32_t view, std::int32_t value) const {
    return views_.table.data() + (views_.ptr[view] + value) * static_cast<std::int64_t>(chain_.n_labels);
  }

  // Where a walk begins: at `start`, or, where there is a gap, at the sums over all rows in it.
  void begin(const std::vector<Macro>& gap, std::span<const double> beyond, std::span<const double> start,
             const std::int32_t* values, std::vector<double>& v) {
    if (gap.empty()) {
      v.assign(start.begin(), start.end());
      return;
    }
    std::fill(v.begin(), v.end(), 0.0);
    for (std::size_t y = 0; y < chain_.n_labels; ++y) {
      double emitted = 1.0;
      for (const Macro& m : gap) emitted *= emissions(m.view, values[m.column])[y];
      if (emitted == 0.0) continue;
      for (std::size_t s = 0; s < v.size(); ++s) v[s] += emitted * beyond[y * v.size() + s];
    }
  }

  void observe(const std::vector<Macro>& side, std::size_t& next, std::int64_t distance, const std::int32_t* values,
               std::vector<double>& v) {
    for (; next < side.size() && side[next].distance >= distance; ++next) {
      if (values[side[next].column] < 0) continue;  // a position outside the sequence: the reach has dealt with it
      const double* row = emissions(side[next].view, values[side[next].column]);
      for (std::size_t s = 0; s < v.size(); ++s) v[s] *= row[chain_.label[s]];
    }
  }

  void walk_left(const std::vector<Macro>& side, const std::int32_t* values, const Reach& reach) {
    if (reach.distance == 0) {
      if (reach.bounded) std::fill(before_.begin(), before_.end(), 0.0);  // the first token has none before it
      else before_ = left_;
      return;
    }
    std::size_t next = 0;
    for (std::int64_t d = reach.distance; d >= 1; --d) {
      observe(side, next, d, values, left_);
      if (d == 1) before_ = left_;
      chain_.step_forward(left_, scratch_);
      std::swap(left_, scratch_);
    }
  }

  void walk_right(const std::vector<Macro>& side, const std::int32_t* values, const Reach& reach) {
    std::size_t next = 0;
    for (std::int64_t d = reach.distance; d >= 1; --d) {
      observe(side, next, d, values, right_);
      chain_.step_backward(right_, scratch_);
      std::swap(right_, scratch_);
    }
  }

  const StateChain& chain_;
  const PathSums& sums_;
  const ViewTables& views_;
  const Plan* plan_ = nullptr;
  const std::int32_t* last_ = nullptr;
  bool left_possible_ = false, right_possible_ = false;
  std::vector<double> before_, left_, right_, scratch_, mass_, centre_, by_label_;
};

void check_lists(std::span<const std::int64_t> ptr, std::span<const std::int32_t> codes, std::size_t n_attributes,
                 std::size_t n_codes) {
  require(ptr.size() == n_attributes + 1 && ptr.front() == 0 &&
              ptr.back() == static_cast<std::int64_t>(codes.size()),
          "expectations: the features of the attributes need pointers from 0 to their number");
  for (std::size_t a = 0; a < n_attributes; ++a)
    require(ptr[a + 1] >= ptr[a] && ptr[a + 1] <= ptr.back(), "expectations: feature pointers decrease");
  for (std::int32_t c : codes)
    require(c >= 0 && static_cast<std::size_t>(c) < n_codes, "expectations: a label or a pair is out of range");
}

void check_views(const ViewTables& views, std::size_t L) {
  require(!views.ptr.empty() && views.ptr.front() == 0, "expectations: view pointers must begin at 0");
  for (std::size_t v = 0; v + 1 < views.ptr.size(); ++v)
    require(views.ptr[v + 1] >= views.ptr[v], "expectations: view pointers decrease");
  require(static_cast<std::uint64_t>(views.ptr.back()) <= views.table.size() &&
              static_cast<std::size_t>(views.ptr.back()) * L == views.table.size(),
          "expectations: the view tables need one row per value and one column per label");
}

void check_templates(const ObservationTemplates& templates, const ViewTables& views) {
  require(!templates.ptr.empty() && templates.ptr.front() == 0 && templates.offset.size() == templates.view.size() &&
              templates.ptr.back() == static_cast<std::int64_t>(templates.offset.size()),
          "expectations: template pointers must go from 0 to the number of macros");
  for (std::size_t t = 0; t + 1 < templates.ptr.size(); ++t)
    require(templates.ptr[t + 1] >= templates.ptr[t] && templates.ptr[t + 1] <= templates.ptr.back(),
            "expectations: template pointers decrease");
  for (std::size_t m = 0; m < templates.offset.size(); ++m) {
    require(is_gap(templates.offset[m]) || std::abs(std::int64_t{templates.offset[m]}) <= kMaxOffset,
            "expectations: an offset lies more than 10000 tokens away");
    require(templates.view[m] >= 0 && static_cast<std::size_t>(templates.view[m]) + 1 < views.ptr.size(),
            "expectations: a template looks at a view that is not there");
  }
}

void check_keys(const AttributeKeys& keys, const ObservationTemplates& templates, const ViewTables& views) {
  const std::size_t n = keys.template_of.size(), n_templates = templates.ptr.size() - 1;
  const bool rows_fit = keys.width == 0 ? keys.values.empty()
                                        : keys.values.size() / keys.width == n && keys.values.size() % keys.width == 0;
  require(rows_fit, "expectations: attributes need one row of values each");
  for (std::size_t a = 0; a < n; ++a) {
    const std::int32_t t = keys.template_of[a];
    require(t >= 0 && static_cast<std::size_t>(t) < n_templates, "expectations: a template number is out of range");
    const auto n_macros = static_cast<std::size_t>(templates.ptr[t + 1] - templates.ptr[t]);
    require(n_macros <= keys.width, "expectations: a template has more macros than attributes have values");
    for (std::size_t m = 0; m < n_macros; ++m) {
      const std::int32_t view = templates.view[templates.ptr[t] + static_cast<std::int64_t>(m)];
      require(keys.values[a * keys.width + m] < views.ptr[view + 1] - views.ptr[view],
              "expectations: a value is outside its view");
    }
  }
}

// Attributes that have features, by template, those with a common side next to each other.
std::vector<std::int64_t> order_of_work(ThreadPool& pool, const AttributeKeys& keys, const AttributeFeatures& features,
                                        const std::vector<Plan>& plans) {
  const auto wanted = [&](std::size_t a) {
    return features.node_ptr[a + 1] > features.node_ptr[a] || features.pair_ptr[a + 1] > features.pair_ptr[a];
  };
  std::vector<std::size_t> begin(plans.size() + 1, 0);
  for (std::size_t a = 0; a < keys.template_of.size(); ++a) begin[keys.template_of[a] + 1] += wanted(a);
  for (std::size_t t = 0; t < plans.size(); ++t) begin[t + 1] += begin[t];
  std::vector<std::int64_t> work(begin.back());
  std::vector<std::size_t> next(begin.begin(), begin.end() - 1);
  for (std::size_t a = 0; a < keys.template_of.size(); ++a)
    if (wanted(a)) work[next[keys.template_of[a]]++] = static_cast<std::int64_t>(a);
  pool.run(plans.size(), [&](std::size_t t) {
    const auto& columns = plans[t].sort_order;
    std::sort(work.begin() + begin[t], work.begin() + begin[t + 1], [&](std::int64_t a, std::int64_t b) {
      const std::int32_t *x = keys.values.data() + a * keys.width, *y = keys.values.data() + b * keys.width;
      for (const std::size_t c : columns)
        if (x[c] != y[c]) return x[c] < y[c];
      return a < b;
    });
  });
  return work;
}

// Number of the state of each label (order 1) or of each pair y' L + y (order 2); -1 where there is none.
std::vector<std::int32_t> state_numbers(const StateChain& chain) {
  const std::size_t L = chain.n_labels;
  std::vector<std::int32_t> numbers(chain.previous.empty() ? L : (L + 1) * L, -1);
  for (std::size_t s = 0; s < chain.n_states(); ++s) {
    const std::size_t before = chain.previous.empty() ? 0 : static_cast<std::size_t>(chain.previous[s]);
    auto& number = numbers[before * L + chain.label[s]];
    require(number < 0, "expectations: two states have the same labels");
    number = static_cast<std::int32_t>(s);
  }
  return numbers;
}

}  // namespace

void attribute_expectations(ThreadPool& pool, const StateChain& chain, const PathSums& sums,
                            const ObservationTemplates& templates, const ViewTables& views,
                            const AttributeKeys& keys, const AttributeFeatures& features, std::span<double> node_out,
                            std::span<double> pair_out) {
  const std::size_t L = chain.n_labels, n_attributes = keys.template_of.size();
  chain.check();
  require(sums.into.size() == chain.n_states() && sums.out_of.size() == chain.n_states(),
          "expectations: path sums need one entry per state");
  const bool gaps = std::any_of(templates.offset.begin(), templates.offset.end(), is_gap);
  for (const auto& table : {sums.before, sums.after})
    require(!gaps || table.size() == L * chain.n_states(),
            "expectations: the path sums of gaps need one entry per label and state");
  check_views(views, L);
  check_templates(templates, views);
  check_keys(keys, templates, views);
  check_lists(features.node_ptr, features.node_label, n_attributes, L + 1);
  check_lists(features.pair_ptr, features.pair_code, n_attributes, L * L);
  require(node_out.size() == features.node_label.size() && pair_out.size() == features.pair_code.size(),
          "expectations: the results need one entry per feature");
  std::vector<Plan> plans;
  for (std::size_t t = 0; t + 1 < templates.ptr.size(); ++t) plans.push_back(make_plan(templates, t));
  const auto states = state_numbers(chain);
  const auto work = order_of_work(pool, keys, features, plans);
  std::fill(node_out.begin(), node_out.end(), 0.0);
  std::fill(pair_out.begin(), pair_out.end(), 0.0);
  const bool second_order = !chain.previous.empty();

  parallel_for(pool, work.size(), 1024, [&](std::size_t begin, std::size_t end) {
    Walker walker(chain, sums, views);
    for (std::size_t i = begin; i < end; ++i) {
      const std::int64_t a = work[i];
      if (!walker.visit(plans[keys.template_of[a]], keys.values.data() + a * keys.width)) continue;
      if (features.node_ptr[a] < features.node_ptr[a + 1]) {
        const auto& masses = walker.by_label();
        for (std::int64_t f = features.node_ptr[a]; f < features.node_ptr[a + 1]; ++f)
          node_out[f] = masses[features.node_label[f]];
      }
      for (std::int64_t f = features.pair_ptr[a]; f < features.pair_ptr[a + 1]; ++f) {
        const auto code = static_cast<std::size_t>(features.pair_code[f]);
        pair_out[f] = second_order ? walker.state_mass(states[code])
                                   : walker.edge_mass(states[code / L], states[code % L]);
      }
    }
  });
}

}  // namespace loglinear::hmm
