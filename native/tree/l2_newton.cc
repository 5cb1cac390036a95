#include "tree/l2_newton.hh"

namespace loglinear::tree {

namespace {

using Work = L2NewtonWork;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kEnough = 1e-6;     // a relative change after which the error is about its square
constexpr double kNothing = 1e-280;  // squares below are zero: their inverses would overflow
constexpr int kMaxPasses = 100;      // never reached: changes at least halve, and are squared in the end

template <class Source>
struct NewtonMap {
  const Tree& tree;
  Source source;
  double by_unit;  // 1 / unit

  double root(std::size_t i) const { return source.penalty.plain ? 1.0 : std::sqrt(source.penalty.q(i)); }
  double mass(std::size_t i) const { return source.weight(i) * by_unit / source.penalty.q(i); }

  void clear(const TreeUnit& part, Work& work, std::size_t first, int pass) const {
    for (std::size_t k = first; k < first + part.size + part.n_slots; ++k)
      work.places[k] = {pass == 0 ? 0.0 : work.places[k].s, 0.0, 0.0, 0.0, work.places[k].m};
  }

  // Leaves K / (R - K) in a and M in b.
  void up(const TreeUnit& part, Work& work, std::size_t first, int pass) const {
    Work::Place* places = work.places.data() + first;
    const NewtonMap map = *this;
    tree.upward(part, [=](std::size_t i, std::size_t place, std::size_t target) {
      Work::Place& own = places[place];
      if (own.s == kInfinity) return;
      const auto add = [pass](Work::Place& to, double r, double m) {
        const double by = pass == 0 ? 1.0 : 1.0 / (m + to.s);  // 1 / q; at s = infinity all are alike
        const double y = r * by, f = y * y, a = f * by;
        to.f += f;
        to.a += a;
        to.b += a * m;
      };
      if (pass == 0) own.m = map.mass(i);
      const double root = map.root(i), k = map.source.penalty.groups.threshold(i) * map.by_unit / root;
      add(own, own.m * root * map.source.centre(i), own.m);
      const double by = 1.0 / own.a, R = std::sqrt(own.f) * own.f * by, M = own.b * by;
      if (own.f < kNothing || R <= k) {
        own.s = kInfinity;
        return;
      }
      own.a = k / (R - k);
      own.b = M;
      add(places[target], R - k, M);
    });
  }

  // Returns the largest relative change of a weight.
  double down(const TreeUnit& part, Work& work, std::size_t first) const {
    Work::Place* places = work.places.data() + first;
    double change = 0.0;
    places[part.size].s = 0.0;  // the slot of roots
    tree.downward(part, [=, &change](std::size_t, std::size_t place, std::size_t target) {
      Work::Place& own = places[place];
      const double t = places[target].s;
      if (own.s == kInfinity || t == kInfinity) {
        own.s = kInfinity;
        return;
      }
      const double s = t + own.a * (own.b + t);
      change = std::max(change, std::fabs(s - own.s) / (own.m + s));
      own.s = s;
    });
    return change;
  }

  double write(const TreeUnit& part, Work& work, std::size_t first) const {
    const Work::Place* places = work.places.data() + first;
    double largest = 0.0;
    const NewtonMap map = *this;
    tree.downward(part, [=, &largest](std::size_t i, std::size_t place, std::size_t) {
      const double s = places[place].s, m = places[place].m;
      largest = std::max(largest, map.source.put(i, s == kInfinity ? 0.0 : map.source.centre(i) * (m / (m + s)) + 0.0));
    });
    return largest;
  }
};

// The crown and the units below it, pass by pass.
template <class Source>
double solve_crown(ThreadPool& pool, const Tree& tree, Work& work, const NewtonMap<Source>& map) {
  const auto units = tree.units();
  const TreeUnit& crown = tree.crown();
  const std::size_t top = tree.first_place(crown);
  std::vector<double> found(units.size());
  const auto below = [&](auto run) {
    pool.run(units.size(), [&](std::size_t u) {
      if (!units[u].closed) found[u] = run(units[u], tree.first_place(units[u]));
    });
    return *std::max_element(found.begin(), found.end());
  };
  for (int pass = 0; pass < kMaxPasses; ++pass) {
    below([&](const TreeUnit& unit, std::size_t first) {
      map.clear(unit, work, first, pass);
      map.up(unit, work, first, pass);
      return 0.0;
    });
    map.clear(crown, work, top, pass);
    each_slot(tree, [&](std::size_t slot, std::size_t above) {
      work.places[above].f += work.places[slot].f;
      work.places[above].a += work.places[slot].a;
      work.places[above].b += work.places[slot].b;
    });
    map.up(crown, work, top, pass);
    const double change = map.down(crown, work, top);
    each_slot(tree, [&](std::size_t slot, std::size_t above) { work.places[slot].s = work.places[above].s; });
    const double more = below([&](const TreeUnit& unit, std::size_t first) { return map.down(unit, work, first); });
    if (pass > 0 && std::max(change, more) <= kEnough) break;
  }
  const double largest = map.write(crown, work, top);
  return std::max(largest, below([&](const TreeUnit& u, std::size_t first) { return map.write(u, work, first); }));
}

// Closed units one by one, then the crown.
template <class Source>
double solve(ThreadPool& pool, const Tree& tree, Reused<Work>& spare, const NewtonMap<Source>& map) {
  const auto units = tree.units();
  std::vector<double> largest(units.size() + 1);
  const auto make = [] { return std::make_unique<Work>(); };
  pool.run(units.size(), [&](std::size_t u) {
    const TreeUnit& part = units[u];
    if (!part.closed) return;
    auto work = spare.take(make);
    work->reserve(tree.max_places());
    for (int pass = 0; pass < kMaxPasses; ++pass) {
      map.clear(part, *work, 0, pass);
      map.up(part, *work, 0, pass);
      if (map.down(part, *work, 0) <= kEnough && pass > 0) break;
    }
    largest[u] = map.write(part, *work, 0);
    spare.give(std::move(work));
  });
  if (tree.crown().size > 0) {
    auto work = spare.take(make);
    work->reserve(tree.n_places());
    largest.back() = solve_crown(pool, tree, *work, map);
    spare.give(std::move(work));
  }
  return *std::max_element(largest.begin(), largest.end());
}

}  // namespace

template <class Source>
double l2_newton(ThreadPool& pool, const Tree& tree, Reused<Work>& spare, const Source& source, double unit) {
  return solve(pool, tree, spare, NewtonMap<Source>{tree, source, 1.0 / unit});
}

template double l2_newton(ThreadPool&, const Tree&, Reused<Work>&, const ProxSource&, double);
template double l2_newton(ThreadPool&, const Tree&, Reused<Work>&, const ResidualSource&, double);

}  // namespace loglinear::tree
