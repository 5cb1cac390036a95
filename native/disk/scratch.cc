#include "disk/scratch.hh"

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace loglinear::disk {

namespace {

int open_unnamed(const std::string& folder) {
#ifdef O_TMPFILE
  if (const int fd = open(folder.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0600); fd >= 0) return fd;
#endif
  std::string path = folder + "/loglinear-XXXXXX";  // where the system or the disk has no unnamed files
  const int fd = mkstemp(path.data());
  if (fd < 0) throw IoError(errno, folder);
  unlink(path.c_str());
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  return fd;
}

}  // namespace

ScratchFile::ScratchFile(std::string folder) : folder_(std::move(folder)), fd_(open_unnamed(folder_)) {}

ScratchFile::~ScratchFile() {
  if (fd_ >= 0) close(fd_);
}

void ScratchFile::write(const void* from, std::size_t n, std::uint64_t offset) const {
  const char* p = static_cast<const char*>(from);
  while (n > 0) {
    const ssize_t done = pwrite(fd_, p, n, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) throw IoError(done < 0 ? errno : ENOSPC, folder_);
    p += done, n -= static_cast<std::size_t>(done), offset += static_cast<std::uint64_t>(done);
  }
}

void ScratchFile::read(void* to, std::size_t n, std::uint64_t offset) const {
  char* p = static_cast<char*>(to);
  while (n > 0) {
    const ssize_t done = pread(fd_, p, n, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) throw IoError(done < 0 ? errno : EIO, folder_);  // shorter than it was written
    p += done, n -= static_cast<std::size_t>(done), offset += static_cast<std::uint64_t>(done);
  }
}

void ScratchFile::resize(std::uint64_t n) const {
  if (ftruncate(fd_, static_cast<off_t>(n)) != 0) throw IoError(errno, folder_);
}

void ScratchFile::reserve(std::uint64_t begin, std::uint64_t end) const {
  if (begin >= end) return;
#ifdef __APPLE__
  // F_PREALLOCATE adds to the end of a file only: zeros are written instead.
  const std::vector<char> zeros(1 << 20, 0);
  for (std::uint64_t at = begin; at < end; at += zeros.size())
    write(zeros.data(), static_cast<std::size_t>(std::min<std::uint64_t>(zeros.size(), end - at)), at);
#else
  int code;
  do code = posix_fallocate(fd_, static_cast<off_t>(begin), static_cast<off_t>(end - begin));
  while (code == EINTR);
  if (code != 0) throw IoError(code, folder_);
#endif
}

void ScratchFile::free(std::uint64_t begin, std::uint64_t end) const {
  constexpr std::uint64_t kPage = 4096;
  begin = (begin + kPage - 1) / kPage * kPage, end = end / kPage * kPage;
  if (begin >= end) return;
#if defined(__APPLE__) && defined(F_PUNCHHOLE)
  fpunchhole_t hole{0, 0, static_cast<off_t>(begin), static_cast<off_t>(end - begin)};
  (void)fcntl(fd_, F_PUNCHHOLE, &hole);
#elif defined(FALLOC_FL_PUNCH_HOLE)
  (void)!fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(begin),
                   static_cast<off_t>(end - begin));
#endif
}

}  // namespace loglinear::disk
