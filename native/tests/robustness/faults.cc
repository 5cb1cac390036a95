// Memory, threads and files that fail: whatever call is the first that the system refuses, the error reaches the caller,
// nothing is left behind, and the next try gives what it should.
//
// Every operation runs again and again, with its first, second, ... call failing until one run has no failure: once
// with that call alone, and once with all calls after it failing too. Operations are the fuzz targets on their seeds,
// which parse, load, train and ask models of all kinds, and counting in temporary files. Calls are those of operator
// new and, where the linker can wrap them (Linux), those that files and mapped memory come from.
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <new>
#include <string>
#include <vector>

#ifdef __linux__
#include <pthread.h>
#include <sys/resource.h>
#endif
#include <sys/mman.h>
#include <unistd.h>

#include "backoff/counted.hh"
#include "backoff/kneser_ney.hh"
#include "tests/check.hh"
#include "disk/mapped.hh"
#include "disk/open_file.hh"
#include "disk/spool.hh"
#include "fuzz/target.hh"
#include "tests/texts.hh"
#include "trie/merge.hh"
#include "trie/runs.hh"
#include "util/pages.hh"

namespace loglinear::tests::faults {
namespace {

enum Kind { kMemory, kSystem, kNone };

std::atomic<int> failing{kNone};
std::atomic<bool> from_then_on{false};
std::atomic<long> calls_left{0};  // that succeed
std::atomic<long> live{0};        // blocks of memory, mappings and descriptors

bool fails(Kind kind) {
  if (failing.load(std::memory_order_relaxed) != kind) return false;
  const long left = calls_left.fetch_sub(1);
  return from_then_on ? left <= 0 : left == 0;
}

void* take(std::size_t size, std::size_t alignment) {
  if (fails(kMemory)) throw std::bad_alloc();
  void* p = nullptr;
  if (alignment <= alignof(std::max_align_t)) p = std::malloc(size ? size : 1);
  else p = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (!p) throw std::bad_alloc();
  ++live;
  return p;
}

void give(void* p) {
  if (!p) return;
  --live;
  std::free(p);
}

}  // namespace
}  // namespace loglinear::tests::faults

void* operator new(std::size_t n) { return loglinear::tests::faults::take(n, 0); }
void* operator new(std::size_t n, std::align_val_t a) {
  return loglinear::tests::faults::take(n, static_cast<std::size_t>(a));
}
void operator delete(void* p) noexcept { loglinear::tests::faults::give(p); }
void operator delete(void* p, std::size_t) noexcept { loglinear::tests::faults::give(p); }
void operator delete(void* p, std::align_val_t) noexcept { loglinear::tests::faults::give(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { loglinear::tests::faults::give(p); }

#ifdef LOGLINEAR_WRAPPED_CALLS  // the linker sends calls of f to __wrap_f, and calls of __real_f to f
#define WRAP(result, name, parameters, arguments, failure, code, gained) \
  extern "C" result __real_##name parameters;                            \
  extern "C" result __wrap_##name parameters;                            \
  extern "C" result __wrap_##name parameters {                           \
    using namespace loglinear::tests::faults;                            \
    if (fails(kSystem)) return errno = code, failure;                    \
    const auto given = __real_##name arguments;                        \
    if (given != failure) live += gained;                                \
    return given;                                                        \
  }
WRAP(void*, mmap, (void* a, std::size_t n, int p, int f, int fd, off_t o), (a, n, p, f, fd, o), MAP_FAILED, ENOMEM, 1)
WRAP(ssize_t, pread, (int fd, void* p, std::size_t n, off_t o), (fd, p, n, o), -1, EIO, 0)
WRAP(ssize_t, pwrite, (int fd, const void* p, std::size_t n, off_t o), (fd, p, n, o), -1, ENOSPC, 0)
WRAP(int, ftruncate, (int fd, off_t n), (fd, n), -1, ENOSPC, 0)
WRAP(int, mkstemp, (char* path), (path), -1, EMFILE, 1)
#undef WRAP

extern "C" int __real_posix_fallocate(int fd, off_t begin, off_t n);
extern "C" int __wrap_posix_fallocate(int fd, off_t begin, off_t n);
extern "C" int __wrap_posix_fallocate(int fd, off_t begin, off_t n) {
  return loglinear::tests::faults::fails(loglinear::tests::faults::kSystem) ? ENOSPC : __real_posix_fallocate(fd, begin, n);
}
extern "C" int __real_munmap(void* p, std::size_t n);
extern "C" int __wrap_munmap(void* p, std::size_t n);
extern "C" int __wrap_munmap(void* p, std::size_t n) {
  --loglinear::tests::faults::live;
  return __real_munmap(p, n);
}
#endif

namespace loglinear::tests::faults {
namespace {

struct Failing {  // while it lives, the call after `n` others fails
  Failing(Kind kind, long n, bool all) {
    from_then_on = all, calls_left = n;
    failing = kind;
  }
  ~Failing() { failing = kNone; }
  bool happened() const { return calls_left.load() < 0; }
};

// What an operation may throw when the system refuses it something. Returns whether it did.
template <class Operation>
bool refused(const std::string& name, const Operation& operation) {
  try {
    operation();
    return false;
  } catch (const std::bad_alloc&) {
  } catch (const disk::IoError&) {
  } catch (const InvalidInput&) {  // of a file that cannot be read; a target's own are not let out
  } catch (const std::exception& error) {
    failing = kNone;
    std::printf("%s: %s\n", name.c_str(), error.what());
    CHECK(false);
  }
  return true;
}

// Lets one call after the other fail, `step` apart; returns how many failed.
long each_failure(const std::string& name, Kind kind, long step, const std::function<void()>& operation) {
  operation();  // what is made once and kept, such as tables of characters
  long n_failures = 0;
  for (const bool all : {false, true})
    for (long n = 0;; n += step) {
      const long before = live;
      bool happened;
      {
        const Failing fault(kind, n, all);
        refused(name, operation);
        happened = fault.happened();
      }
      if (live != before) std::printf("%s: %ld left behind after failure %ld\n", name.c_str(), live - before, n);
      CHECK(live == before);
      if (!happened) break;
      ++n_failures;
    }
  CHECK(!refused(name, operation));
  return n_failures;
}

std::string folder() { return std::filesystem::temp_directory_path().string(); }

// A text counted and smoothed in temporary files, as by `lm train --memory`.
void count_in_files() {
  ThreadPool pool(1);
  std::mt19937 random(3);
  const Text text = random_text(random, 5, 12, 6);
  disk::TokenSpool spool(folder());
  std::vector<std::uint32_t> tokens = text.words;
  PackedStrings units;
  for (const char* unit : {"a", "b", "c", "d", "e", "f"}) units.push_back(unit);
  const std::vector<std::int64_t> counts(6, 1), lines(6, 1);
  const std::vector<std::int32_t> texts(6, 0);
  spool.add(pool, tokens, text.sentence_ptr, {units, counts, texts, lines});
  const std::vector<std::uint32_t> numbers{1, 2, 3, 4, 5, 5};  // 0 is the end of a sentence
  trie::TrieRuns runs(folder(), 6, 2);
  runs.add(pool, spool, 0, spool.n_predicted(), numbers, 16);
  trie::MergeOptions options;
  options.buffer_bytes = 1 << 12;
  auto merged = std::get<0>(trie::merge_runs(pool, runs, options));
  const auto view = merged.view();
  disk::MappedArray<std::uint32_t> adjusted(folder(), static_cast<std::size_t>(view.entry_start[1]));
  backoff::adjusted_counts(pool, view, false, std::span<std::uint32_t>(adjusted));
  const std::vector<backoff::OrderSmoothing> orders(2, backoff::OrderSmoothing{{0.5, 0.5, 0.5}, 0.0, 0.0, 0});
  const backoff::MappedAutomaton model = backoff::build_counted(pool, merged, adjusted, orders, {folder(), false, nullptr});
  backoff::BackoffAutomaton(model).check(pool);
}

}  // namespace

TEST(every_allocation_may_fail) {
  long n_failures = each_failure("counting in files", kMemory, 1, count_in_files);
  for (const fuzz::Target& target : fuzz::targets()) {
    const std::vector<fuzz::Bytes> seeds = target.seeds();
    for (std::size_t s = 0; s < seeds.size(); s += 3)
      n_failures += each_failure(target.name, kMemory, 1, [&] { target.run(seeds[s]); });
  }
  std::printf("%ld allocations failed\n", n_failures);
}

#ifdef __linux__
TEST(threads_that_do_not_start_are_done_without) {  // room for the stacks of three
  constexpr std::size_t kStack = std::size_t{1} << 30;
  unsigned long long pages = 0;
  std::FILE* const statm = std::fopen("/proc/self/statm", "r");
  CHECK(statm && std::fscanf(statm, "%llu", &pages) == 1);
  if (statm) std::fclose(statm);
  rlimit before{};
  getrlimit(RLIMIT_AS, &before);
  pthread_attr_t usual, large;
  pthread_getattr_default_np(&usual);
  pthread_attr_init(&large);
  pthread_attr_setstacksize(&large, kStack);
  pthread_setattr_default_np(&large);
  rlimit limit = before;
  limit.rlim_cur = pages * static_cast<unsigned long long>(sysconf(_SC_PAGESIZE)) + 7 * kStack / 2;
  setrlimit(RLIMIT_AS, &limit);
  {
    ThreadPool pool(8);
    CHECK(pool.size() >= 1 && pool.size() < 8);
    std::atomic<int> sum{0};
    pool.run(100, [&](std::size_t) { ++sum; });
    CHECK(sum == 100);
  }
  setrlimit(RLIMIT_AS, &before);
  pthread_setattr_default_np(&usual);
}
#endif

TEST(every_call_of_a_file_may_fail) {
#ifdef LOGLINEAR_WRAPPED_CALLS
  long n_failures = each_failure("counting in files", kSystem, 1, count_in_files);
  n_failures += each_failure("large arrays", kSystem, 1, [] { Pages<double> values(1 << 18); });
  for (const fuzz::Target& target : fuzz::targets())
    if (target.name == "blocks")
      for (const fuzz::Bytes& seed : target.seeds()) n_failures += each_failure(target.name, kSystem, 1, [&] { target.run(seed); });
  CHECK(n_failures > 20);
  std::printf("%ld calls failed\n", n_failures);
#endif
}

}  // namespace loglinear::tests::faults
