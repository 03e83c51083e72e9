#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "busbar/report/internal/figure_script.h"
#include "busbar/report/internal/html_parts.h"
#include "busbar/report/internal/motion_script.h"
#include "busbar/report/internal/timeline_script.h"
#include "busbar/report/plain.h"
#include "busbar/report/style.h"

namespace busbar::report {
namespace {

// The page must not fetch anything and run nothing but our own script, whatever a name in the data contains.
constexpr std::string_view kPolicy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::string prose_markup(std::string_view text) {
  constexpr std::string_view kUnits = " % s ms us ns h min B kB MB GB TB KiB MiB GiB TiB GB/s TB/s W kW MW ";
  std::string out;
  bool number = false;  // the word before
  for (std::size_t i = 0; i <= text.size();) {
    const std::string_view word = text.substr(i, text.find(' ', i) - i);
    const std::string bare(word.substr(0, word.find_last_not_of(",.;:)") + 1));
    const bool unit = number && !bare.empty() && kUnits.find(' ' + bare + ' ') != std::string_view::npos;
    if (i > 0) out += unit ? "&#160;" : " ";
    out += escape_markup(word);
    number = !word.empty() && is_digit(word.back());
    i += word.size() + 1;
  }
  for (std::size_t at = 1; at + 1 < out.size(); ++at) {
    if (out[at] != '-') continue;
    const std::string_view rest = std::string_view(out).substr(at + 1);
    std::size_t with = rest.starts_with("&gt;") ? 4 : 0;
    if (with == 0 && out[at - 1] >= 'A')
      while (with < rest.size() && is_digit(rest[with])) ++with;
    if (with == 0) continue;
    out.insert(at + 1 + with, "</span>");
    out.insert(at, "<span class=\"n\">");
    at += with + 23;
  }
  return out;
}

namespace {

constexpr std::size_t kTile = 26;  // longest value of a fact that fits in a tile

/// Writes the blocks one after another. Numbers the headings for the table of contents.
struct PageWriter {
  std::string body, contents;
  int headings = 0;
  bool folded = false;

  void unfold() {
    if (folded) body += "</details>\n";
    folded = false;
  }
  void operator()(const Fold& f) {
    unfold();
    body +=
        fmt::format("<details{}><summary>{}</summary>\n", f.printed ? "" : " class=\"screen\"", escape_markup(f.text));
    folded = true;
  }
  void operator()(const Heading& h) {
    unfold();
    const std::string text = escape_markup(h.text);
    body += fmt::format("<h2 id=\"s{}\"{}>{}</h2>\n", ++headings, h.new_page ? " class=\"new\"" : "", text);
    contents += fmt::format("<li><a href=\"#s{}\">{}</a></li>", headings, text);
  }
  void operator()(const Paragraph& p) { body += fmt::format("<p>{}</p>\n", prose_markup(p.text)); }
  void operator()(const Highlight& h) {
    std::string text = prose_markup(h.text);
    const std::string struck = prose_markup(h.struck);
    const std::size_t at = struck.empty() ? std::string::npos : text.find(struck);
    if (at != std::string::npos) text.replace(at, struck.size(), "<s>" + struck + "</s>");
    body += fmt::format("<p class=\"highlight{}\">{}</p>\n", struck.empty() ? "" : " bad", text);
  }
  template <typename Element>
  void operator()(const Element& element) {
    body += html_of(element);
  }
};

/// "+35 %" or "-2.1"
bool is_change(const std::string& cell) {
  const std::size_t end = cell.find_first_not_of("0123456789.", 1);
  return cell.size() > 1 && (cell[0] == '+' || cell[0] == '-') &&
         (end == std::string::npos || (end > 1 && cell.substr(end) == " %"));
}

std::string cell_text(const std::string& cell, const Table& table, const Column& column) {
  if (table.changes && is_change(cell))
    return fmt::format("<b class=\"{}\">{}</b>", cell[0] == '+' ? "worse" : "better", cell);
  if (!(column.bar_max > 0)) return prose_markup(cell);
  const double load = std::strtod(cell.c_str(), nullptr) / column.bar_max;
  const int percent = load > 0 ? static_cast<int>(load < 1 ? load * 100 + 0.5 : 100) : 0;
  return fmt::format("<span class=\"meter\" aria-hidden=\"true\"><i class=\"b{}\" style=\"width:{}%\"></i></span>{}",
                     heat_step(load), percent, escape_markup(cell));
}

std::string row_of(const Table& table, const std::vector<std::string>& cells) {
  static const Column kUnnamed("");
  std::string out = "<tr>";
  for (std::size_t c = 0; c < cells.size(); ++c) {
    const Column& column = c < table.columns.size() ? table.columns[c] : kUnnamed;
    const char* kind = column.align == Align::kRight ? " class=\"r\"" : "";
    const std::string text = cell_text(cells[c], table, column);
    out += c == 0 ? fmt::format("<th scope=\"row\"{}>{}</th>", kind, text) : fmt::format("<td{}>{}</td>", kind, text);
  }
  return out + "</tr>\n";
}

struct PageScript {
  std::string_view sign, text, hash, purpose;  ///< `sign`: of a page that needs it
};
/// Those that figures of the page need.
std::vector<PageScript> scripts_of(std::string_view body) {
  std::vector<PageScript> out;
  for (const PageScript& s :
       {PageScript{"<svg", figure_script(), figure_script_hash(), "save pictures"},
        PageScript{"<figure class=\"explore\">", timeline_script(), timeline_script_hash(), "explore the timeline"},
        PageScript{"<figure class=\"motion\">", motion_script(), motion_script_hash(), "watch the collective"}})
    if (body.find(s.sign) != std::string_view::npos) out.push_back(s);
  return out;
}

constexpr std::size_t kMostResult = std::size_t{4} << 20;  // bytes: a page is to be forwarded

/// The result as data, for `busbar explore PAGE` and other programs.
std::string result_data(const Json& data) {
  if (data.is_null()) return "";
  const std::string text = script_data(data);
  if (text.size() > kMostResult) return "";
  return "<script type=\"application/json\" id=\"result\">" + text + "</script>\n";
}

/// Regions of one name get numbers, so that a list of landmarks tells them apart.
void number_regions(std::string& body) {
  constexpr std::string_view kBegin = "role=\"region\" aria-label=\"";
  std::map<std::string, int> seen;
  for (std::size_t at = body.find(kBegin); at != std::string::npos; at = body.find(kBegin, at + 1)) {
    const std::size_t from = at + kBegin.size(), end = body.find('"', from);
    const int n = ++seen[body.substr(from, end - from)];
    if (n > 1) body.insert(end, fmt::format(" ({})", n));
  }
}

/// What a page shows, in its order: a page begins with the answer, wherever a terminal has it.
std::vector<const BlockElement*> page_elements(const Document& document) {
  std::vector<const BlockElement*> out;
  for (const DocumentBlock& block : document.blocks)
    if (block.audience != Audience::kTerminal) out.push_back(&block.element);
  const auto answer =
      std::find_if(out.begin(), out.end(), [](auto* e) { return std::holds_alternative<Highlight>(*e); });
  if (answer != out.end()) std::rotate(out.begin(), answer, answer + 1);
  return out;
}

}  // namespace

std::string script_data(const Json& data) {
  std::string out;
  for (const char c : data.dump())
    out += c == '<' || c == '>' || c == '&' ? fmt::format("\\u{:04x}", static_cast<unsigned>(c)) : std::string(1, c);
  return out;
}

std::string swatch(int index) { return fmt::format("<span class=\"sw k{}\"></span>", known_colour(index)); }

std::string html_of(const Table& table) {
  const std::string title = escape_markup(table.title);
  std::string out = "<div class=\"block\">";
  if (!title.empty()) out += "<p class=\"title\">" + title + "</p>\n";
  out += fmt::format("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">\n<table>\n",
                     title.empty() ? "table" : title);
  out += "<thead><tr>";
  for (const Column& column : table.columns) {
    const char* const side = column.align == Align::kRight ? " class=\"r\"" : "";
    out += column.title.empty() ? fmt::format("<td{}></td>", side)  // a heading without words would be read as one
                                : fmt::format("<th scope=\"col\"{}>{}</th>", side, escape_markup(column.title));
  }
  out += "</tr></thead>\n<tbody>\n";
  for (const auto& row : table.rows) out += row_of(table, row);
  out += "</tbody>\n</table>\n</div>\n";
  if (!table.note.empty()) out += "<p class=\"note\">" + prose_markup(table.note) + "</p>\n";
  return out + "</div>\n";
}

std::string html_of(const Facts& facts) {
  // Short values are tiles in a row. If one value is a sentence, all become lines of a list.
  const auto is_long = [](const auto& item) { return display_width(item.second) > kTile; };
  const bool list = std::any_of(facts.items.begin(), facts.items.end(), is_long);
  std::string out = fmt::format("<div class=\"facts{}\">\n", list ? " list" : "");
  if (!facts.title.empty()) out += "<p class=\"title\">" + escape_markup(facts.title) + "</p>\n";
  out += "<dl>\n";
  for (const auto& [name, value] : facts.items) {
    out += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", escape_markup(name), prose_markup(value));
  }
  return out + "</dl>\n</div>\n";
}

std::string render_html(const Document& document) {
  PageWriter page;
  for (const BlockElement* element : page_elements(document)) std::visit(page, *element);
  page.unfold();
  number_regions(page.body);
  const std::vector<PageScript> scripts = scripts_of(page.body);
  std::string policy(kPolicy);
  for (const PageScript& s : scripts)
    policy += fmt::format("{} '{}'", &s == scripts.data() ? "; script-src" : "", s.hash);
  const std::string title = document.title.empty() ? "Busbar report" : escape_markup(document.title);
  std::string out = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n";
  out += fmt::format("<meta http-equiv=\"Content-Security-Policy\" content=\"{}\"/>\n", policy);
  out += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n";
  out += "<meta name=\"generator\" content=\"busbar\"/>\n<meta name=\"color-scheme\" content=\"light dark\"/>\n";
  out += fmt::format("<title>{}</title>\n<style>\n{}{}</style>\n</head>\n<body>\n", title, palette_css(":root"),
                     std::string(page_css()) + (page.body.find("<svg") == std::string::npos ? "" : hatch_css()));
  out += "<a class=\"skip\" href=\"#main\">Skip to the results</a>\n<div class=\"page\">\n<header>\n";
  out += fmt::format("<h1>{}</h1>\n", title);
  if (!document.command.empty()) {
    out += fmt::format("<p class=\"command\"><code>{}</code></p>\n", escape_markup(document.command));
  }
  out += "</header>\n";
  if (page.headings > 2) out += "<nav aria-label=\"Contents\"><ul>" + page.contents + "</ul></nav>\n";
  if (page.body.find("<svg") != std::string::npos) out += hatch_svg();
  out += "<main id=\"main\">\n" + page.body + "</main>\n";
  std::string purposes;
  for (const PageScript& s : scripts)
    purposes += fmt::format("{} {}", purposes.empty() ? "" : &s == &scripts.back() ? " and" : ",", s.purpose);
  out += result_data(document.data);
  out += fmt::format("<footer>Made by busbar. This page loads nothing{}</footer>\n",
                     scripts.empty() ? " and runs no script." : "; its scripts only let you" + purposes + ".");
  for (const PageScript& s : scripts) out += fmt::format("<script>{}</script>\n", s.text);
  return out + "</div>\n</body>\n</html>\n";
}

}  // namespace busbar::report
