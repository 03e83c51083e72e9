// Entries of the catalogue.
#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "busbar/base/text.h"
#include "busbar/questions/catalog_question.h"
#include "busbar/views/view.h"

namespace busbar::views {
namespace {

using questions::CatalogRequest;
using questions::CatalogResult;
using questions::ShownEntry;
using questions::ShownFigure;
using questions::ShownParameter;

/// The number as written in the file.
std::string number_of(const ShownFigure& f) {
  const bool own = f.text.ends_with(f.unit);
  std::string text = own ? f.text.substr(0, f.text.size() - f.unit.size()) : f.text;
  while (text.ends_with(' ')) text.pop_back();
  return text;
}

report::Table figure_table(const ShownEntry& entry) {
  report::Table table{fmt::format("{}/{}", entry.folder, entry.name),
                      {report::to_left("figure"), "value", report::to_left("unit"), report::to_left("confidence"),
                       report::to_left("source")}};
  for (const ShownFigure& f : *entry.figures)
    table.rows.push_back({f.path, number_of(f), f.unit, f.confidence.value_or(""), f.source});
  table.note = entry.title;
  if (!entry.aliases->empty()) table.note += fmt::format(". Other names: {}.", comma_list(*entry.aliases));
  return table;
}

report::Table parameter_table(const ShownEntry& entry) {
  report::Table table{fmt::format("Parameters of {}", entry.name),
                      {report::to_left("parameter"), report::to_left("default"), report::to_left("what it is")}};
  for (const ShownParameter& p : *entry.parameters) table.rows.push_back({p.name, p.value, p.help});
  const ShownParameter& first = entry.parameters->front();
  table.note = fmt::format("Set one with --set node.{}={}, or next to 'base: {}' in a file.", first.name, first.value,
                           entry.name);
  return table;
}

/// Of a transport of packets.
report::Table settings_table(const ShownEntry& entry) {
  constexpr std::size_t kPrefix = 7;  // "packet."
  report::Table table{
      fmt::format("transports/{}: settings of packets", entry.name),
      {report::to_left("packet.KEY"), "default", "least", "most", report::to_left("what it is (default: source)")}};
  for (const ShownFigure& f : *entry.figures)
    table.rows.push_back({f.path.substr(kPrefix), f.text, f.least_text, f.most_text, f.source});
  table.note = fmt::format(
      "{}. Change one by --set packet.KEY=VALUE, many by --set packet=FILE.yaml with 'settings:'. Defaults that depend "
      "on the network: 400 Gb/s, two tiers of switches, 500 ns a cable; --json of a run gives those of its network.",
      entry.title);
  return table;
}

/// The entries of a folder with their titles.
report::Table folder_table(const CatalogResult& r, const std::string& folder) {
  report::Table table{"", {report::to_left("entry"), report::to_left("what it is")}};
  for (const ShownEntry& e : r.entries) {
    if (e.folder != folder) continue;
    const bool alone = !e.aliases || e.aliases->empty();
    table.rows.push_back({e.name, alone ? e.title : fmt::format("{} (also {})", e.title, comma_list(*e.aliases))});
  }
  table.title = fmt::format("{} ({})", folder, table.rows.size());
  return table;
}

/// The names of a folder, in one line.
void add_names(const report::Table& folder, report::Document& d) {
  std::string line;
  std::set<std::string> names;  // NCCL and the packet engine have transports of one name
  for (const auto& row : folder.rows)
    if (names.insert(row[0]).second) append_word(line, row[0]);
  d.add(report::Heading{folder.title});
  d.add(report::Paragraph{line});
}

report::Document list_of(const CatalogResult& r) {
  report::Document d{"Catalogue", {}, {}};
  for (const std::string& folder : r.listed) {
    report::Table table = folder_table(r, folder);
    r.listed.size() == 1 ? d.add(std::move(table)) : add_names(table, d);
  }
  d.add(report::Paragraph{
      "'busbar catalog FOLDER' describes each entry; 'busbar catalog NAME' shows each figure of an entry with its "
      "source. Nodes are also clusters: busbar topo NAME, NAME:64."});
  return d;
}

report::Document catalog_document(const CatalogRequest& q, const CatalogResult& r) {
  if (!r.listed.empty()) return list_of(r);
  report::Document d{q.name, {}, {}};
  for (const ShownEntry& entry : r.entries) {
    d.add(entry.parameters ? figure_table(entry) : settings_table(entry));
    if (entry.parameters && !entry.parameters->empty()) d.add(parameter_table(entry));
  }
  return d;
}

}  // namespace

View catalog_view() { return make_view("catalog", catalog_document); }

}  // namespace busbar::views
