#include "busbar/doctor/internal/redaction.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "busbar/base/quantity.h"
#include "busbar/base/text.h"
#include "busbar/doctor/internal/log_prefix.h"
#include "busbar/doctor/internal/secrets.h"

namespace busbar::doctor {
namespace {

constexpr std::string_view kTokenLetters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.:-";
constexpr std::string_view kHexLetters = "0123456789abcdefABCDEF";

/// Names that are no secret, or stand for no person or host.
constexpr std::array<std::string_view, 16> kCommon{"root", "ubuntu", "nobody", "admin",  "ec2-user",  "runner",
                                                   "user", "home",   "host",   "centos", "localhost", "none",
                                                   "git",  "node",   "nccl",   "removed"};

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

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_word_letter(char c) { return is_letter(c) || (c >= '0' && c <= '9'); }

bool begins_with_letter(std::string_view text) { return !text.empty() && is_letter(text[0]); }

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

}  // namespace

Redaction::Redaction(std::string_view salt) : salt_(hash64(salt)) {}

std::uint64_t Redaction::code(std::string_view text) const { return hash64(text, hash64("busbar", salt_)); }

void Redaction::add_host(std::string_view name) {
  if (std::none_of(name.begin(), name.end(), is_letter) || name.starts_with("0x")) return;
  if (std::find(kCommon.begin(), kCommon.end(), name) != kCommon.end()) return;
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
  for (const std::string_view name : {"HOSTNAME=", "HOST=", "NODENAME=", "MASTER_ADDR=", "master_addr=", "master_addr ",
                                      "endpoint=", "endpoint ", "srun: error: ", "on node ", "CA: ", "\"MF0;"})
    if (const std::size_t at = line.find(name); at != line.npos) add_host(word_at(line, at + name.size()));
  for (const std::string_view name : {"/home/", "/Users/", "USER=", "LOGNAME=", "logged in as: "})
    if (const std::size_t at = line.find(name); at != line.npos) add_user(word_at(line, at + name.size()));
  for (const std::string_view name : {" -H ", " --host ", " --hosts "}) learn_list(line, name);
  if (const std::size_t device = line.find(" mlx5_"); device != line.npos)  // "node7 mlx5_0", as ibnetdiscover has it
    if (const std::size_t quote = line.rfind('"', device); quote != line.npos)
      add_host(line.substr(quote + 1, device - quote - 1));
  if (const std::size_t at = line.find('@'); at != line.npos && at > 0) {
    const std::string_view host = word_at(line, at + 1), user = word_before(line, at);
    if (begins_with_letter(host) && begins_with_letter(user)) add_host(host), add_user(user);
  }
}

/// "a:8,b:8" after `flag`.
void Redaction::learn_list(std::string_view line, std::string_view flag) {
  const std::size_t at = line.find(flag);
  if (at == line.npos) return;
  const std::string_view list = line.substr(at + flag.size());
  for (const std::string_view host : split_at(list.substr(0, list.find(' ')), ',')) add_host(word_at(host, 0));
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
  if (text.size() == 18 && text.starts_with("0x") && is_hex(text.substr(2)))
    return "0x" + hex(text.substr(2), {}, "guid");
  const std::string_view id = text.substr(0, 4) == "GPU-" ? text.substr(4) : text;
  if (is_uuid(id)) {
    std::string out(text.substr(0, text.size() - id.size()));
    for (const std::string_view group : split_at(id, '-'))
      out += (out.empty() || out.ends_with('-') ? "" : "-") + hex(group, {}, id);
    return out;
  }
  return std::string(text);
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

std::string Redaction::without_addresses(std::string_view line) const {
  std::string out;
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

std::string Redaction::pseudonym(std::string_view name) const {
  if (hosts_.contains(name)) return fmt::format("host-{:06x}", code(name) & 0xffffff);
  if (users_.contains(name)) return fmt::format("user-{:06x}", code(name) & 0xffffff);
  return {};
}

/// The last pass: known names wherever whole words of the text are one, the longest first.
std::string Redaction::without_names(std::string_view text) const {
  const auto inside = [&](std::size_t at) {  // a word
    return at > 0 && at < text.size() && is_word_letter(text[at - 1]) && is_word_letter(text[at]);
  };
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    std::string name;
    std::size_t end = at;
    if (is_word_letter(text[at]) && !inside(at)) end = std::min(text.find_first_not_of(kTokenLetters, at), text.size());
    for (; end > at && name.empty(); --end)
      if (!inside(end)) name = pseudonym(text.substr(at, end - at));
    if (name.empty())
      out += text[at++];
    else
      out += name, at = end + 1;
  }
  return out;
}

std::string Redaction::redact(std::string_view line) const {
  std::string out;
  if (line.starts_with("/proc/") || line.starts_with("/sys/")) {  // folders such as vm are names of hosts, too
    out = line.substr(0, line.find(':'));
    line.remove_prefix(out.size());
  }
  std::string shown;
  std::size_t at = 0;
  for (const TextSpan& secret : secrets_in(line)) {
    shown += without_addresses(line.substr(at, secret.begin - at));
    shown += fmt::format("removed-{:06x}", code(line.substr(secret.begin, secret.end - secret.begin)) & 0xffffff);
    at = secret.end;
  }
  return out + without_names(shown + without_addresses(line.substr(at)));
}

}  // namespace busbar::doctor
