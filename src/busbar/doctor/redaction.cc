#include "busbar/doctor/internal/redaction.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "busbar/base/quantity.h"
#include "busbar/base/text.h"
#include "busbar/doctor/internal/log_prefix.h"

namespace busbar {
namespace {

constexpr std::string_view kTokenLetters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.:-";
constexpr std::string_view kHexLetters = "0123456789abcdefABCDEF";

/// Names that are no secret, or stand for no person or host.
constexpr std::array<std::string_view, 12> kCommon{"root", "ubuntu", "nobody", "admin",  "ec2-user",  "runner",
                                                   "user", "home",   "host",   "centos", "localhost", "none"};

bool is_hex(std::string_view text) { return !text.empty() && text.find_first_not_of(kHexLetters) == text.npos; }

/// The word at `at`, of letters that names of hosts and users have.
std::string_view word_at(std::string_view line, std::size_t at) {
  if (at >= line.size()) return {};
  const std::size_t end = line.find_first_not_of(kTokenLetters, at);
  std::string_view out = line.substr(at, end - at);
  out = out.substr(0, out.find(':'));
  while (out.ends_with('.') || out.ends_with('-')) out.remove_suffix(1);
  return out;
}

/// The word that ends before `end`.
std::string_view word_before(std::string_view line, std::size_t end) {
  std::size_t at = end;
  while (at > 0 && kTokenLetters.find(line[at - 1]) != kTokenLetters.npos && line[at - 1] != ':') --at;
  return line.substr(at, end - at);
}

bool begins_with_letter(std::string_view text) {
  return !text.empty() && ((text[0] >= 'a' && text[0] <= 'z') || (text[0] >= 'A' && text[0] <= 'Z'));
}

/// "10.0.0.1" as four numbers; false for masks, wildcards and this host.
bool is_address(std::string_view text, std::array<unsigned, 4>& out) {
  const std::vector<std::string_view> parts = split_at(text, '.');
  if (parts.size() != 4) return false;
  for (std::size_t i = 0; i < 4; ++i)
    if (parts[i].size() > 3 || !is_number(parts[i], out[i]) || out[i] > 255) return false;
  return out[0] != 0 && out[0] != 127 && out[0] != 255;
}

/// Groups of hexadecimal digits of one width: MAC addresses, GUIDs, GIDs, addresses of IPoIB.
bool is_groups(const std::vector<std::string_view>& parts) {
  const std::size_t width = parts[0].size(), n = parts.size();
  if (!(width == 2 && (n == 6 || n == 8 || n == 20)) && !(width == 4 && (n == 4 || n == 8))) return false;
  return std::all_of(parts.begin(), parts.end(), [&](auto p) { return p.size() == width && is_hex(p); });
}

/// "GPU-8e9f0a1b-..." without the word before it.
bool is_uuid(std::string_view text) {
  const std::vector<std::string_view> parts = split_at(text, '-');
  constexpr std::array<std::size_t, 5> kWidths{8, 4, 4, 4, 12};
  if (parts.size() != kWidths.size()) return false;
  for (std::size_t i = 0; i < kWidths.size(); ++i)
    if (parts[i].size() != kWidths[i] || !is_hex(parts[i])) return false;
  return true;
}

/// Where the value begins that must not be shown at all; npos if there is none.
std::size_t secret_in(std::string_view line) {
  const std::size_t sign = line.find_first_of("=:");
  if (sign == line.npos) return line.npos;
  const std::string name = lower(line.substr(0, sign));
  constexpr std::array<std::string_view, 4> kSerial{"serial number", "serial_number", "[sn]", "board serial"};
  const auto has = [&](std::string_view word) { return name.find(word) != name.npos; };
  if (std::any_of(kSerial.begin(), kSerial.end(), has)) return sign + 1;
  constexpr std::array<std::string_view, 6> kSecret{"token", "secret", "password", "passwd", "credential", "nodelist"};
  const bool key = name.ends_with("_key") || name.ends_with("apikey");
  return line[sign] == '=' && (key || std::any_of(kSecret.begin(), kSecret.end(), has)) ? sign + 1 : line.npos;
}

}  // namespace

Redaction::Redaction(std::string_view salt) : salt_(hash64(salt)) {}

std::uint64_t Redaction::code(std::string_view text) const { return hash64(text, hash64("busbar", salt_)); }

void Redaction::add_host(std::string_view name) {
  if (!begins_with_letter(name) && !name.starts_with("ip-")) return;
  for (const std::string_view common : kCommon)
    if (name == common) return;
  hosts_.emplace(name);
  const std::string_view first = name.substr(0, name.find('.'));
  if (first.size() > 2) hosts_.emplace(first);
}

void Redaction::add_user(std::string_view name) {
  if (name.size() < 2 || std::find(kCommon.begin(), kCommon.end(), name) != kCommon.end()) return;
  users_.emplace(name);
}

void Redaction::learn(std::string_view line) {
  add_host(host_of_log_line(line));
  if (const std::size_t pid = line.find(" Pid "), on = line.find(" on ", pid); pid != line.npos && on != line.npos)
    add_host(word_at(line, line.find_first_not_of(' ', on + 4)));
  if (const std::size_t kernel = line.find(" kernel: "); kernel != line.npos && kernel > 0)
    if (line.find(':') < kernel) add_host(word_before(line, kernel));
  if (line.starts_with("Linux ")) add_host(word_at(line, 6));
  for (const std::string_view name : {"HOSTNAME=", "HOST=", "NODENAME="})
    if (const std::size_t at = line.find(name); at != line.npos) add_host(word_at(line, at + name.size()));
  for (const std::string_view name : {"/home/", "/Users/", "USER=", "LOGNAME="})
    if (const std::size_t at = line.find(name); at != line.npos) add_user(word_at(line, at + name.size()));
  if (const std::size_t at = line.find('@'); at != line.npos && at > 0) {
    const std::string_view host = word_at(line, at + 1), user = word_before(line, at);
    if (begins_with_letter(host) && begins_with_letter(user)) add_host(host), add_user(user);
  }
}

/// As many hexadecimal digits as `text` has.
std::string Redaction::hex(std::string_view text, std::string_view kept, std::string_view seed) const {
  if (text.find_first_not_of('0') == text.npos || text == kept || text == "ffff") return std::string(text);
  std::string out;
  for (std::size_t i = 0; i < text.size(); i += 16)
    out += fmt::format("{:016x}", code(fmt::format("{} {} {}", seed, text, i)));
  return out.substr(0, text.size());
}

/// A piece without colons.
std::string Redaction::part(std::string_view text) const {
  if (std::array<unsigned, 4> a{}; is_address(text, a)) {
    const std::uint64_t net = code(fmt::format("net {}.{}.{}", a[0], a[1], a[2])), host = code(text);
    return fmt::format("10.{}.{}.{}", net % 256, net / 256 % 256, host % 254 + 1);
  }
  if (hosts_.contains(text)) return fmt::format("host-{:06x}", code(text) & 0xffffff);
  if (users_.contains(text)) return fmt::format("user-{:06x}", code(text) & 0xffffff);
  if (text.size() == 18 && text.starts_with("0x") && is_hex(text.substr(2)))
    return "0x" + hex(text.substr(2), {}, "guid");
  const std::string_view id = text.substr(0, 4) == "GPU-" ? text.substr(4) : text;
  if (is_uuid(id)) {
    std::string out(text.substr(0, text.size() - id.size()));
    for (const std::string_view group : split_at(id, '-'))
      out += (out.empty() || out.ends_with('-') ? "" : "-") + hex(group, {}, id);
    return out;
  }
  if (text.find('.') == text.npos) return std::string(text);
  std::string out;
  for (const std::string_view label : split_at(text, '.'))
    out += (out.empty() ? "" : ".") +
           (hosts_.contains(label) || users_.contains(label) ? part(label) : std::string(label));
  return out;
}

std::string Redaction::token(std::string_view text) const {
  const std::vector<std::string_view> parts = split_at(text, ':');
  const bool groups = is_groups(parts);
  const bool v6 = text.find("::") != text.npos && text.find_first_not_of(":0123456789abcdefABCDEF") == text.npos &&
                  text.find_first_not_of(":01") != text.npos;
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out += ':';
    out += groups || (v6 && !parts[i].empty()) ? hex(parts[i], "fe80", text) : part(parts[i]);
  }
  return out;
}

std::string Redaction::redact(std::string_view line) const {
  if (const std::size_t at = secret_in(line); at != line.npos)
    return std::string(line.substr(0, at)) + fmt::format(" removed-{:06x}", code(line.substr(at)) & 0xffffff);
  std::string out;
  if (line.starts_with("/proc/") || line.starts_with("/sys/")) {  // folders such as vm are names of hosts, too
    out = line.substr(0, line.find(':'));
    line.remove_prefix(out.size());
  }
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t begin = std::min(line.find_first_of(kTokenLetters, at), line.size());
    out += line.substr(at, begin - at);
    std::size_t end = std::min(line.find_first_not_of(kTokenLetters, begin), line.size());
    at = end;
    while (end > begin && (line[end - 1] == '.' || line[end - 1] == ':') &&
           !line.substr(begin, end - begin).ends_with("::"))
      --end;
    out += token(line.substr(begin, end - begin));
    out += line.substr(end, at - end);
  }
  return out;
}

}  // namespace busbar
