// Replaces what identifies a site or a person in logs and outputs of tools.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace busbar::doctor {

/// Stable within one run: equal originals give equal pseudonyms, so a reader can still follow a host, a port or a
/// network. Replaced are
///   names of hosts     that a line names as such: NCCL's prefix, devices of nccl-tests, user@host, and those given
///   names of users     user@host, /home/NAME, USER=NAME, and those given
///   IPv4 addresses     10.a.b.c; addresses of one /24 network stay in one
///   MAC addresses, GUIDs, GIDs, IPv6 addresses, UUIDs, serial numbers
///   secrets (internal/secrets.h)
/// Known names are replaced wherever they stand as words. Kept are 127.0.0.1, masks, wildcards, the prefixes fe80 and
/// ffff, PCI bus ids and version numbers. Limits: a name that no line names as that of a host or user is kept.
class Redaction {
 public:
  /// `salt`: text that a reader of the result does not know, such as the inputs. It makes it harder to guess originals.
  explicit Redaction(std::string_view salt);

  void add_host(std::string_view name);
  void add_user(std::string_view name);
  /// First pass: collects the names in a line.
  void learn(std::string_view line);
  /// Second pass.
  std::string redact(std::string_view line) const;

  /// The number of different names that were replaced.
  std::size_t hosts() const { return hosts_.size(); }
  std::size_t users() const { return users_.size(); }

 private:
  void learn_list(std::string_view line, std::string_view flag);
  std::string without_addresses(std::string_view line) const;
  std::string without_names(std::string_view text) const;
  std::string pseudonym(std::string_view name) const;  ///< empty: no known name
  std::string token(std::string_view text) const;
  std::string part(std::string_view text) const;
  std::string hex(std::string_view text, std::string_view kept, std::string_view seed) const;
  std::uint64_t code(std::string_view text) const;

  std::uint64_t salt_ = 0;
  std::set<std::string, std::less<>> hosts_, users_;
};

}  // namespace busbar::doctor
