#include "busbar/base/run_files.h"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>

#include "busbar/base/check.h"
#include "busbar/base/embedded.h"
#include "busbar/base/internal/piped_bytes.h"
#include "busbar/base/quantity.h"

namespace busbar {
namespace {

thread_local RunFiles* the_run = nullptr;  // a command runs in one thread

std::uint64_t digest_of_file(const std::string& name) {
  constexpr std::size_t kPiece = 64 << 10;
  std::ifstream in(name, std::ios::binary);
  std::string piece(kPiece, '\0');
  std::uint64_t digest = hash64("");
  while (in.read(piece.data(), kPiece), in.gcount() > 0)
    digest = hash64(std::string_view(piece).substr(0, static_cast<std::size_t>(in.gcount())), digest);
  return digest;
}

}  // namespace

RunFiles::RunFiles() {
  BUSBAR_CHECK(the_run == nullptr) << "two runs at once";
  the_run = this;
}
RunFiles::~RunFiles() { the_run = nullptr; }
RunFiles* RunFiles::current() { return the_run; }

bool RunFiles::knows(Id id) const {
  return std::any_of(inputs_.begin(), inputs_.end(), [&](const Known& k) { return k.id == id; });
}

void RunFiles::add_input(const std::string& name, const struct stat& file, std::shared_ptr<PipedBytes> pipe) {
  const std::lock_guard lock(mutex_);
  if (pipe != nullptr || !knows(id_of(file)))
    inputs_.push_back({.id = id_of(file), .name = name, .pipe = std::move(pipe)});
}

void RunFiles::add_embedded(const EmbeddedFile& file) {
  const std::lock_guard lock(mutex_);
  const auto same = [&](const Known& k) { return k.embedded == &file; };
  if (std::none_of(inputs_.begin(), inputs_.end(), same)) inputs_.push_back({.embedded = &file});
}

std::vector<const EmbeddedFile*> RunFiles::embedded() const {
  const std::lock_guard lock(mutex_);
  std::vector<const EmbeddedFile*> out;
  for (const Known& k : inputs_)
    if (k.embedded != nullptr) out.push_back(k.embedded);
  return out;
}

std::shared_ptr<PipedBytes> RunFiles::pipe_of(const struct stat& file) const {
  const std::lock_guard lock(mutex_);
  for (const Known& k : inputs_)
    if (k.pipe && k.id == id_of(file)) return k.pipe;
  return nullptr;
}

void RunFiles::add_output(const struct stat& file) {
  const std::lock_guard lock(mutex_);
  outputs_.push_back(id_of(file));
}

std::string RunFiles::why_not_write(const struct stat& file) const {
  const std::lock_guard lock(mutex_);
  if (knows(id_of(file))) return "is an input and is not overwritten; name another file";
  const bool twice = std::find(outputs_.begin(), outputs_.end(), id_of(file)) != outputs_.end();
  return twice ? "already holds another output of this command; name another file" : "";
}

std::uint64_t RunFiles::inputs_digest() const {
  const std::lock_guard lock(mutex_);
  std::uint64_t digest = hash64("");
  for (const Known& k : inputs_) digest = hash64(fmt::format("{:x}\n", k.digest()), digest);
  return digest;
}

std::uint64_t RunFiles::Known::digest() const {
  if (embedded != nullptr) return hash64(embedded->text);
  return pipe ? pipe->digest() : digest_of_file(name);
}

}  // namespace busbar
