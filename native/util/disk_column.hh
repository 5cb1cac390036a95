// Files of 32-bit numbers and of bytes, written from front to back and read again. POSIX.
#pragma once
#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace loglinear {

// Bindings turn this into OSError.
struct IoError : std::runtime_error {
  IoError(int code, const std::string& file)
      : std::runtime_error(file + ": " + std::strerror(code)), number(code), path(file) {}
  int number;
  std::string path;
};

// A new file, open until the object goes.
class ScratchFile {
 public:
  explicit ScratchFile(std::string path)
      : path_(std::move(path)), fd_(open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600)) {
    if (fd_ < 0) throw IoError(errno, path_);
  }
  ~ScratchFile() {
    if (fd_ >= 0) close(fd_);
  }
  ScratchFile(ScratchFile&& other) noexcept : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}
  ScratchFile& operator=(ScratchFile&&) = delete;

  const std::string& path() const { return path_; }
  void remove() const { unlink(path_.c_str()); }

  void write(const void* from, std::size_t n, std::uint64_t offset) const {
    const char* p = static_cast<const char*>(from);
    while (n > 0) {
      const ssize_t done = pwrite(fd_, p, n, static_cast<off_t>(offset));
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) throw IoError(done < 0 ? errno : ENOSPC, path_);
      p += done, n -= static_cast<std::size_t>(done), offset += static_cast<std::uint64_t>(done);
    }
  }
  void read(void* to, std::size_t n, std::uint64_t offset) const {
    char* p = static_cast<char*>(to);
    while (n > 0) {
      const ssize_t done = pread(fd_, p, n, static_cast<off_t>(offset));
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) throw IoError(done < 0 ? errno : EIO, path_);  // shorter than it was written
      p += done, n -= static_cast<std::size_t>(done), offset += static_cast<std::uint64_t>(done);
    }
  }

 private:
  std::string path_;
  int fd_;
};

// Numbers in a file; the last ones are in memory too, since those are what is read most.
class DiskColumn {
 public:
  static constexpr std::size_t kBuffer = 1 << 14;  // numbers: 64 KiB

  explicit DiskColumn(std::string path) : file_(std::move(path)) { buffer_.reserve(kBuffer); }

  std::size_t size() const { return flushed_ + buffer_.size(); }
  void push_back(std::uint32_t value) {
    if (buffer_.size() == kBuffer) flush(kBuffer / 2);
    buffer_.push_back(value);
  }
  void flush() { flush(buffer_.size()); }
  void remove() const { file_.remove(); }

  template <class Use>
  void blocks(std::size_t begin, std::size_t end, Use use) {
    while (begin < end && begin < flushed_) {
      const std::size_t n = std::min({end - begin, flushed_ - begin, kBuffer});
      block_.resize(n);
      file_.read(block_.data(), n * sizeof(std::uint32_t), begin * sizeof(std::uint32_t));
      use(std::span<const std::uint32_t>(block_));
      begin += n;
    }
    if (begin < end) use(std::span<const std::uint32_t>(buffer_).subspan(begin - flushed_, end - begin));
  }

 private:
  void flush(std::size_t n) {
    file_.write(buffer_.data(), n * sizeof(std::uint32_t), flushed_ * sizeof(std::uint32_t));
    flushed_ += n;
    buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(n));
  }

  ScratchFile file_;
  std::size_t flushed_ = 0;
  std::vector<std::uint32_t> buffer_, block_;
};

}  // namespace loglinear
