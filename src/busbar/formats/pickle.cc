#include "busbar/formats/internal/pickle.h"

#include <fmt/core.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <unordered_map>
#include <vector>

#include "busbar/base/text.h"

namespace busbar::formats {
namespace {

constexpr std::size_t kMostValues = 4'000'000;
constexpr int kDeepest = 64;

using Id = std::uint32_t;
enum class Shape : std::uint8_t { kScalar, kList, kDict, kMaker };

/// A value of the machine. Lists and dictionaries (keys and values in turn) name others, so shared ones exist once.
struct Cell {
  Shape shape = Shape::kScalar;
  Json scalar;
  std::vector<Id> items;
};

/// The stack machine of pickle, with the opcodes that build data.
class Machine {
 public:
  Machine(std::string_view bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  Result<Json> run(std::string_view left_out) {
    while (true) {
      if (at_ >= bytes_.size()) return cut();
      opcode_ = static_cast<unsigned char>(bytes_[at_]);
      place_ = at_++;
      if (opcode_ == '.') break;
      BUSBAR_RETURN_IF_ERROR(step());
      if (cells_.size() > kMostValues) return error("has above 4 million values");
    }
    if (stack_.size() != 1) return error("ends with other than one value");
    left_out_ = left_out;
    return to_json(stack_.back(), 0);
  }

 private:
  Error error(const std::string& what) const {
    return invalid(fmt::format("byte {}: {}", place_, what), {name_, 0, 0, ""});
  }
  Error cut() const {
    return invalid(fmt::format("byte {}: the pickle ends too early; copy it again", at_), {name_, 0, 0, ""});
  }

  Result<std::uint64_t> number(std::size_t width) {  // little-endian
    if (bytes_.size() - at_ < width) return cut();
    std::uint64_t out = 0;
    for (std::size_t i = 0; i < width; ++i)
      out |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes_[at_ + i])) << (8 * i);
    at_ += width;
    return out;
  }
  Result<std::string_view> piece(std::uint64_t size) {
    if (bytes_.size() - at_ < size) return cut();
    at_ += size;
    return bytes_.substr(at_ - size, size);
  }

  void push(Json value) { push_cell({Shape::kScalar, std::move(value), {}}); }
  void push_cell(Cell cell) {
    cells_.push_back(std::move(cell));
    stack_.push_back(static_cast<Id>(cells_.size() - 1));
  }

  /// The values above the last mark, which go.
  Result<std::vector<Id>> above_mark() {
    if (marks_.empty() || marks_.back() > stack_.size()) return error("has no mark");
    std::vector<Id> out(stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back()), stack_.end());
    stack_.resize(marks_.back());
    marks_.pop_back();
    return out;
  }
  /// The last `n` values, which go.
  Result<std::vector<Id>> last(std::size_t n) {
    if (stack_.size() < n) return error("takes more values than there are");
    std::vector<Id> out(stack_.end() - static_cast<std::ptrdiff_t>(n), stack_.end());
    stack_.resize(stack_.size() - n);
    return out;
  }
  Status append(Shape shape, const std::vector<Id>& items) {
    if (stack_.empty() || cells_[stack_.back()].shape != shape) return error("adds to what is no list or dictionary");
    if (shape == Shape::kDict && items.size() % 2 != 0) return error("has a key without a value");
    std::vector<Id>& into = cells_[stack_.back()].items;
    into.insert(into.end(), items.begin(), items.end());
    items_ += items.size();
    return items_ > kMostValues ? Status(error("has above 4 million values")) : Status();
  }

  Status text(std::size_t width) {
    BUSBAR_ASSIGN(const std::uint64_t size, number(width));
    BUSBAR_ASSIGN(const std::string_view bytes, piece(size));
    push(Json(std::string(bytes)));
    return {};
  }
  Status remember(std::uint64_t key) {
    if (stack_.empty()) return error("remembers nothing");
    memo_[key] = stack_.back();
    return {};
  }
  Status recall(std::uint64_t key) {
    const auto found = memo_.find(key);
    if (found == memo_.end()) return error("recalls what it never stored");
    stack_.push_back(found->second);
    return {};
  }
  /// A whole number of up to 8 bytes in two's complement; longer ones become a real number of that size.
  Status long_number(std::uint64_t size) {
    BUSBAR_ASSIGN(const std::string_view bytes, piece(size));
    if (size > 8) return error("has a whole number of above 8 bytes");
    std::uint64_t n = size > 0 && (bytes[size - 1] & 0x80) != 0 ? ~std::uint64_t{0} : 0;
    for (std::size_t i = size; i-- > 0;) n = n << 8 | static_cast<unsigned char>(bytes[i]);
    push(Json(static_cast<long long>(n)));
    return {};
  }
  Status real() {  // big-endian
    BUSBAR_ASSIGN(const std::string_view bytes, piece(8));
    std::uint64_t n = 0;
    for (const char c : bytes) n = n << 8 | static_cast<unsigned char>(c);
    push(Json(std::bit_cast<double>(n)));
    return {};
  }
  Status skip(std::size_t width) {
    BUSBAR_ASSIGN(const std::uint64_t ignored, number(width));
    static_cast<void>(ignored);
    return {};
  }
  template <typename Taken>
  Status collect(Shape shape, Result<Taken> items) {
    if (!items.ok()) return items.error();
    push_cell({shape, {}, std::move(*items)});
    return shape == Shape::kDict && cells_.back().items.size() % 2 != 0 ? Status(error("has a key without a value"))
                                                                        : Status();
  }
  template <typename Taken>
  Status extend(Shape shape, Result<Taken> items) {
    return items.ok() ? append(shape, *items) : Status(items.error());
  }
  /// Runs `then` with a number of `width` bytes.
  template <typename F>
  Status with(std::size_t width, F then) {
    BUSBAR_ASSIGN(const std::uint64_t n, number(width));
    return (this->*then)(n);
  }
  Status integer(std::size_t width) {
    BUSBAR_ASSIGN(const std::uint64_t n, number(width));
    push(Json(width == 4 ? static_cast<long long>(static_cast<std::int32_t>(n)) : static_cast<long long>(n)));
    return {};
  }

  /// Only PyTorch's makers of typed lists are known; they stand for the list that they are given.
  Status function() {
    const std::vector<std::string_view> words = split_at(bytes_.substr(at_, 200), '\n');
    if (words.size() < 3) return cut();
    if (words[0] != "torch.jit._pickle" || !words[1].starts_with("build_"))
      return error(fmt::format("is more than data: it needs {}.{}", words[0], words[1]));
    at_ += words[0].size() + words[1].size() + 2;
    push_cell({Shape::kMaker, {}, {}});
    return {};
  }
  Status call() {
    BUSBAR_ASSIGN(const std::vector<Id> two, last(2));
    const Cell& given = cells_[two[1]];
    if (cells_[two[0]].shape != Shape::kMaker || given.shape != Shape::kList || given.items.size() != 1)
      return error("calls what is no maker of a list");
    stack_.push_back(given.items[0]);
    return {};
  }

  Status step() {
    switch (opcode_) {
      case 0x80:
        return skip(1);  // PROTO
      case 0x95:
        return skip(8);  // FRAME
      case 'N':
        return push(Json(nullptr)), Status();
      case 0x88:
        return push(Json(true)), Status();
      case 0x89:
        return push(Json(false)), Status();
      case 'J':
        return integer(4);
      case 'K':
        return integer(1);
      case 'M':
        return integer(2);
      case 0x8a:
        return with(1, &Machine::long_number);
      case 'G':
        return real();
      case 'X':
        return text(4);
      case 0x8c:
        return text(1);
      case 0x8d:
        return text(8);
      case ']':
      case ')':
        return push_cell({Shape::kList, {}, {}}), Status();
      case '}':
        return push_cell({Shape::kDict, {}, {}}), Status();
      case '(':
        return marks_.push_back(stack_.size()), Status();
      case 't':
      case 'l':
        return collect(Shape::kList, above_mark());
      case 'd':
        return collect(Shape::kDict, above_mark());
      case 0x85:
        return collect(Shape::kList, last(1));
      case 0x86:
        return collect(Shape::kList, last(2));
      case 0x87:
        return collect(Shape::kList, last(3));
      case 'e':
        return extend(Shape::kList, above_mark());
      case 'a':
        return extend(Shape::kList, last(1));
      case 'u':
        return extend(Shape::kDict, above_mark());
      case 's':
        return extend(Shape::kDict, last(2));
      case 'q':
        return with(1, &Machine::remember);
      case 'r':
        return with(4, &Machine::remember);
      case 0x94:
        return remember(memo_.size());  // MEMOIZE
      case 'h':
        return with(1, &Machine::recall);
      case 'j':
        return with(4, &Machine::recall);
      case 'c':
        return function();
      case 'R':
        return call();
      default:
        return error(fmt::format("has the operation 0x{:02x}, which data does not need", opcode_));
    }
  }

  Result<Json> to_json(Id id, int depth) {
    const Cell& cell = cells_[id];
    if (depth > kDeepest) return error("is nested deeper than 64");
    if (++converted_ > kMostValues) return error("has above 4 million values");
    if (cell.shape == Shape::kScalar || cell.shape == Shape::kMaker) return cell.scalar;
    if (cell.shape == Shape::kList) {
      Json out = Json::array();
      for (const Id item : cell.items) {
        BUSBAR_ASSIGN(Json value, to_json(item, depth + 1));
        out.push_back(std::move(value));
      }
      return out;
    }
    std::vector<Json::Member> members;
    for (std::size_t i = 0; i + 1 < cell.items.size(); i += 2) {
      const Cell& key = cells_[cell.items[i]];
      if (key.shape != Shape::kScalar) return error("has a key that is no text or number");
      std::string word = key.scalar.is_string() ? key.scalar.text() : key.scalar.dump();
      if (!left_out_.empty() && word == left_out_) continue;
      BUSBAR_ASSIGN(Json value, to_json(cell.items[i + 1], depth + 1));
      members.push_back({std::move(word), std::move(value)});
    }
    return Json::object(std::move(members));
  }

  const std::string_view bytes_;
  const std::string& name_;
  std::size_t at_ = 0, place_ = 0, items_ = 0, converted_ = 0;
  unsigned opcode_ = 0;
  std::string_view left_out_;
  std::vector<Cell> cells_;
  std::vector<Id> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint64_t, Id> memo_;  ///< for look-up only
};

}  // namespace

bool looks_like_pickle(std::string_view head) {
  return head.size() > 2 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5;
}

Result<Json> read_pickle(std::string_view bytes, const std::string& name, std::string_view left_out) {
  return Machine(bytes, name).run(left_out);
}

}  // namespace busbar::formats
