// Vectors whose memory goes back to the system when they are freed, and is taken only where it is written.
//
// A large array is built from pieces that are freed as they are copied: with an ordinary allocator the freed pieces may
// stay with the process, and the peak is then twice the result. Elements are not initialised by resize().
#pragma once
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

#if defined(__unix__) || defined(__APPLE__)
#include <sys/mman.h>
#define LOGLINEAR_MMAP 1
#endif

namespace loglinear {

template <class T>
struct PageAllocator {
  using value_type = T;
  static constexpr std::size_t kMapped = std::size_t{1} << 18;  // bytes; smaller blocks come from the heap
  static constexpr std::size_t kHuge = std::size_t{1} << 24;    // bytes; arrays this long are worth large pages

  PageAllocator() = default;
  template <class U>
  PageAllocator(const PageAllocator<U>&) {}

  T* allocate(std::size_t n) {
    if (n > SIZE_MAX / sizeof(T)) throw std::bad_alloc();
#ifdef LOGLINEAR_MMAP
    const std::size_t bytes = n * sizeof(T);
    if (bytes >= kMapped) {
      void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (p == MAP_FAILED) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
      if (bytes >= kHuge) madvise(p, bytes, MADV_HUGEPAGE);  // advice: may be refused
#endif
      return static_cast<T*>(p);
    }
#endif
    return static_cast<T*>(::operator new(n * sizeof(T)));
  }
  void deallocate(T* p, std::size_t n) {
#ifdef LOGLINEAR_MMAP
    if (n * sizeof(T) >= kMapped) {
      munmap(p, n * sizeof(T));
      return;
    }
#endif
    ::operator delete(p);
  }
  template <class U>
  void construct(U* p) {
    ::new (static_cast<void*>(p)) U;  // not U(): left as it is
  }
  template <class U, class... Args>
  void construct(U* p, Args&&... args) {
    ::new (static_cast<void*>(p)) U(std::forward<Args>(args)...);
  }
  template <class U>
  bool operator==(const PageAllocator<U>&) const {
    return true;
  }
};

template <class T>
using Pages = std::vector<T, PageAllocator<T>>;

// Frees what a vector holds.
template <class Vector>
void release(Vector& v) {
  Vector().swap(v);
}

}  // namespace loglinear
