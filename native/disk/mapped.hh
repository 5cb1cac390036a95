// Arrays in temporary files, mapped into memory, whose pages the system can drop; and a watch that drops them.
//
// A page that was touched stays with the process until memory is short, which a process that shares its machine must
// not wait for: a PageWatch drops the pages of all mapped arrays whenever the process holds more than it may. Nothing
// is lost by that: a page that is touched again comes back from the file or the system's cache of it.
#pragma once
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include "disk/scratch.hh"

namespace loglinear::disk {

// Bytes of a temporary file in memory, and known to every PageWatch while it lives.
class MappedFile {
 public:
  MappedFile() = default;
  MappedFile(const std::string& folder, std::size_t n_bytes);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  void* data() const { return data_; }
  void reserve(std::size_t begin, std::size_t end);  // must come before bytes are written; throws IoError
  void free(std::size_t begin, std::size_t end);     // see ScratchFile

 private:
  void* data_ = nullptr;
  std::size_t n_bytes_ = 0;
  std::unique_ptr<ScratchFile> file_;
};

template <class T>
class MappedArray {
 public:
  using value_type = T;
  MappedArray() = default;
  // With `reserve`, the disk for all of it is taken at once.
  MappedArray(const std::string& folder, std::size_t n, bool reserve = true) : file_(folder, n * sizeof(T)), size_(n) {
    if (reserve) this->reserve(0, n);
  }
  MappedArray(MappedArray&& other) noexcept : file_(std::move(other.file_)), size_(std::exchange(other.size_, 0)) {}
  MappedArray& operator=(MappedArray&& other) noexcept {
    file_ = std::move(other.file_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

  T* data() const { return static_cast<T*>(file_.data()); }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) const { return data()[i]; }
  operator std::span<const T>() const { return {data(), size_}; }
  operator std::span<T>() const { return {data(), size_}; }
  void reserve(std::size_t begin, std::size_t end) { file_.reserve(begin * sizeof(T), end * sizeof(T)); }
  void free(std::size_t begin, std::size_t end) { file_.free(begin * sizeof(T), end * sizeof(T)); }

 private:
  MappedFile file_;
  std::size_t size_ = 0;
};

// Bytes of memory that the process holds now, mapped pages included; 0 where the system does not say.
std::size_t resident_bytes();

// Gives up the pages of all mapped arrays.
void drop_mapped_pages();

// While it lives, a thread keeps the resident bytes below a limit as far as mapped pages make the difference.
class PageWatch {
 public:
  explicit PageWatch(std::size_t limit);
  ~PageWatch();
  PageWatch(const PageWatch&) = delete;
  PageWatch& operator=(const PageWatch&) = delete;

 private:
  void watch();
  std::size_t limit_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace loglinear::disk
