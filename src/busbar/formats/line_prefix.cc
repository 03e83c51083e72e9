#include "busbar/formats/line_prefix.h"

#include <algorithm>
#include <map>

#include "busbar/formats/lines.h"

namespace busbar::formats {
namespace {

constexpr int kMostRank = 1 << 24;
constexpr std::size_t kAlike = 3;  ///< lines

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_name(char c) { return is_digit(c) || is_letter(c) || c == '-' || c == '.'; }

/// Length of the text that has the shape: '9' stands for a digit, '_' for a digit or a blank, the rest for itself.
std::size_t shaped(std::string_view text, std::string_view shape) {
  if (text.size() < shape.size()) return 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const bool fits = shape[i] == '9'   ? is_digit(text[i])
                      : shape[i] == '_' ? is_digit(text[i]) || text[i] == ' '
                                        : text[i] == shape[i];
    if (!fits) return 0;
  }
  return shape.size();
}

std::size_t count_digits(std::string_view text) {
  return static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_digit) - text.begin());
}

bool is_one_of(std::string_view word, std::string_view list) {
  const std::size_t at = list.find(word);
  return word.size() == 3 && at != list.npos && at % 3 == 0;
}
bool begins_with_month(std::string_view text) {
  return text.size() > 3 && text[3] == ' ' && is_one_of(text.substr(0, 3), "JanFebMarAprMayJunJulAugSepOctNovDec");
}
bool begins_with_weekday(std::string_view text) {
  return text.size() > 3 && text[3] == ' ' && is_one_of(text.substr(0, 3), "MonTueWedThuFriSatSun");
}

/// ".123456" or ",123"
std::size_t fraction(std::string_view text) {
  if (text.empty() || (text[0] != '.' && text[0] != ',')) return 0;
  const std::size_t n = count_digits(text.substr(1));
  return n == 0 ? 0 : n + 1;
}

/// "2026-11-24T12:00:00.5+01:00"
std::size_t full_time(std::string_view text) {
  constexpr std::size_t kYear = 4, kDate = 10;
  if (text.size() < kDate + 9 || text[kYear] != '-') return 0;
  std::size_t n = shaped(text, text[kDate] == 'T' ? "9999-99-99T99:99:99" : "9999-99-99 99:99:99");
  if (n == 0) return 0;
  n += fraction(text.substr(n));
  const std::string_view zone = text.substr(n);
  if (zone.starts_with('Z')) return n + 1;
  if (!zone.starts_with('+') && !zone.starts_with('-')) return n;
  const std::size_t long_zone = shaped(zone.substr(1), "99:99");
  const std::size_t zone_size = long_zone > 0 ? long_zone : shaped(zone.substr(1), "9999");
  return zone_size > 0 ? n + 1 + zone_size : n;
}

/// "Nov 24 12:00:00" of RFC 3164
std::size_t short_time(std::string_view text) {
  if (!begins_with_month(text)) return 0;
  const std::size_t n = shaped(text.substr(4), "_9 99:99:99");
  return n == 0 ? 0 : 4 + n + fraction(text.substr(4 + n));
}

/// "Tue Nov 24 12:00:00 2026" of C's asctime()
std::size_t date_time(std::string_view text) {
  if (!begins_with_weekday(text) || !begins_with_month(text.substr(4))) return 0;
  const std::size_t n = shaped(text.substr(8), "_9 99:99:99 9999");
  return n == 0 ? 0 : 8 + n;
}

/// The text of a label in the style, which is a line's beginning; `size`: with what follows it.
std::string_view number_label(std::string_view line, std::size_t& size) {
  const std::size_t from = std::min(line.find_first_not_of(' '), line.size());
  const std::size_t n = count_digits(line.substr(from));
  const std::string_view rest = line.substr(from + n);
  if (n == 0 || n > 6 || !(rest == ":" || rest.starts_with(": "))) return {};
  size = from + n + std::min<std::size_t>(rest.size(), 2);
  return line.substr(from, n);
}

std::string_view bracket_label(std::string_view line, std::size_t& size) {
  if (!line.starts_with('[')) return {};
  const std::size_t n = count_digits(line.substr(1));
  const std::string_view rest = line.substr(1 + n);
  if (n == 0 || n > 6 || !(rest == "]" || rest.starts_with("] "))) return {};
  size = 1 + n + std::min<std::size_t>(rest.size(), 2);
  return line.substr(1, n);
}

/// A name of letters, digits, '-' and '.', with at least one letter and one digit.
std::string_view host_name(std::string_view text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_name);
  const std::string_view name = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  constexpr std::size_t kLongest = 253;  // RFC 1035
  const bool fits = name.size() <= kLongest && std::any_of(name.begin(), name.end(), is_digit) &&
                    std::any_of(name.begin(), name.end(), is_letter);
  return fits ? name : std::string_view();
}

std::string_view host_label(std::string_view line, std::size_t& size) {
  const std::string_view name = host_name(line);
  const std::string_view rest = line.substr(name.size());
  if (name.empty() || !(rest == ":" || rest.starts_with(": "))) return {};
  size = name.size() + std::min<std::size_t>(rest.size(), 2);
  return name;
}

std::string_view bar_label(std::string_view line, std::size_t& size) {
  const auto end = std::find_if_not(line.begin(), line.end(), [](char c) { return is_name(c) || c == '_'; });
  const auto n = static_cast<std::size_t>(end - line.begin());
  const std::size_t bar = std::min(line.find_first_not_of(' ', n), line.size());
  const std::string_view rest = line.substr(bar);
  if (n == 0 || bar == n || !(rest == "|" || rest.starts_with("| "))) return {};
  size = bar + std::min<std::size_t>(rest.size(), 2);
  return line.substr(0, n);
}

struct LabelStyle {
  bool LabelStyles::*on;
  std::string_view (*label)(std::string_view line, std::size_t& size);
  bool is_rank, is_host;
};
constexpr LabelStyle kLabelStyles[] = {{&LabelStyles::number, number_label, true, false},
                                       {&LabelStyles::bracket, bracket_label, true, false},
                                       {&LabelStyles::host, host_label, false, true},
                                       {&LabelStyles::bar, bar_label, false, false}};

bool is_any(LabelStyles s) { return s.number || s.bracket || s.host || s.bar; }

/// Takes one part of the prefix after the other.
class Peeler {
 public:
  Peeler(std::string_view line, LabelStyles styles) : line_(line), styles_(styles) {}

  LinePrefix peel() {
    constexpr int kMostParts = 6;
    for (int part = 0; part < kMostParts && take_part(); ++part) {
    }
    return out_;
  }

 private:
  std::string_view rest() const { return line_.substr(out_.length); }
  bool advance(std::size_t n) {
    out_.length += n;
    return n > 0;
  }

  bool take_part() {
    const std::string_view text = rest();
    if (text.empty()) return false;
    if (text[0] == '[' && take_bracket(text)) return true;
    if (text[0] == '(' && take_worker(text)) return true;
    if (is_digit(text[0]) && take_time(text)) return true;
    if (is_letter(text[0]) && take_word(text)) return true;
    return take_label(text);
  }

  void set_rank(std::string_view number) { LineCursor(number).integer(out_.rank, 0, kMostRank); }
  void add_label(std::string_view label) {
    const auto free = std::find(out_.labels.begin(), out_.labels.end(), std::string_view());
    if (free != out_.labels.end()) *free = label;
  }

  /// The part, with a blank after it if there is one.
  bool pass(std::size_t n) { return advance(n + (line_.substr(out_.length + n).starts_with(' ') ? 1 : 0)); }

  bool take_time(std::string_view text) {
    const std::size_t n = full_time(text);
    if (n == 0 || (n < text.size() && text[n] != ' ' && text[n] != '\t')) return false;
    out_.time = text.substr(0, n);
    advance(std::min(n + 1, text.size()));
    if (out_.time[10] == 'T' && !take_runtime(rest())) take_logger(rest(), true);
    return true;
  }

  /// CRI: "stdout F ".
  bool take_runtime(std::string_view text) {
    constexpr std::size_t kStream = 6;  // both names
    if (!text.starts_with("stdout ") && !text.starts_with("stderr ")) return false;
    const std::string_view tag = text.substr(kStream + 1);
    if (!(tag.starts_with("F") || tag.starts_with("P")) || (tag.size() > 1 && tag[1] != ' ')) return false;
    out_.stream = text.substr(0, kStream);
    out_.partial = tag[0] == 'P';
    return advance(kStream + 1 + std::min<std::size_t>(tag.size(), 2));
  }

  /// "host prog[pid]: " or "host kernel: "; with `strict` no other program without a number.
  bool take_logger(std::string_view text, bool strict) {
    const std::size_t host = text.find(' ');
    if (host == 0 || host == text.npos || !std::all_of(text.begin(), text.begin() + host, is_name)) return false;
    const std::string_view after = text.substr(host + 1);
    const std::size_t colon = after.find(": ");
    const std::string_view program = after.substr(0, colon);
    if (colon == after.npos || program.empty() || program.find(' ') != program.npos) return false;
    if (strict && !program.ends_with(']') && program != "kernel") return false;
    out_.host = text.substr(0, host);
    add_label(text.substr(0, host + 1 + program.size()));
    return advance(host + 1 + colon + 2);
  }

  /// A part that begins with a letter.
  bool take_word(std::string_view text) {
    if (const std::size_t n = short_time(text); n > 0 && text.substr(n).starts_with(' ')) {
      out_.time = text.substr(0, n);
      advance(n + 1);
      take_logger(rest(), false);
      return true;
    }
    const std::size_t n = date_time(text);
    if (n == 0) return false;
    out_.time = text.substr(0, n);
    if (text[n < text.size() ? n : 0] != '<') return pass(n);
    advance(n);
    return take_stream(rest());
  }

  /// "<stdout>:"
  bool take_stream(std::string_view text) {
    const std::size_t end = text.find(">:");
    if (!text.starts_with("<std") || end == text.npos || end > 7) return false;
    out_.stream = text.substr(1, end - 1);
    return pass(end + 2);
  }

  bool take_bracket(std::string_view text) {
    const std::size_t end = text.find(']');
    if (end == text.npos || end < 2) return false;
    const std::string_view inside = text.substr(1, end - 1), after = text.substr(end + 1);
    if (inside.starts_with("pod/") && (after.empty() || after[0] == ' ')) {
      add_label(inside);
      return pass(end + 1);
    }
    if (after.starts_with("<std")) return take_tag(inside, end + 1);
    if (after.starts_with(':') && is_role(inside)) {
      add_label(inside);
      if (inside.starts_with("rank")) set_rank(inside.substr(4));
      return pass(end + 2);
    }
    const bool time = full_time(inside) == inside.size() || date_time(inside) == inside.size() || is_uptime(inside);
    if (!time || !after.starts_with(' ')) return false;
    out_.time = inside;
    return pass(end + 1);
  }

  /// Open MPI: "[1,0]<stdout>:", "[prterun-gpu01-77@1,0]<stdout>: ".
  bool take_tag(std::string_view inside, std::size_t size) {
    const std::size_t comma = inside.rfind(',');
    if (comma == inside.npos || count_digits(inside.substr(comma + 1)) != inside.size() - comma - 1) return false;
    const LinePrefix before = out_;
    advance(size);
    if (!take_stream(rest())) {
      out_ = before;
      return false;
    }
    add_label(inside);
    set_rank(inside.substr(comma + 1));
    return true;
  }

  /// Ray: "(WorkerDict pid=4711, ip=10.0.0.3)".
  bool take_worker(std::string_view text) {
    constexpr std::string_view kProcess = " pid=";
    const std::size_t end = text.find(')'), process = text.find(kProcess);
    if (end == text.npos || process == text.npos || process < 2 || process > end) return false;
    const std::string_view inside = text.substr(1, end - 1), after = text.substr(process + kProcess.size());
    const std::size_t digits = count_digits(after), close = process + kProcess.size() + digits;
    const bool closes = text[close] == ')' || text.substr(close).starts_with(", ip=");
    if (digits == 0 || !closes || inside.substr(0, process - 1).find(' ') != inside.npos) return false;
    add_label(inside);
    return pass(end + 1);
  }

  /// "default0", "rank12": small letters and a number.
  static bool is_role(std::string_view name) {
    const auto number = std::find_if(name.begin(), name.end(), is_digit);
    return number != name.begin() && number != name.end() && std::all_of(number, name.end(), is_digit) &&
           std::all_of(name.begin(), number, [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
  }

  /// "   12.345678", seconds since the start of the kernel
  static bool is_uptime(std::string_view text) {
    text = trimmed(text);
    const std::size_t n = count_digits(text), part = n > 0 ? fraction(text.substr(n)) : 0;
    return part == 7 && n + part == text.size();
  }

  bool take_label(std::string_view text) {
    if (!is_any(styles_)) return false;
    for (const LabelStyle& style : kLabelStyles) {
      std::size_t size = 0;
      const std::string_view label = styles_.*style.on ? style.label(text, size) : std::string_view();
      if (label.empty()) continue;
      styles_.*style.on = false;  // at most once per line
      add_label(label);
      if (style.is_rank) set_rank(label);
      if (style.is_host) out_.host = label;
      return advance(size);
    }
    return false;
  }

  const std::string_view line_;
  LabelStyles styles_;
  LinePrefix out_;
};

bool is_repeated(const std::map<std::string_view, std::size_t>& labels) {
  return std::any_of(labels.begin(), labels.end(), [](const auto& label) { return label.second >= kAlike; });
}

/// `known` and the styles of what follows them.
LabelStyles added_styles(std::string_view sample, LabelStyles known) {
  std::map<std::string_view, std::size_t> seen[std::size(kLabelStyles)];
  std::size_t lines = 0, labelled[std::size(kLabelStyles)] = {};
  LineSource source = LineSource::of_text(sample, "");
  for (std::string_view line; source.next(line);) {
    line.remove_prefix(Peeler(line, known).peel().length);
    if (trimmed(line).empty()) continue;
    ++lines;
    for (std::size_t s = 0; s < std::size(kLabelStyles); ++s) {
      std::size_t size = 0;
      const std::string_view label = kLabelStyles[s].label(line, size);
      if (label.empty()) continue;
      ++labelled[s];
      ++seen[s][label];
    }
  }
  for (std::size_t s = 0; s < std::size(kLabelStyles); ++s)
    if (2 * labelled[s] >= lines && is_repeated(seen[s])) known.*kLabelStyles[s].on = true;
  return known;
}

}  // namespace

std::string LinePrefix::source() const {
  std::string out;
  for (const std::string_view label : labels) {
    if (label.empty()) break;
    if (!out.empty()) out += ' ';
    out += label;
  }
  return out;
}

LabelStyles label_styles(std::string_view sample) {
  const LabelStyles outer = added_styles(sample, {});
  return is_any(outer) ? added_styles(sample, outer) : outer;  // "gpu-a01: 3: "
}

LinePrefix prefix_of(std::string_view line, LabelStyles labels) { return Peeler(line, labels).peel(); }

std::string without_prefixes(std::string_view text) {
  LineSource source = LineSource::of_text(text, "");
  source.skip_prefixes();
  std::string out;
  for (std::string_view line; source.next(line);) (out += line) += '\n';
  return out;
}

void remove_terminal_commands(std::string_view line, std::string& out) {
  constexpr char kEscape = '\x1b';
  out.clear();
  while (!line.empty()) {
    const std::size_t at = std::min(line.find(kEscape), line.size());
    out += line.substr(0, at);
    line.remove_prefix(at);
    if (line.empty()) return;
    if (!line.substr(1).starts_with('[')) {
      line.remove_prefix(1);
      continue;
    }
    const auto last = std::find_if(line.begin() + 2, line.end(), [](char c) { return c >= '@' && c <= '~'; });
    line.remove_prefix(std::min<std::size_t>(static_cast<std::size_t>(last - line.begin()) + 1, line.size()));
  }
}

}  // namespace busbar::formats
