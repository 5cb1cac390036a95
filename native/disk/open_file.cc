#include "disk/open_file.hh"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "util/errors.hh"

namespace loglinear::disk {

OpenFile::OpenFile(int descriptor, std::string name)
    : fd_(fcntl(descriptor, F_DUPFD_CLOEXEC, 0)), name_(std::move(name)) {
  if (fd_ < 0) throw InvalidInput(name_ + ": cannot be kept open: " + std::strerror(errno));
  try {
    opened_ = version();
  } catch (...) {  // the destructor of what was not made does not run
    close(fd_);
    throw;
  }
}

OpenFile::~OpenFile() {
  if (fd_ >= 0) close(fd_);
}

OpenFile::Version OpenFile::version() const {
  struct stat found;
  if (fstat(fd_, &found) != 0) throw InvalidInput(name_ + ": cannot be read: " + std::strerror(errno));
#ifdef __APPLE__
  const timespec time = found.st_mtimespec;
#else
  const timespec time = found.st_mtim;
#endif
  return {found.st_size, time.tv_sec, time.tv_nsec};
}

void OpenFile::read(void* to, std::size_t n, std::uint64_t offset) const {
  char* p = static_cast<char*>(to);
  while (n > 0) {
    const ssize_t done = pread(fd_, p, n, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) throw InvalidInput(name_ + ": cannot be read: " + std::strerror(errno));
    if (done == 0) break;
    p += done, n -= static_cast<std::size_t>(done), offset += static_cast<std::uint64_t>(done);
  }
  if (n > 0 || version() != opened_)
    throw InvalidInput(name_ + ": the file was changed after it was opened; load it again, and replace files by renaming");
}

}  // namespace loglinear::disk
