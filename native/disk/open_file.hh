// A file that others may change while it is open. What is read from it is a copy; a read after a change is refused.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace loglinear::disk {

class OpenFile {
 public:
  OpenFile(int descriptor, std::string name);  // keeps a descriptor of its own; the name is for messages
  ~OpenFile();
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  // Throws InvalidInput where the file has fewer bytes, cannot be read, or is not as it was when it was opened.
  void read(void* to, std::size_t n, std::uint64_t offset) const;

 private:
  struct Version {
    std::int64_t size = 0, seconds = 0, nanoseconds = 0;
    bool operator==(const Version&) const = default;
  };
  Version version() const;

  int fd_;
  std::string name_;
  Version opened_;
};

}  // namespace loglinear::disk
