#include "busbar/base/yaml.h"

#include <fmt/core.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <sstream>

#include "busbar/base/input.h"
#include "busbar/base/internal/yaml_impl.h"
#include "busbar/base/utf8.h"

namespace busbar {
namespace {

using Impl = YamlNode::Impl;
using Kind = YamlNode::Kind;

constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kHopelessDepth = 4096;  ///< not parsed: the parser's time grows with the square of the depth
constexpr std::size_t kMaxKeyBytes = 256;
constexpr std::size_t kMaxFileBytes = std::size_t{64} << 20;

/// Ends the parser with an Error; caught only in parse_tree().
struct Refused {
  Error error;
};

/// Depth of the open brackets, and the first one that is too deep. The parser's own message about these is
/// misleading.
struct Brackets {
  std::size_t most = 0;
  int line = 0, column = 0;
};
Brackets brackets_of(const std::string& text) {
  Brackets out;
  std::size_t depth = 0;
  int line = 1, column = 0;
  for (const char c : text) {
    ++column;
    if (c == '\n') {
      ++line;
      column = 0;
    }
    if ((c == ']' || c == '}') && depth > 0) --depth;
    if (c != '[' && c != '{') continue;
    if (++depth == kMaxDepth + 1 && out.line == 0) {
      out.line = line;
      out.column = column;
    }
    out.most = std::max(out.most, depth);
  }
  return out;
}

Error too_deep(Where where) {
  return invalid(fmt::format("nested deeper than {} levels", kMaxDepth), std::move(where));
}

/// Builds our tree from the events of the parser.
class TreeBuilder final : public YAML::EventHandler {
 public:
  TreeBuilder(std::shared_ptr<const std::string> file, std::string path) : file_(std::move(file)) {
    start_path_ = std::move(path);
  }
  std::shared_ptr<const Impl> root() const { return root_; }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_anchor(mark, anchor);
    add(make(mark, Kind::kNull));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    refuse(mark, "an alias (*name) is not accepted; write the value out");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    if (expects_key()) return take_key(mark, value);
    auto node = make(mark, Kind::kScalar);
    node->scalar = value;
    add(std::move(node));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, Kind::kSequence);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, Kind::kMap);
  }
  void OnMapEnd() override { close(); }
  void OnAnchor(const YAML::Mark&, const std::string&) override {}

 private:
  Where where(const YAML::Mark& mark) const { return Where{*file_, mark.line + 1, mark.column + 1, path()}; }
  [[noreturn]] void refuse(const YAML::Mark& mark, std::string message) const {
    throw Refused{invalid(std::move(message), where(mark))};
  }
  void refuse_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) const {
    if (anchor != 0) refuse(mark, "an anchor (&name) is not accepted; write the value out where it is used");
  }
  void refuse_tag(const YAML::Mark& mark, const std::string& tag) const {
    if (!tag.empty() && tag != "?" && tag != "!") {
      refuse(mark, fmt::format("the tag '{}' is not accepted; remove it", tag));
    }
  }
  bool expects_key() const {
    return !open_.empty() && open_.back()->kind == Kind::kMap &&
           open_.back()->keys.size() == open_.back()->items.size();
  }
  void take_key(const YAML::Mark& mark, const std::string& key) {
    Impl& map = *open_.back();
    if (key.size() > kMaxKeyBytes) refuse(mark, fmt::format("a key of more than {} bytes", kMaxKeyBytes));
    if (const auto i = map.index_of(key)) {
      refuse(mark, fmt::format("the key '{}' is already given in line {}; keep one of them", key, map.keys[*i].line));
    }
    map.add_key({key, mark.line + 1, mark.column + 1});
  }
  std::string path() const {
    if (open_.empty()) return start_path_;
    const Impl& parent = *open_.back();
    if (parent.kind == Kind::kSequence) return parent.path + fmt::format("[{}]", parent.items.size());
    if (expects_key()) return parent.path;
    return join(parent.path, parent.keys.back().name);
  }
  std::shared_ptr<Impl> make(const YAML::Mark& mark, Kind kind) const {
    if (expects_key()) refuse(mark, "a key must be a plain word; is a ']' or '}' missing?");
    auto node = std::make_shared<Impl>();
    node->kind = kind;
    node->file = file_;
    node->line = mark.line + 1;
    node->column = mark.column + 1;
    node->path = path();
    return node;
  }
  void add(std::shared_ptr<Impl> node) {
    if (open_.empty())
      root_ = std::move(node);
    else
      open_.back()->items.push_back(std::move(node));
  }
  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, Kind kind) {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    if (open_.size() >= kMaxDepth) throw Refused{too_deep(Where{*file_, mark.line + 1, mark.column + 1, start_path_})};
    auto node = make(mark, kind);
    Impl* raw = node.get();
    add(std::move(node));
    open_.push_back(raw);
  }
  void close() { open_.pop_back(); }

  std::shared_ptr<const std::string> file_;
  std::string start_path_;
  std::shared_ptr<const Impl> root_;
  std::vector<Impl*> open_;
};

Error at(const std::string& file, const YAML::Mark& mark, std::string message) {
  Where where{file, 0, 0, {}};
  if (!mark.is_null()) {
    where.line = mark.line + 1;
    where.column = mark.column + 1;
  }
  return invalid(std::move(message), std::move(where));
}

}  // namespace

std::string join(std::string_view map_path, std::string_view key) {
  return map_path.empty() ? std::string(key) : fmt::format("{}.{}", map_path, key);
}

/// The only place that catches the parser's exceptions.
Result<std::shared_ptr<const YamlNode::Impl>> parse_tree(const std::string& text, const std::string& file,
                                                         const std::string& path) {
  if (text.size() > kMaxFileBytes)
    return invalid("larger than 64 MiB; is this the right file?", Where{file, 0, 0, path});
  const Brackets brackets = brackets_of(text);
  if (brackets.most > kHopelessDepth) return too_deep(Where{file, brackets.line, brackets.column, path});
  if (auto bad = find_bad_text(text)) {
    return invalid(std::move(bad->message), Where{file, bad->line, bad->column, path});
  }
  const auto shared_file = std::make_shared<const std::string>(file);
  TreeBuilder tree(shared_file, path);
  try {
    std::istringstream in(text);
    YAML::Parser parser(in);
    parser.HandleNextDocument(tree);
    auto root = tree.root();
    TreeBuilder rest(shared_file, path);
    if (parser.HandleNextDocument(rest)) {
      const auto second = rest.root();
      return invalid("a second document begins here; keep one document per file",
                     Where{file, second ? second->line : 0, second ? second->column : 0, path});
    }
    if (!root) {
      auto empty = std::make_shared<Impl>();
      empty->file = shared_file;
      empty->line = empty->column = 1;
      empty->path = path;
      root = std::move(empty);
    }
    return root;
  } catch (Refused& refused) {
    if (brackets.most > kMaxDepth) return too_deep(Where{file, brackets.line, brackets.column, path});
    return std::move(refused.error);
  } catch (const YAML::Exception& e) {
    return at(file, e.mark, fmt::format("not valid YAML: {}", e.msg));
  } catch (const std::exception& e) {
    return invalid(fmt::format("not valid YAML: {}", e.what()), Where{file, 0, 0, path});
  }
}

Result<YamlDocument> YamlDocument::load(const std::string& path) {
  BUSBAR_ASSIGN(std::string text, read_text(path, kMaxFileBytes));
  return parse(std::move(text), path);
}

Result<YamlDocument> YamlDocument::parse(std::string text, const std::string& name) {
  YamlDocument document;
  BUSBAR_ASSIGN(document.root_, parse_tree(text, name, ""));
  document.text_ = std::move(text);
  return document;
}

YamlNode YamlDocument::root() const {
  YamlNode node;
  if (root_) node.impl_ = root_;
  return node;
}

const std::string& YamlDocument::text() const { return text_; }

}  // namespace busbar
