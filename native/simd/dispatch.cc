#include <atomic>
#include <cstring>
#include <initializer_list>

#include "simd/loops.hh"

namespace loglinear::simd {

const Loops& baseline_loops();
#ifdef LOGLINEAR_X86
const Loops& avx2_loops();
const Loops& avx512_loops();
#endif

namespace {

bool available(const char* name) {
  if (!std::strcmp(name, "baseline")) return true;
#ifdef LOGLINEAR_X86
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (!std::strcmp(name, "avx2")) return avx2;
  if (!std::strcmp(name, "avx512"))
    return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
#endif
  return false;
}

const Loops* table(const char* name) {
#ifdef LOGLINEAR_X86
  if (!std::strcmp(name, "avx2")) return &avx2_loops();
  if (!std::strcmp(name, "avx512")) return &avx512_loops();
#endif
  (void)name;
  return &baseline_loops();
}

const Loops* best() {
  for (const char* name : {"avx512", "avx2"})
    if (available(name)) return table(name);
  return &baseline_loops();
}

std::atomic<const Loops*>& current() {
  static std::atomic<const Loops*> chosen{best()};
  return chosen;
}

}  // namespace

const Loops& loops() { return *current().load(std::memory_order_relaxed); }

bool select(const char* name) {
  if (!std::strcmp(name, "auto")) {
    current().store(best());
    return true;
  }
  if (!available(name)) return false;
  current().store(table(name));
  return true;
}

}  // namespace loglinear::simd
