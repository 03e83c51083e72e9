#include "busbar/doctor/internal/secrets.h"

#include <algorithm>
#include <array>
#include <string>

#include "busbar/base/text.h"

namespace busbar::doctor {
namespace {

using Spans = std::vector<TextSpan>;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_alnum(char c) { return is_digit(c) || is_upper(c) || is_lower(c); }
bool is_name_letter(char c) { return is_alnum(c) || c == '_' || c == '-' || c == '.'; }
bool is_quote(char c) { return c == '"' || c == '\''; }
bool is_blank(char c) { return c == ' ' || c == '\t'; }

std::size_t after_blanks(std::string_view line, std::size_t at) {
  while (at < line.size() && is_blank(line[at])) ++at;
  return at;
}

/// The end of the word at `at`, which a quote ends, too.
std::size_t word_end(std::string_view line, std::size_t at) {
  while (at < line.size() && !is_blank(line[at]) && !is_quote(line[at])) ++at;
  return at;
}

bool is_secret_name(std::string_view words) {
  constexpr std::array<std::string_view, 16> kSecret{"token",      "secret",        "passw",         "passphrase",
                                                     "credential", "nodelist",      "apikey",        "api_key",
                                                     "cookie",     "api-key",       "accesskey",     "authorization",
                                                     "[sn]",       "serial number", "serial_number", "board serial"};
  const std::string name = lower(words);
  return name.ends_with("_key") || name.ends_with("-key") || name.ends_with("_auth") ||
         std::any_of(kSecret.begin(), kSecret.end(), [&](auto word) { return name.find(word) != name.npos; });
}

/// What stands before a '=' or ':': a word, perhaps in quotes; before a ':' at most two more words.
std::string_view name_before(std::string_view line, std::size_t sign) {
  std::size_t end = sign;
  while (end > 0 && is_blank(line[end - 1])) --end;
  while (end > 0 && (is_quote(line[end - 1]) || line[end - 1] == '\\')) --end;
  std::size_t begin = end;
  for (int words = line[sign] == ':' ? 3 : 1; begin > 0; --begin) {
    const char c = line[begin - 1];
    if (is_name_letter(c) || c == '[' || c == ']') continue;
    if (c != ' ' || --words == 0) break;
  }
  return line.substr(begin, end - begin);
}

/// Where the value after a sign ends: a value in quotes at the next quote, one after a blank with the line.
TextSpan value_after(std::string_view line, std::size_t sign) {
  std::size_t begin = after_blanks(line, sign + 1);
  while (begin < line.size() && line[begin] == '\\') ++begin;
  if (begin < line.size() && is_quote(line[begin]))
    return {begin + 1, std::min(line.find(line[begin], begin + 1), line.size())};
  const bool apart = begin > sign + 1 || (sign > 0 && is_blank(line[sign - 1]));
  return {begin, apart || line[sign] == ':' ? line.size() : word_end(line, begin)};
}

void find_named(std::string_view line, Spans& out) {
  for (std::size_t at = 0; (at = line.find_first_of("=:", at)) != line.npos; ++at) {
    const bool number = line[at] == ':' && at + 1 < line.size() && is_digit(line[at + 1]);  // a port, a process, a time
    if (!number && is_secret_name(name_before(line, at))) out.push_back(value_after(line, at));
  }
}

/// "--hf-token x", "password x" as in .netrc, "Bearer x".
void find_after_words(std::string_view line, Spans& out) {
  constexpr std::array<std::string_view, 4> kWords{"password", "passwd", "Bearer", "login"};
  for (std::size_t at = after_blanks(line, 0); at < line.size();) {
    const std::size_t end = word_end(line, at), next = after_blanks(line, end);
    const std::string_view word = line.substr(at, end - at);
    const bool flag = word.starts_with('-') && word.find('=') == word.npos && is_secret_name(word);
    if ((flag || std::find(kWords.begin(), kWords.end(), word) != kWords.end()) && next > end && next < line.size() &&
        line[next] != '-')
      out.push_back({next, word_end(line, next)});
    at = std::max(next, end + 1);
  }
}

void find_beginnings(std::string_view line, Spans& out) {
  constexpr std::array<std::string_view, 18> kBeginnings{"hf_",  "sk-",  "ghp_", "gho_",        "ghs_",   "ghu_",
                                                         "AKIA", "ASIA", "xox",  "github_pat_", "glpat-", "eyJ",
                                                         "AIza", "ya29", "npm_", "nvapi-",      "dckr_",  "pypi-"};
  constexpr std::size_t kLeast = 4;  // letters after the beginning
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (at > 0 && is_alnum(line[at - 1])) continue;
    for (const std::string_view beginning : kBeginnings) {
      if (!line.substr(at).starts_with(beginning)) continue;
      std::size_t end = at;
      while (end < line.size() && (is_name_letter(line[end]) || line[end] == '+' || line[end] == '/')) ++end;
      if (end - at >= beginning.size() + kLeast) out.push_back({at, end});
    }
  }
}

/// "https://user:password@host".
void find_in_urls(std::string_view line, Spans& out) {
  for (std::size_t at = 0; (at = line.find("://", at)) != line.npos; ++at) {
    const std::size_t begin = at + 3, at_sign = line.find('@', begin);
    if (at_sign == line.npos || line.find_first_of("/ \t", begin) < at_sign) continue;
    out.push_back({begin, at_sign});
  }
}

/// Hashes, keys in hexadecimal and in base64.
void find_long_words(std::string_view line, Spans& out) {
  constexpr std::size_t kLong = 32;
  for (std::size_t at = 0; at < line.size(); ++at) {
    std::size_t end = at;
    bool upper = false, small = false, digit = false;
    for (; end < line.size() && (is_alnum(line[end]) || line[end] == '+'); ++end) {
      upper = upper || is_upper(line[end]);
      small = small || is_lower(line[end]);
      digit = digit || is_digit(line[end]);
    }
    const bool hex = line.substr(at, end - at).find_first_not_of("0123456789abcdefABCDEF") == line.npos;
    if (end - at >= kLong && digit && (hex || (upper && small))) out.push_back({at, end});
    at = end;
  }
}

Spans merged(Spans spans) {
  std::sort(spans.begin(), spans.end(), [](TextSpan a, TextSpan b) { return a.begin < b.begin; });
  Spans out;
  for (const TextSpan& s : spans) {
    if (s.begin >= s.end) continue;
    if (out.empty() || s.begin > out.back().end)
      out.push_back(s);
    else
      out.back().end = std::max(out.back().end, s.end);
  }
  return out;
}

}  // namespace

std::vector<TextSpan> secrets_in(std::string_view line) {
  Spans out;
  find_named(line, out);
  find_after_words(line, out);
  find_beginnings(line, out);
  find_in_urls(line, out);
  find_long_words(line, out);
  return merged(std::move(out));
}

bool PemBlocks::covers(std::string_view line) {
  constexpr int kMostLines = 100;  // of a key of 4096 bits: 52
  const bool begins = line.find("-----BEGIN ") != line.npos;
  if (begins) left_ = kMostLines;
  const bool inside = left_ > 0;
  left_ = line.find("-----END ") != line.npos ? 0 : std::max(0, left_ - 1);
  return inside;
}

}  // namespace busbar::doctor
