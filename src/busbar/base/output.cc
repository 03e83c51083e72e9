#include "busbar/base/output.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "busbar/base/check.h"
#include "busbar/base/run_files.h"

namespace busbar {
namespace {

Error cannot_write(const std::string& name, int code) {
  return Error{ErrorCode::kIo, fmt::format("cannot be written: {}", std::strerror(code)), {name, 0, 0, ""}};
}
Error refused(const std::string& name, std::string why) { return invalid(std::move(why), {name, 0, 0, ""}); }

/// 0, or errno.
int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno == EAGAIN) {  // another process has made the pipe non-blocking
      pollfd wait{fd, POLLOUT, 0};
      poll(&wait, 1, -1);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

/// Writes all bytes and closes. 0, or errno.
int write_and_close(int fd, std::string_view bytes) {
  const int failed = write_all(fd, bytes);
  const int closed = close(fd) == 0 ? 0 : errno;
  return failed != 0 ? failed : closed;
}

/// For pipes and devices, which a file cannot replace.
Status write_directly(const std::string& name, std::string_view bytes) {
  const int fd = open(name.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC);
  const int failed = fd < 0 ? errno : write_and_close(fd, bytes);
  return failed == 0 || failed == EPIPE ? Status() : cannot_write(name, failed);
}

/// `name` with symbolic links followed, so that the links remain and point to the new contents.
std::string target_of(const std::string& name) {
  char* const resolved = realpath(name.c_str(), nullptr);
  std::string out = resolved == nullptr ? name : resolved;
  std::free(resolved);
  return out;
}

/// Access rights of a new file.
mode_t usual_mode() {
  const mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

Status replace_file(const std::string& name, std::string_view bytes, mode_t mode) {
  const std::string target = target_of(name);
  std::string draft = target.substr(0, target.rfind('/') + 1) + ".busbar-XXXXXX";
  const int fd = mkstemp(draft.data());
  if (fd < 0) return cannot_write(name, errno);
  int failed = fchmod(fd, mode) == 0 ? 0 : errno;
  struct stat file {};
  if (failed == 0 && fstat(fd, &file) != 0) failed = errno;
  if (const int code = write_and_close(fd, bytes); failed == 0) failed = code;
  if (failed == 0 && rename(draft.c_str(), target.c_str()) != 0) failed = errno;
  if (failed != 0) {
    unlink(draft.c_str());
    return cannot_write(name, failed);
  }
  if (RunFiles* const run = RunFiles::current()) run->add_output(file);
  return {};
}

}  // namespace

Status write_file(const std::string& name, std::string_view bytes) {
  if (name == "-") return refused(name, "is standard input; name a file, or /dev/stdout");
  struct stat file {
  }, out{};
  if (stat(name.c_str(), &file) != 0)
    return errno == ENOENT ? replace_file(name, bytes, usual_mode()) : cannot_write(name, errno);
  if (S_ISDIR(file.st_mode)) return refused(name, "is a folder; name a file");
  if (!S_ISREG(file.st_mode)) return write_directly(name, bytes);
  const bool stdout_too = fstat(STDOUT_FILENO, &out) == 0 && out.st_dev == file.st_dev && out.st_ino == file.st_ino;
  if (stdout_too && name.starts_with("/dev/")) return write_stdout(bytes);
  if (stdout_too) return refused(name, "is already the target of standard output; name another file");
  if (const RunFiles* const run = RunFiles::current())
    if (std::string why = run->why_not_write(file); !why.empty()) return refused(name, std::move(why));
  if (access(name.c_str(), W_OK) != 0) return cannot_write(name, errno);
  return replace_file(name, bytes, file.st_mode & 07777);
}

Status write_stdout(std::string_view bytes) {
  const int failed = write_all(STDOUT_FILENO, bytes);
  if (failed == 0 || failed == EPIPE) return {};
  return Error{ErrorCode::kIo, std::strerror(failed), {"stdout", 0, 0, ""}};
}

}  // namespace busbar
