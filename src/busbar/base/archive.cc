#include "busbar/base/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/core.h>

#include <algorithm>
#include <streambuf>

#include "busbar/base/check.h"

namespace busbar {

/// libarchive's reader over a stream, with a limit on the bytes that it gives.
class OpenArchive {
 public:
  enum class Kind : std::uint8_t { kCompressed, kFiles };
  OpenArchive(std::unique_ptr<std::istream> packed, std::uint64_t most, Kind kind)
      : packed_(std::move(packed)), most_(most), piece_(kPiece), archive_(archive_read_new()) {
    if (kind == Kind::kFiles) {
      archive_read_support_format_tar(archive_);
      archive_read_support_format_zip_streamable(archive_);
    } else {
      archive_read_support_filter_gzip(archive_);
      archive_read_support_filter_bzip2(archive_);
      archive_read_support_filter_xz(archive_);
      archive_read_support_filter_zstd(archive_);
      archive_read_support_format_raw(archive_);
    }
    archive_read_support_format_empty(archive_);
    open_ = archive_read_open(archive_, this, nullptr, &OpenArchive::read_packed, nullptr) == ARCHIVE_OK;
  }
  ~OpenArchive() { archive_read_free(archive_); }
  OpenArchive(const OpenArchive&) = delete;
  OpenArchive& operator=(const OpenArchive&) = delete;

  /// The next entry; null at the end or after a failure.
  archive_entry* next() {
    if (!open_) return stop();
    skip_rest();
    if (!failure_.empty()) return nullptr;
    archive_entry* entry = nullptr;
    const int code = archive_read_next_header(archive_, &entry);
    if (code == ARCHIVE_EOF) return nullptr;
    ++entry_;
    return code < ARCHIVE_WARN ? stop() : entry;
  }
  std::size_t entry() const { return entry_; }  ///< number of the current one
  /// Whether a filter unpacks: a few bytes that only begin like compressed data pass libarchive as they are.
  bool is_compressed() const { return archive_filter_count(archive_) > 1; }

  /// Bytes of the current entry; 0 at its end or after a failure.
  std::size_t read(char* to, std::size_t size) {
    const la_ssize_t got = failure_.empty() ? archive_read_data(archive_, to, size) : 0;
    if (got < 0) stop();
    count(static_cast<std::uint64_t>(std::max<la_ssize_t>(got, 0)));
    return failure_.empty() ? static_cast<std::size_t>(got) : 0;
  }
  const std::string& failure() const { return failure_; }
  void fail(std::string why) { failure_ = std::move(why); }

 private:
  static constexpr std::size_t kPiece = 64 << 10;

  static la_ssize_t read_packed(archive*, void* self, const void** bytes) {
    auto& a = *static_cast<OpenArchive*>(self);
    a.packed_->read(a.piece_.data(), static_cast<std::streamsize>(a.piece_.size()));
    *bytes = a.piece_.data();
    return static_cast<la_ssize_t>(a.packed_->gcount());
  }

  archive_entry* stop() {
    const char* const why = archive_error_string(archive_);
    fail(fmt::format("unpacking stopped after {} bytes: {}; copy the file again", given_,
                     why != nullptr ? why : "the data is broken"));
    return nullptr;
  }

  /// Reads on to the end of the entry, in pieces that count.
  void skip_rest() {
    const void* bytes = nullptr;
    std::size_t size = 0;
    la_int64_t at = 0;
    while (entry_ > 0 && failure_.empty() && archive_read_data_block(archive_, &bytes, &size, &at) == ARCHIVE_OK) count(size);
  }

  void count(std::uint64_t bytes) {
    given_ += bytes;
    if (given_ > most_) fail(fmt::format("unpacks to more than {} bytes; unpack it first", most_));
  }

  std::unique_ptr<std::istream> packed_;
  const std::uint64_t most_;
  std::vector<char> piece_;
  archive* const archive_;
  std::uint64_t given_ = 0;
  std::size_t entry_ = 0;
  bool open_ = false;
  std::string failure_;
};

namespace {

class EntryBuffer : public std::streambuf {
 public:
  EntryBuffer(std::shared_ptr<OpenArchive> archive, std::shared_ptr<UnpackFailure> failure)
      : archive_(std::move(archive)), entry_(archive_->entry()), failure_(std::move(failure)), piece_(64 << 10) {}

 protected:
  int_type underflow() override {
    const std::size_t got = archive_->entry() == entry_ ? archive_->read(piece_.data(), piece_.size()) : 0;
    if (got == 0) {
      failure_->message = archive_->failure();
      return traits_type::eof();
    }
    setg(piece_.data(), piece_.data(), piece_.data() + got);
    return traits_type::to_int_type(piece_[0]);
  }

 private:
  std::shared_ptr<OpenArchive> archive_;
  const std::size_t entry_;
  std::shared_ptr<UnpackFailure> failure_;
  std::vector<char> piece_;
};

class EntryStream : public std::istream {
 public:
  EntryStream(std::shared_ptr<OpenArchive> archive, std::shared_ptr<UnpackFailure> failure)
      : std::istream(nullptr), buffer_(std::move(archive), std::move(failure)) {
    rdbuf(&buffer_);
  }

 private:
  EntryBuffer buffer_;
};

std::string name_of_entry(archive_entry* entry, std::size_t number) {
  const char* name = archive_entry_pathname(entry);
  if (name == nullptr) name = archive_entry_pathname_utf8(entry);
  return name != nullptr ? std::string(name) : fmt::format("file {}", number);
}

bool is_regular(archive_entry* entry) {
  return archive_entry_filetype(entry) == AE_IFREG && archive_entry_hardlink(entry) == nullptr;
}

/// libarchive hands its bytes to this.
la_ssize_t append_piece(archive*, void* out, const void* bytes, std::size_t size) {
  static_cast<std::string*>(out)->append(static_cast<const char*>(bytes), size);
  return static_cast<la_ssize_t>(size);
}

}  // namespace

Status status_of(const UnpackFailure& failure, const std::string& name) {
  if (failure.message.empty()) return {};
  return invalid(failure.message, {name, 0, 0, ""});
}

// Sources of the signatures: RFC 1952; RFC 8878; the .xz file format 1.2.1; bzip2 1.0.8, compress.c.
bool looks_compressed(std::string_view head) {
  return head.starts_with("\x1f\x8b") || head.starts_with("\x28\xb5\x2f\xfd") ||
         head.starts_with(std::string_view("\xfd\x37zXZ\0", 6)) ||
         (head.starts_with("BZh") && head.substr(4).starts_with("1AY&SY"));
}

// Sources: POSIX.1-2017, pax, "ustar Interchange Format"; PKWARE, .ZIP File Format Specification 6.3.10.
bool looks_like_archive(std::string_view head) {
  constexpr std::size_t kMagic = 257;
  return (head.size() > kMagic && head.substr(kMagic, 5) == "ustar") || head.starts_with("PK\x03\x04") ||
         head.starts_with("PK\x05\x06");
}

std::unique_ptr<std::istream> unpack(std::unique_ptr<std::istream> packed, std::shared_ptr<UnpackFailure> failure,
                                     std::uint64_t most) {
  auto archive = std::make_shared<OpenArchive>(std::move(packed), most, OpenArchive::Kind::kCompressed);
  if (archive->next() != nullptr && !archive->is_compressed())
    archive->fail("begins like packed data and is none, or is cut; copy the file again");
  failure->message = archive->failure();
  return std::make_unique<EntryStream>(std::move(archive), std::move(failure));
}

ArchiveFiles::ArchiveFiles(std::unique_ptr<std::istream> archive, std::uint64_t most)
    : archive_(std::make_shared<OpenArchive>(std::move(archive), most, OpenArchive::Kind::kFiles)) {}
ArchiveFiles::~ArchiveFiles() = default;
ArchiveFiles::ArchiveFiles(ArchiveFiles&&) noexcept = default;

Result<bool> ArchiveFiles::next() {
  while (archive_entry* const entry = archive_->next()) {
    if (!is_regular(entry)) continue;
    if (++files_ > kMostFiles) return invalid(fmt::format("holds more than {} files; unpack it first", kMostFiles), {});
    name_ = name_of_entry(entry, files_);
    return true;
  }
  if (!archive_->failure().empty()) return invalid(archive_->failure(), {});
  return false;
}

std::unique_ptr<std::istream> ArchiveFiles::content(std::shared_ptr<UnpackFailure> failure) {
  return std::make_unique<EntryStream>(archive_, std::move(failure));
}

std::string write_archive(const std::vector<std::pair<std::string, std::string>>& files, bool gzip) {
  constexpr int kRights = 0644;
  std::string out;
  const std::unique_ptr<archive, int (*)(archive*)> a(archive_write_new(), archive_write_free);
  archive_write_set_format_ustar(a.get());
  if (gzip) {
    archive_write_add_filter_gzip(a.get());
    archive_write_set_filter_option(a.get(), "gzip", "timestamp", nullptr);  // none
  }
  archive_write_set_bytes_in_last_block(a.get(), 1);
  BUSBAR_CHECK(archive_write_open(a.get(), &out, nullptr, append_piece, nullptr) == ARCHIVE_OK);
  for (const auto& [name, text] : files) {
    const std::unique_ptr<archive_entry, void (*)(archive_entry*)> entry(archive_entry_new(), archive_entry_free);
    archive_entry_set_pathname(entry.get(), name.c_str());
    archive_entry_set_filetype(entry.get(), AE_IFREG);
    archive_entry_set_perm(entry.get(), kRights);
    archive_entry_set_size(entry.get(), static_cast<la_int64_t>(text.size()));
    archive_entry_set_mtime(entry.get(), 0, 0);
    BUSBAR_CHECK(archive_write_header(a.get(), entry.get()) == ARCHIVE_OK) << name;
    BUSBAR_CHECK(archive_write_data(a.get(), text.data(), text.size()) == static_cast<la_ssize_t>(text.size())) << name;
  }
  BUSBAR_CHECK(archive_write_close(a.get()) == ARCHIVE_OK);
  return out;
}

}  // namespace busbar
