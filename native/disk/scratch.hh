// Temporary files without a name: nothing is left of them when the process ends, however it ends. POSIX.
//
// A ScratchFile is bytes at offsets. A DiskColumn is numbers written from front to back and read again; columns share a
// ScratchSpace, one file that hands out blocks, so that hundreds of columns need one descriptor.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace loglinear::disk {

// Bindings turn this into OSError.
struct IoError : std::runtime_error {
  IoError(int code, const std::string& where)
      : std::runtime_error(where + ": " + std::strerror(code)), number(code), path(where) {}
  int number;
  std::string path;
};

// Open until the object goes.
class ScratchFile {
 public:
  explicit ScratchFile(std::string folder);  // throws IoError that names the folder, as do the others
  ~ScratchFile();
  ScratchFile(ScratchFile&& other) noexcept : folder_(std::move(other.folder_)), fd_(std::exchange(other.fd_, -1)) {}
  ScratchFile& operator=(ScratchFile&& other) noexcept {
    std::swap(folder_, other.folder_);
    std::swap(fd_, other.fd_);
    return *this;
  }

  const std::string& folder() const { return folder_; }
  int descriptor() const { return fd_; }
  void write(const void* from, std::size_t n, std::uint64_t offset) const;
  void read(void* to, std::size_t n, std::uint64_t offset) const;
  void resize(std::uint64_t n) const;
  // Takes the disk for bytes [begin, end) now: what is written there later, in memory too, finds room.
  void reserve(std::uint64_t begin, std::uint64_t end) const;
  // Gives the disk of whole blocks within [begin, end) back, where the system can; the bytes are lost.
  void free(std::uint64_t begin, std::uint64_t end) const;

 private:
  std::string folder_;
  int fd_;
};

// Blocks of one file.
class ScratchSpace {
 public:
  static constexpr std::size_t kBlock = 1 << 16;  // bytes

  explicit ScratchSpace(std::string folder) : file_(std::move(folder)) {}
  const ScratchFile& file() const { return file_; }
  std::uint64_t allocate() { return next_.fetch_add(kBlock); }  // any thread
  std::uint64_t size() const { return next_; }

 private:
  ScratchFile file_;
  std::atomic<std::uint64_t> next_{0};
};

// Numbers in blocks of a file; the last ones are in memory too, since those are what is read most.
template <class T>
class DiskColumn {
 public:
  using value_type = T;
  static constexpr std::size_t kBlock = ScratchSpace::kBlock / sizeof(T);  // numbers

  explicit DiskColumn(ScratchSpace& space) : space_(&space) {}

  std::size_t size() const { return flushed_ + buffer_.size(); }
  void push_back(T value) {
    if (buffer_.size() == 2 * kBlock) flush(kBlock);  // the older half
    buffer_.push_back(value);
  }

  // use(span) for consecutive pieces of [begin, end).
  template <class Use>
  void blocks(std::size_t begin, std::size_t end, Use use) {
    while (begin < end && begin < flushed_) {
      const std::size_t at = begin % kBlock, n = std::min({end - begin, kBlock - at, flushed_ - begin});
      block_.resize(n);
      space_->file().read(block_.data(), n * sizeof(T), blocks_[begin / kBlock] + at * sizeof(T));
      use(std::span<const T>(block_));
      begin += n;
    }
    if (begin < end) use(std::span<const T>(buffer_).subspan(begin - flushed_, end - begin));
  }

  // Writes what is in memory, and gives that memory back; nothing can be added afterwards.
  void seal() {
    while (!buffer_.empty()) flush(std::min(buffer_.size(), kBlock));
    std::vector<T>().swap(buffer_);
    std::vector<T>().swap(block_);
  }
  void free() {  // nothing can be read afterwards
    for (const std::uint64_t offset : blocks_) space_->file().free(offset, offset + ScratchSpace::kBlock);
    std::vector<std::uint64_t>().swap(blocks_);
    std::vector<T>().swap(block_);
  }

 private:
  void flush(std::size_t n) {
    blocks_.push_back(space_->allocate());
    space_->file().write(buffer_.data(), n * sizeof(T), blocks_.back());
    buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(n));
    flushed_ += n;
  }

  ScratchSpace* space_;
  std::size_t flushed_ = 0;
  std::vector<std::uint64_t> blocks_;  // offsets
  std::vector<T> buffer_, block_;
};

}  // namespace loglinear::disk
