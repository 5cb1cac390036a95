#include "linear/subset.hh"

#include <algorithm>

#include "util/errors.hh"

namespace loglinear::linear {

Subset::Subset(std::span<const std::int64_t> positions, std::int64_t n_whole)
    : size_(positions.size()), n_whole_(static_cast<std::size_t>(n_whole)) {
  require(n_whole >= 0, "subset: the whole has a negative size");
  std::int64_t before = -1;
  std::size_t filled = kVectorChunk;
  for (std::size_t i = 0; i < size_; ++i) {
    const std::int64_t at = positions[i];
    require(at > before && at < n_whole, "subset: positions must ascend, within the whole");
    if (filled >= kVectorChunk) {
      chunks_.push_back(stretches_.size());
      filled = 0;
    }
    if (i == 0 || filled == 0 || at != before + 1) stretches_.push_back({static_cast<std::size_t>(at), i, 0});
    ++stretches_.back().length;
    ++filled;
    before = at;
  }
  chunks_.push_back(stretches_.size());
}

void Subset::check(std::size_t part, std::size_t whole) const {
  require(part == size_ && whole == n_whole_, "subset: vectors of other lengths");
}

template <class Body>
void Subset::for_each(ThreadPool& pool, Body body) const {
  pool.run(chunks_.size() - 1, [&](std::size_t chunk) {
    for (std::size_t s = chunks_[chunk]; s < chunks_[chunk + 1]; ++s) body(stretches_[s]);
  });
}

void Subset::gather(ThreadPool& pool, std::span<const double> whole, std::span<double> part) const {
  check(part.size(), whole.size());
  for_each(pool, [&](const Stretch& s) { std::copy_n(&whole[s.whole], s.length, &part[s.part]); });
}

void Subset::add(ThreadPool& pool, std::span<const double> part, std::span<double> whole) const {
  check(part.size(), whole.size());
  for_each(pool, [&](const Stretch& s) {
    double* to = &whole[s.whole];
    const double* from = &part[s.part];
    for (std::size_t i = 0; i < s.length; ++i) to[i] += from[i];
  });
}

}  // namespace loglinear::linear
