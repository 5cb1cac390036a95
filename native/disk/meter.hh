// How far a piece of work has come, for whoever looks from another thread.
#pragma once
#include <atomic>
#include <cstdint>

namespace loglinear::disk {

struct WorkMeter {
  std::atomic<std::uint64_t> done{0}, total{0};
  void begin(std::uint64_t n) {
    done = 0;
    total = n;
  }
};

}  // namespace loglinear::disk
