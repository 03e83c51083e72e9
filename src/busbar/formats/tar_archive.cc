#include "busbar/formats/tar_archive.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "busbar/base/check.h"
#include "busbar/base/text.h"

namespace busbar {
namespace {

constexpr std::size_t kBlock = 512;
constexpr std::size_t kLongestName = 64 << 10;
constexpr std::uint64_t kLargest = std::uint64_t{1} << 50;
// Places of the fields, in bytes.
constexpr std::size_t kSize = 124, kSum = 148, kType = 156, kMagic = 257, kPrefix = 345;

std::string_view field(std::string_view block, std::size_t at, std::size_t length) {
  const std::string_view whole = block.substr(at, length);
  return whole.substr(0, whole.find('\0'));
}

/// Octal digits between blanks; `most` for anything else.
std::uint64_t octal(std::string_view text, std::uint64_t otherwise) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == text.npos) return otherwise;
  text = text.substr(first, text.find_first_of(" ", first) - first);
  std::uint64_t out = 0;
  return is_number(text, out, 8) ? out : otherwise;
}

/// The sum of all bytes, those of the sum itself counted as blanks.
std::uint64_t sum_of(std::string_view block) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kBlock; ++i)
    sum += i >= kSum && i < kSum + 8 ? std::uint64_t{' '} : static_cast<unsigned char>(block[i]);
  return sum;
}

bool is_header(std::string_view block) {
  return block.size() >= kBlock && octal(field(block, kSum, 8), kLargest) == sum_of(block);
}

/// The value of "path" in the records "LENGTH KEY=VALUE\n" of pax.
std::string pax_path(std::string_view records) {
  for (const std::string_view line : split_at(records, '\n'))
    if (const std::size_t at = line.find(" path="); at != line.npos) return std::string(line.substr(at + 6));
  return {};
}

}  // namespace

/// Reads no further than the file.
class TarContent : public std::streambuf {
 public:
  explicit TarContent(TarReader& reader) : reader_(reader), buffer_(64 << 10) {}

 protected:
  int_type underflow() override {
    const auto want = std::min<std::uint64_t>(reader_.left_, buffer_.size());
    reader_.in_.read(buffer_.data(), static_cast<std::streamsize>(want));
    const auto got = static_cast<std::size_t>(reader_.in_.gcount());
    reader_.left_ -= got;
    if (got == 0) return traits_type::eof();
    setg(buffer_.data(), buffer_.data(), buffer_.data() + got);
    return traits_type::to_int_type(buffer_[0]);
  }

 private:
  TarReader& reader_;
  std::vector<char> buffer_;
};

namespace {

class TarStream : public std::istream {
 public:
  explicit TarStream(std::unique_ptr<TarContent> content) : std::istream(content.get()), content_(std::move(content)) {}

 private:
  std::unique_ptr<TarContent> content_;
};

}  // namespace

bool looks_like_tar(std::string_view head) {
  return head.size() >= kBlock && head.substr(kMagic, 5) == "ustar" && is_header(head.substr(0, kBlock));
}

Error TarReader::broken(std::string what) const { return invalid(std::move(what), {archive_, 0, 0, ""}); }

Status TarReader::skip_rest() {
  const std::uint64_t rest = left_ + padding_;
  left_ = padding_ = 0;
  in_.ignore(static_cast<std::streamsize>(rest));
  if (static_cast<std::uint64_t>(in_.gcount()) != rest)
    return broken(fmt::format("the archive ends within {}; copy it again", name_));
  return {};
}

Result<std::string> TarReader::short_content() {
  if (size_ > kLongestName) return broken(fmt::format("a name has {} bytes", size_));
  std::string out(size_, '\0');
  in_.read(out.data(), static_cast<std::streamsize>(size_));
  left_ -= static_cast<std::uint64_t>(in_.gcount());
  return out;
}

Result<bool> TarReader::next() {
  std::string long_name;
  while (true) {
    BUSBAR_RETURN_IF_ERROR(skip_rest());
    std::array<char, kBlock> bytes{};
    in_.read(bytes.data(), kBlock);
    const auto got = static_cast<std::size_t>(in_.gcount());
    const std::string_view block(bytes.data(), got);
    if (got == 0 || (got == kBlock && block.find_first_not_of('\0') == block.npos)) return false;
    if (!is_header(block)) return broken("is a broken archive of tar; copy it again");
    size_ = octal(field(block, kSize, 12), kLargest);
    if (size_ >= kLargest) return broken("is an archive of tar with a file of unknown size");
    left_ = size_;
    padding_ = (kBlock - size_ % kBlock) % kBlock;
    const char type = block[kType];
    if (type == 'L' || type == 'x') {
      BUSBAR_ASSIGN(const std::string text, short_content());
      long_name = type == 'x' ? pax_path(text) : text.substr(0, text.find('\0'));
      continue;
    }
    const std::string_view prefix = field(block, kPrefix, 155);
    name_ = (prefix.empty() ? "" : std::string(prefix) + "/") + std::string(field(block, 0, 100));
    if (!long_name.empty()) name_ = std::exchange(long_name, {});
    if (type == '0' || type == '\0') return true;
  }
}

std::unique_ptr<std::istream> TarReader::content() {
  return std::make_unique<TarStream>(std::make_unique<TarContent>(*this));
}

void append_tar(std::string& archive, std::string_view name, std::string_view text) {
  BUSBAR_CHECK(!name.empty() && name.size() <= 100) << name;
  std::string head(kBlock, '\0');
  const auto put = [&](std::size_t at, std::string_view value) {
    std::copy(value.begin(), value.end(), head.begin() + static_cast<std::ptrdiff_t>(at));
  };
  put(0, name);
  put(100, "0000644");
  put(108, "0000000");
  put(116, "0000000");
  put(kSize, fmt::format("{:011o}", text.size()));
  put(136, "00000000000");
  head[kType] = '0';
  put(kMagic, std::string_view("ustar\00000", 8));
  put(kSum, fmt::format("{:06o}", sum_of(head)));
  head[kSum + 7] = ' ';
  archive += head;
  archive += text;
  archive.append((kBlock - text.size() % kBlock) % kBlock, '\0');
}

void finish_tar(std::string& archive) { archive.append(2 * kBlock, '\0'); }

}  // namespace busbar
