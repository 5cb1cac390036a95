#include "linear/accelerated.hh"

#include <algorithm>
#include <vector>

#include "linear/corners.hh"
#include "util/views.hh"

namespace loglinear::linear {

namespace {

const simd::AcceleratedLoops<double>& loops_of(const double*) { return simd::loops().accelerated; }
const simd::AcceleratedLoops<float>& loops_of(const float*) { return simd::loops().accelerated_single; }

}  // namespace

void AcceleratedSums::add(const AcceleratedSums& other) {
  change += other.change, length += other.length, turn += other.turn, penalty += other.penalty;
  violation = larger(violation, other.violation), largest = larger(largest, other.largest);
}

template <class Kept>
void check(const AcceleratedPath<Kept>& p, const Separable& penalty) {
  const std::size_t n = p.x.size();
  for (const std::size_t size : {p.before.size(), p.g_before.size(), p.older.size(), p.g_older.size(), p.metric.size()})
    require(size == n, "accelerated step: vectors differ in length");
  check(penalty, n, n);
}

template <class Kept>
AcceleratedSums accelerate_range(const AcceleratedPath<Kept>& p, const Separable& penalty, const AcceleratedStep& step,
                                 const double* g, std::size_t begin, std::size_t end) {
  const auto loop = loops_of(p.metric.data()).accelerate;
  double sums[simd::kAcceleratedSums] = {};
  with_form(penalty, [&](const auto form) {
    Corners corners;
    for (std::size_t b = begin; b < end; b += kBlock) {
      const std::size_t n = std::min(kBlock, end - b);
      corners.read(form, b, n);
      loop(p.x.data() + b, p.before.data() + b, p.older.data() + b, g + (b - begin), p.g_before.data() + b,
           p.g_older.data() + b, p.metric.data() + b, corners.right, corners.left, corners.ridge, step, n, sums);
    }
  });
  return {sums[0], sums[1], sums[2], sums[3], sums[4], sums[5]};
}

template <class Kept>
AcceleratedSums accelerate(ThreadPool& pool, const AcceleratedPath<Kept>& path, const Separable& penalty,
                           const AcceleratedStep& step, std::span<const double> g) {
  check(path, penalty);
  require(g.size() == path.x.size(), "accelerated step: vectors differ in length");
  std::vector<AcceleratedSums> partial(chunk_count(g.size(), kVectorChunk));
  parallel_for(pool, g.size(), kVectorChunk, [&](std::size_t begin, std::size_t end) {
    partial[begin / kVectorChunk] = accelerate_range(path, penalty, step, g.data() + begin, begin, end);
  });
  AcceleratedSums out;
  for (const auto& part : partial) out.add(part);
  return out;
}

template <class Kept>
void retake(ThreadPool& pool, const AcceleratedPath<Kept>& p, const Separable& penalty, const AcceleratedStep& step) {
  check(p, penalty);
  const auto loop = loops_of(p.metric.data()).retake;
  with_form(penalty, [&](const auto form) {
    parallel_for(pool, p.x.size(), kVectorChunk, [&, form](std::size_t begin, std::size_t end) {
      Corners corners;
      for (std::size_t b = begin; b < end; b += kBlock) {
        const std::size_t n = std::min(kBlock, end - b);
        corners.read(form, b, n);
        loop(p.before.data() + b, p.older.data() + b, p.g_before.data() + b, p.g_older.data() + b,
             p.metric.data() + b, corners.right, corners.left, corners.ridge, step, n, p.x.data() + b);
      }
    });
  });
}

template void check(const AcceleratedPath<double>&, const Separable&);
template void check(const AcceleratedPath<float>&, const Separable&);
template AcceleratedSums accelerate_range(const AcceleratedPath<double>&, const Separable&, const AcceleratedStep&,
                                          const double*, std::size_t, std::size_t);
template AcceleratedSums accelerate_range(const AcceleratedPath<float>&, const Separable&, const AcceleratedStep&,
                                          const double*, std::size_t, std::size_t);
template AcceleratedSums accelerate(ThreadPool&, const AcceleratedPath<double>&, const Separable&,
                                    const AcceleratedStep&, std::span<const double>);
template AcceleratedSums accelerate(ThreadPool&, const AcceleratedPath<float>&, const Separable&,
                                    const AcceleratedStep&, std::span<const double>);
template void retake(ThreadPool&, const AcceleratedPath<double>&, const Separable&, const AcceleratedStep&);
template void retake(ThreadPool&, const AcceleratedPath<float>&, const Separable&, const AcceleratedStep&);

}  // namespace loglinear::linear
