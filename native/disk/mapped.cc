#include "disk/mapped.hh"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>

namespace loglinear::disk {

namespace {

std::mutex registry_mutex;
std::map<void*, std::size_t> registry;  // what is mapped, and how many bytes

}  // namespace

MappedFile::MappedFile(const std::string& folder, std::size_t n_bytes) : n_bytes_(n_bytes) {
  if (n_bytes == 0) return;
  file_ = std::make_unique<ScratchFile>(folder);
  file_->resize(n_bytes);
  void* const p = mmap(nullptr, n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_->descriptor(), 0);
  if (p == MAP_FAILED) throw IoError(errno, folder);
  try {
    const std::lock_guard lock(registry_mutex);
    registry[p] = n_bytes_;
  } catch (...) {  // no memory for the entry; the destructor of what was not made does not run
    munmap(p, n_bytes);
    throw;
  }
  data_ = p;
}

MappedFile::~MappedFile() {
  if (data_ == nullptr) return;
  {
    const std::lock_guard lock(registry_mutex);
    registry.erase(data_);
  }
  munmap(data_, n_bytes_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), n_bytes_(std::exchange(other.n_bytes_, 0)),
      file_(std::move(other.file_)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  MappedFile old(std::move(*this));
  data_ = std::exchange(other.data_, nullptr);
  n_bytes_ = std::exchange(other.n_bytes_, 0);
  file_ = std::move(other.file_);
  return *this;
}

void MappedFile::reserve(std::size_t begin, std::size_t end) {
  if (file_) file_->reserve(begin, end);
}

void MappedFile::free(std::size_t begin, std::size_t end) {
  if (file_) file_->free(begin, end);
}

std::size_t resident_bytes() {
#ifdef __linux__
  static const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  char text[128];
  const int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  const ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
  if (fd >= 0) close(fd);
  if (n <= 0) return 0;
  text[n] = '\0';
  unsigned long long size = 0, resident = 0;
  return std::sscanf(text, "%llu %llu", &size, &resident) == 2 ? static_cast<std::size_t>(resident) * page : 0;
#else
  return 0;
#endif
}

void drop_mapped_pages() {
  const std::lock_guard lock(registry_mutex);
  for (const auto& [data, n_bytes] : registry) madvise(data, n_bytes, MADV_DONTNEED);  // shared: the file has it all
}

PageWatch::PageWatch(std::size_t limit) : limit_(limit), thread_([this] { watch(); }) {}

PageWatch::~PageWatch() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void PageWatch::watch() {
  constexpr auto kPause = std::chrono::milliseconds(5);  // in which two threads touch a few tens of megabytes
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, kPause, [this] { return stopping_; }))
    if (resident_bytes() > limit_) drop_mapped_pages();
}

}  // namespace loglinear::disk
