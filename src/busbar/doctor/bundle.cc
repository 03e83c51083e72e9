#include "busbar/doctor/bundle.h"

#include <fmt/core.h>

#include "busbar/base/archive.h"
#include "busbar/base/text.h"
#include "busbar/doctor/internal/redaction.h"
#include "busbar/doctor/internal/secrets.h"
#include "busbar/formats/import.h"
#include "busbar/formats/lines.h"

namespace busbar::doctor {
namespace {

constexpr std::size_t kLongestName = 60;

/// "3/node1.log": a number, then the last part of the name with letters that every system takes.
std::string name_in_archive(std::size_t number, const std::string& name) {
  std::string out = name.substr(name.rfind('/') + 1);
  for (char& c : out)
    if (std::string_view(" \t\\:*?\"<>|").find(c) != std::string_view::npos || static_cast<unsigned char>(c) < 0x20 ||
        static_cast<unsigned char>(c) > 0x7e)
      c = '_';
  if (out.size() > kLongestName) out.erase(0, out.size() - kLongestName);
  return fmt::format("{}/{}", number, out);
}

std::string redacted(const std::string& text, const Redaction& redaction) {
  std::string out;
  out.reserve(text.size());
  PemBlocks pem;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    out += pem.covers(line) ? "removed" : redaction.redact(line);
    if (end == rest.npos) break;
    out += '\n';
    rest.remove_prefix(end + 1);
  }
  return out;
}

Result<BundleFile> read_text_of(Input input) {
  BundleFile out{input.name(), {}, {}};
  BUSBAR_ASSIGN(const formats::ImportSource source, formats::ImportSource::of_input(std::move(input)));
  if (source.head().find('\0') != source.head().npos) {
    out.missing = "is no text";
    return out;
  }
  BUSBAR_ASSIGN(formats::LineSource lines, source.lines());
  for (std::string_view line; lines.next(line);) {
    if (out.text.size() + line.size() > kMostOfBundled) {
      out.missing = fmt::format("only the first {} lines are here", lines.number() - 1);
      return out;
    }
    out.text += line;
    out.text += '\n';
  }
  if (const Status done = source.complete(); !done.ok()) out.missing = done.error().message;
  return out;
}

}  // namespace

Result<std::vector<BundleFile>> read_for_bundle(const std::string& name) {
  std::vector<BundleFile> out;
  BUSBAR_ASSIGN(InputFiles files, InputFiles::open(name));
  while (true) {
    BUSBAR_ASSIGN(std::optional<Input> file, files.next());
    if (!file) return out;
    BUSBAR_ASSIGN(BundleFile text, read_text_of(std::move(*file)));
    out.push_back(std::move(text));
  }
}

std::string pack_bundle(std::vector<BundleFile> files, const std::vector<std::string>& hosts,
                        const std::vector<std::string>& users, const std::vector<std::string>& missing, bool gzip) {
  std::string salt;
  for (const BundleFile& f : files) salt += f.name + '\n' + f.text.substr(0, 64 << 10) + '\n';
  Redaction redaction(salt);
  for (const std::string& host : hosts) redaction.add_host(host);
  for (const std::string& user : users) redaction.add_user(user);
  for (const BundleFile& f : files)
    for (const std::string_view line : split_at(f.text, '\n')) redaction.learn(line);
  std::string readme =
      "Written by busbar doctor --bundle. Names of hosts and users, addresses, GUIDs and serial numbers are replaced "
      "by\n"
      "pseudonyms, the same for the same original. Names that no line marks as such are kept: look before you send.\n"
      "\"(left out: N)\" stands for N lines that no rule reads; --bundle-full keeps them.\n"
      "Read it with: busbar doctor THIS-FILE; several bundles are compared.\n\nFiles:\n";
  std::vector<std::pair<std::string, std::string>> content(1);
  for (std::size_t i = 0; i < files.size(); ++i) {
    const BundleFile& f = files[i];
    const std::string name = redaction.redact(name_in_archive(i + 1, f.name));
    readme += fmt::format("  {}{}\n", name, f.missing.empty() ? "" : ": " + redaction.redact(f.missing));
    if (!f.text.empty()) content.emplace_back(name, redacted(f.text, redaction));
  }
  if (!missing.empty()) readme += "\nA maintainer will also ask for:\n";
  for (const std::string& line : missing) readme += "  " + line + "\n";
  content.front() = {"README.txt", std::move(readme)};
  return write_archive(content, gzip);
}

}  // namespace busbar::doctor
