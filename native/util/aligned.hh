// Vectors of doubles that begin at a cache line: a vector register's worth of a padded row then never straddles two.
#pragma once
#include <cstddef>
#include <new>
#include <vector>

namespace loglinear {

template <class T>
struct LineAllocator {
  using value_type = T;
  static constexpr std::align_val_t kLine{64};

  LineAllocator() = default;
  template <class U>
  LineAllocator(const LineAllocator<U>&) {}
  T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), kLine)); }
  void deallocate(T* p, std::size_t) { ::operator delete(p, kLine); }
  template <class U>
  bool operator==(const LineAllocator<U>&) const {
    return true;
  }
};

using AlignedDoubles = std::vector<double, LineAllocator<double>>;

}  // namespace loglinear
