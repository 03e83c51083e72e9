#include "busbar/base/input.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <streambuf>

#include "busbar/base/embedded.h"
#include "busbar/base/internal/piped_bytes.h"
#include "busbar/base/quantity.h"
#include "busbar/base/run_files.h"
#include "busbar/base/utf8.h"

namespace busbar {
namespace {

/// Reads a pipe from its first byte, independent of what other readers have read.
class PipeBuffer : public std::streambuf {
 public:
  explicit PipeBuffer(std::shared_ptr<PipedBytes> pipe) : pipe_(std::move(pipe)) {}

 protected:
  int_type underflow() override {
    constexpr std::size_t kPiece = 64 << 10;
    piece_ = pipe_->piece(at_, kPiece);
    at_ += piece_.size();
    setg(piece_.data(), piece_.data(), piece_.data() + piece_.size());
    return piece_.empty() ? traits_type::eof() : traits_type::to_int_type(piece_[0]);
  }

 private:
  std::shared_ptr<PipedBytes> pipe_;
  std::string piece_;
  std::size_t at_ = 0;
};

class PipeStream : public std::istream {
 public:
  explicit PipeStream(std::shared_ptr<PipedBytes> pipe) : std::istream(nullptr), buffer_(std::move(pipe)) {
    rdbuf(&buffer_);
  }

 private:
  PipeBuffer buffer_;
};

Error cannot_read(const std::string& name, int code) {
  const Where where{name, 0, 0, ""};
  if (code == ENOENT) return Error{ErrorCode::kNotFound, "cannot be read: there is no such file", where};
  return Error{ErrorCode::kIo, fmt::format("cannot be read: {}", std::strerror(code)), where};
}

Error too_large(const std::string& name, std::uint64_t most) {
  return Error{ErrorCode::kUnsupported,
               fmt::format("is larger than {}; is this the right file?", format_binary_size(most)),
               {name, 0, 0, ""}};
}

bool is_standard_input(const std::string& name) { return name == "-"; }

int stat_of(const std::string& name, struct stat& file) {
  return is_standard_input(name) ? fstat(STDIN_FILENO, &file) : stat(name.c_str(), &file);
}

Result<std::shared_ptr<PipedBytes>> open_pipe(const std::string& name, const struct stat& file) {
  RunFiles* const run = RunFiles::current();
  if (run != nullptr)
    if (auto known = run->pipe_of(file)) return known;
  const int fd = is_standard_input(name) ? STDIN_FILENO : open(name.c_str(), O_RDONLY | O_NOCTTY | O_CLOEXEC);
  if (fd < 0) return cannot_read(name, errno);
  auto pipe = std::make_shared<PipedBytes>(fd);
  if (run != nullptr) run->add_input(name, file, pipe);
  return pipe;
}

Status open_file(const std::string& name, const struct stat& file) {
  const int fd = open(name.c_str(), O_RDONLY | O_CLOEXEC);  // check that it can be opened
  if (fd < 0) return cannot_read(name, errno);
  close(fd);
  if (RunFiles* const run = RunFiles::current()) run->add_input(name, file, nullptr);
  return {};
}

/// All of `in`, but at most one byte more than `most`.
std::string take_all(std::istream& in, std::uint64_t most) {
  constexpr std::uint64_t kPiece = 1 << 20;
  std::string out;
  while (in && out.size() <= most) {
    const std::size_t kept = out.size();
    out.resize(kept + std::min(kPiece, most + 1 - kept));
    in.read(out.data() + kept, static_cast<std::streamsize>(out.size() - kept));
    out.resize(kept + static_cast<std::size_t>(in.gcount()));
  }
  return out;
}

}  // namespace

Result<Input> Input::open(const std::string& name) {
  struct stat file {};
  if (stat_of(name, file) != 0) {
    const int code = errno;
    if (code == ENOENT)
      if (const EmbeddedFile* const embedded = find_embedded_input(name)) return open_embedded(*embedded);
    return cannot_read(name, code);
  }
  if (S_ISDIR(file.st_mode)) return Error{ErrorCode::kIo, "is a folder; name a file", {name, 0, 0, ""}};
  Input input;
  input.name_ = name;
  if (is_standard_input(name) || !S_ISREG(file.st_mode)) {
    BUSBAR_ASSIGN(input.pipe_, open_pipe(name, file));
  } else {
    BUSBAR_RETURN_IF_ERROR(open_file(name, file));
  }
  return input;
}

Input Input::open_embedded(const EmbeddedFile& file) {
  if (RunFiles* const run = RunFiles::current()) run->add_embedded(file);
  Input input;
  input.name_ = file.name;
  input.embedded_ = &file;
  return input;
}

std::unique_ptr<std::istream> Input::stream() const {
  if (embedded_ != nullptr) return std::make_unique<std::istringstream>(std::string(embedded_->text));
  if (pipe_) return std::make_unique<PipeStream>(pipe_);
  return std::make_unique<std::ifstream>(name_, std::ios::binary);
}

Result<std::string> Input::whole(std::uint64_t most) const {
  struct stat file {};
  if (!pipe_ && embedded_ == nullptr && stat(name_.c_str(), &file) == 0 &&
      static_cast<std::uint64_t>(file.st_size) > most)
    return too_large(name_, most);
  const std::unique_ptr<std::istream> in = stream();
  std::string out = take_all(*in, most);
  BUSBAR_RETURN_IF_ERROR(status());
  if (in->bad()) return cannot_read(name_, EIO);
  if (out.size() > most) return too_large(name_, most);
  return out;
}

Status Input::status() const {
  const int code = pipe_ ? pipe_->error() : 0;
  if (code == 0) return {};
  return code == EFBIG ? too_large(name_, kMostInput) : cannot_read(name_, code);
}

bool names_input(const std::string& name) {
  struct stat file {};
  if (stat_of(name, file) != 0) return find_embedded_input(name) != nullptr;
  return !S_ISDIR(file.st_mode) || name.find('/') != std::string::npos;
}

Result<std::string> read_text(const std::string& name, std::uint64_t most) {
  constexpr std::size_t kHead = 4 << 10;
  BUSBAR_ASSIGN(const Input input, Input::open(name));
  std::string head(kHead, ' ');
  head.resize(static_cast<std::size_t>(input.stream()->read(head.data(), kHead).gcount()));
  if (head.find('\0') != std::string::npos)
    if (const auto bad = find_bad_text(head)) return invalid(bad->message, {name, bad->line, bad->column, ""});
  BUSBAR_ASSIGN(std::string text, input.whole(most));
  if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);
  return text;
}

}  // namespace busbar
