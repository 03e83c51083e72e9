#include "busbar/base/input.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <streambuf>

#include "busbar/base/embedded.h"
#include "busbar/base/internal/piped_bytes.h"
#include "busbar/base/internal/utf16.h"
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

Error within_archive(const std::string& name) {
  return invalid("is an archive within an archive; unpack it first", {name, 0, 0, ""});
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

constexpr std::size_t kSignature = 512;  ///< of the beginning that shows how a file is packed

struct MemberName {
  std::string archive, file;
};

/// Whether it is worth a look: a file that looks packed, or a pipe.
bool may_hold_files(const std::string& name, const struct stat& file) {
  if (!S_ISREG(file.st_mode)) return !S_ISDIR(file.st_mode);
  std::string head(kSignature, '\0');
  std::ifstream(name, std::ios::binary).read(head.data(), kSignature);
  return looks_compressed(head) || looks_like_archive(head);
}

/// "logs.tar:node1.log" where logs.tar may hold files and no file has the whole name.
std::optional<MemberName> member_named(const std::string& name) {
  struct stat file {};
  if (stat_of(name, file) == 0) return std::nullopt;
  for (std::size_t at = name.find(':'); at != name.npos; at = name.find(':', at + 1)) {
    const std::string archive = name.substr(0, at);
    if (!archive.empty() && stat_of(archive, file) == 0 && may_hold_files(archive, file))
      return MemberName{archive, name.substr(at + 1)};
  }
  return std::nullopt;
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

Result<Input> Input::open_bytes(const std::string& name) {
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
  input.recognise();
  return input;
}

Input Input::open_embedded(const EmbeddedFile& file) {
  if (RunFiles* const run = RunFiles::current()) run->add_embedded(file);
  Input input;
  input.name_ = file.name;
  input.embedded_ = &file;
  return input;
}

/// Sets what the first bytes say.
void Input::recognise() {
  std::string first = head();
  compressed_ = looks_compressed(first);
  if (compressed_ && !failure_) failure_ = std::make_shared<UnpackFailure>();
  if (compressed_) first = head();
  holds_files_ = looks_like_archive(first);
  utf16_ = looks_like_utf16(first);
}

std::string Input::head() const {
  std::string out(kSignature, '\0');
  out.resize(static_cast<std::size_t>(stream()->read(out.data(), kSignature).gcount()));
  return out;
}

Input Input::from_archive(const Input& archive, ArchiveFiles& files) {
  Input out;
  out.name_ = archive.name_ + ":" + files.name();
  out.archive_ = archive.name_;
  out.failure_ = std::make_shared<UnpackFailure>();
  out.pipe_ = std::make_shared<PipedBytes>(files.content(out.failure_));
  out.recognise();
  return out;
}

Result<Input> Input::file_of(const Input& archive, const std::string& file) {
  ArchiveFiles files(archive.stream());
  while (true) {
    Result<bool> more = files.next();
    if (!more.ok()) return invalid(more.error().message, {archive.name_, 0, 0, ""});
    if (!*more) return Error{ErrorCode::kNotFound, "holds no file " + file, {archive.name_, 0, 0, ""}};
    if (files.name() == file) return from_archive(archive, files);
  }
}

Result<Input> Input::only_file(const Input& archive) {
  const Where where{archive.name_, 0, 0, ""};
  ArchiveFiles files(archive.stream());
  Result<bool> more = files.next();
  if (!more.ok()) return invalid(more.error().message, where);
  if (!*more) return invalid("is an archive without a file in it", where);
  const std::string first = files.name();
  more = files.next();
  if (!more.ok() || !*more) return file_of(archive, first);
  return invalid(
      fmt::format("is an archive of several files; name one, such as {}:{}, or give all to busbar doctor, expect or "
                  "import",
                  archive.name_, first),
      where);
}

Result<Input> Input::open(const std::string& name) {
  const std::optional<MemberName> member = member_named(name);
  BUSBAR_ASSIGN(Input input, open_bytes(member ? member->archive : name));
  if (!input.holds_files_) return member ? Result<Input>(cannot_read(name, ENOENT)) : Result<Input>(std::move(input));
  BUSBAR_ASSIGN(Input file, member ? file_of(input, member->file) : only_file(input));
  if (file.holds_files_) return within_archive(file.name_);
  return file;
}

std::unique_ptr<std::istream> Input::stream() const {
  if (embedded_ != nullptr) return std::make_unique<std::istringstream>(std::string(embedded_->text));
  std::unique_ptr<std::istream> in;
  if (pipe_)
    in = std::make_unique<PipeStream>(pipe_);
  else
    in = std::make_unique<std::ifstream>(name_, std::ios::binary);
  if (compressed_) in = unpack(std::move(in), failure_);
  if (utf16_) in = utf8_of_utf16(std::move(in));
  return in;
}

Result<std::string> Input::whole(std::uint64_t most) const {
  struct stat file {};
  if (!pipe_ && !compressed_ && embedded_ == nullptr && stat(name_.c_str(), &file) == 0 &&
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
  if (failure_) BUSBAR_RETURN_IF_ERROR(status_of(*failure_, name_));
  const int code = pipe_ ? pipe_->error() : 0;
  if (code == 0) return {};
  return code == EFBIG ? too_large(name_, kMostInput) : cannot_read(name_, code);
}

Result<InputFiles> InputFiles::open(const std::string& name) {
  namespace fs = std::filesystem;
  InputFiles out;
  std::error_code failed;
  out.folder_ = fs::is_directory(name, failed);
  if (!out.folder_) {
    out.names_ = {name};
    return out;
  }
  for (fs::recursive_directory_iterator it(name, fs::directory_options::skip_permission_denied, failed), end;
       !failed && it != end; it.increment(failed)) {
    std::error_code ignored;
    if (it->is_regular_file(ignored)) out.names_.push_back(it->path().string());
  }
  if (failed) return Error{ErrorCode::kIo, failed.message(), {name, 0, 0, ""}};
  if (out.names_.empty() && access(name.c_str(), R_OK | X_OK) != 0) return cannot_read(name, errno);
  if (out.names_.empty()) return Error{ErrorCode::kNotFound, "no file is in this folder", {name, 0, 0, ""}};
  std::sort(out.names_.rbegin(), out.names_.rend());
  return out;
}

Result<std::optional<Input>> InputFiles::next_of_archive() {
  const Result<bool> more = archive_->next();
  std::optional<Input> file;
  if (more.ok() && *more) file = Input::from_archive(*holder_, *archive_);
  if (file && file->holds_files_) return within_archive(file->name_);
  if (!file) archive_.reset();
  if (!more.ok()) return invalid(more.error().message, {holder_->name_, 0, 0, ""});
  return file;
}

Result<std::optional<Input>> InputFiles::next() {
  if (archive_) {
    BUSBAR_ASSIGN(std::optional<Input> file, next_of_archive());
    if (file) return file;
  }
  if (names_.empty()) return std::optional<Input>();
  const std::string name = std::move(names_.back());
  names_.pop_back();
  if (member_named(name)) {
    BUSBAR_ASSIGN(Input file, Input::open(name));
    return std::optional<Input>(std::move(file));
  }
  BUSBAR_ASSIGN(Input file, Input::open_bytes(name));
  if (!file.holds_files_) return std::optional<Input>(std::move(file));
  archive_.emplace(file.stream());
  holder_ = std::move(file);
  BUSBAR_ASSIGN(std::optional<Input> first, next_of_archive());
  if (!first) return invalid("is an archive without a file in it", {name, 0, 0, ""});
  return first;
}

bool names_input(const std::string& name) {
  struct stat file {};
  if (stat_of(name, file) != 0) {
    const int code = errno;
    if (code == ELOOP || code == EACCES) return true;  // ENAMETOOLONG: a machine written out, "{name: ...}"
    return find_embedded_input(name) != nullptr || member_named(name).has_value();
  }
  return !S_ISDIR(file.st_mode) || name.find('/') != std::string::npos;
}

Result<std::string> read_text(const std::string& name, std::uint64_t most) {
  BUSBAR_ASSIGN(const Input input, Input::open(name));
  return read_text(input, most);
}

Result<std::string> read_text(const Input& input, std::uint64_t most) {
  constexpr std::size_t kHead = 4 << 10;
  std::string head(kHead, ' ');
  head.resize(static_cast<std::size_t>(input.stream()->read(head.data(), kHead).gcount()));
  if (head.find('\0') != std::string::npos)
    if (const auto bad = find_bad_text(head)) return invalid(bad->message, {input.name(), bad->line, bad->column, ""});
  BUSBAR_ASSIGN(std::string text, input.whole(most));
  if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);
  return text;
}

}  // namespace busbar
