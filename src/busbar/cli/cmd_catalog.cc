#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <set>

#include "busbar/base/json.h"
#include "busbar/base/text.h"
#include "busbar/cli/commands.h"
#include "busbar/cli/packet_transports.h"
#include "busbar/cli/session.h"
#include "busbar/spec/catalog_entry.h"

namespace busbar {
namespace {

constexpr std::string_view kTransports = "transports";

struct CatalogFlags {
  std::string name;
  CommonOptions common;
};

Json to_json(const Figure& f) {
  Json j{{"path", f.path}, {"value", f.value}, {"unit", f.unit}, {"text", f.text}, {"source", f.source}};
  j["confidence"] = f.confidence.empty() ? Json(nullptr) : Json(f.confidence);
  return j;
}

Json to_json(const CatalogEntry& entry) {
  Json j{{"folder", entry.folder}, {"name", entry.name}, {"title", entry.title}};
  j["figures"] = Json::array();
  for (const Figure& f : entry.figures) j["figures"].push_back(to_json(f));
  j["aliases"] = entry.aliases;
  j["parameters"] = Json::array();
  for (const Parameter& p : entry.parameters)
    j["parameters"].push_back({{"name", p.name}, {"default", p.value}, {"help", p.help}});
  j["made_of"] = entry.made_of;
  return j;
}

/// The number as written in the file.
std::string number_of(const Figure& f) {
  const bool own = f.text.ends_with(f.unit);
  std::string text = own ? f.text.substr(0, f.text.size() - f.unit.size()) : f.text;
  while (text.ends_with(' ')) text.pop_back();
  return text;
}

Table figure_table(const CatalogEntry& entry) {
  Table table{fmt::format("{}/{}", entry.folder, entry.name),
              {to_left("figure"), "value", to_left("unit"), to_left("confidence"), to_left("source")}};
  for (const Figure& f : entry.figures) {
    table.rows.push_back({f.path, number_of(f), f.unit, f.confidence, f.source});
  }
  table.note = entry.title;
  std::string names;
  for (const std::string& alias : entry.aliases) append_word(names, alias);
  if (!names.empty()) table.note += fmt::format(". Other names: {}.", names);
  return table;
}

Table parameter_table(const CatalogEntry& entry) {
  Table table{fmt::format("Parameters of {}", entry.name),
              {to_left("parameter"), to_left("default"), to_left("what it is")}};
  for (const Parameter& p : entry.parameters) table.rows.push_back({p.name, p.value, p.help});
  const Parameter& first = entry.parameters.front();
  table.note = fmt::format("Set one with --set node.{}={}, or next to 'base: {}' in a file.", first.name, first.value,
                           entry.name);
  return table;
}

/// The entries of a folder with their titles.
Result<Table> folder_table(const std::string& folder, const Catalog& catalog, Json& entries) {
  Table table;
  table.columns = {to_left("entry"), to_left("what it is")};
  const std::vector<CatalogAlias> aliases = catalog.aliases(folder);
  for (const std::string& name : catalog.names(folder)) {
    BUSBAR_ASSIGN(const std::string title, catalog_title(folder, name, catalog));
    Json others = Json::array();
    std::string words;
    for (const CatalogAlias& a : aliases) {
      if (a.entry != name) continue;
      others.push_back(a.alias);
      append_word(words, a.alias);
    }
    entries.push_back({{"folder", folder}, {"name", name}, {"title", title}, {"aliases", std::move(others)}});
    table.rows.push_back({name, words.empty() ? title : fmt::format("{} (also {})", title, words)});
  }
  if (folder == kTransports) {
    for (const PacketTransportName& t : packet_transports()) {
      entries.push_back({{"folder", folder}, {"name", t.name}, {"title", packet_transport_title(t)}});
      table.rows.push_back({t.name, packet_transport_title(t)});
    }
  }
  table.title = fmt::format("{} ({})", folder, table.rows.size());
  return table;
}

/// Lists the names of all folders, or one folder with titles.
Result<int> list(const CatalogFlags& o, const Catalog& catalog, const std::vector<std::string>& folders) {
  Json data{{"schema", "busbar.catalog/1"}, {"entries", Json::array()}};
  Document document{"Catalogue", o.common.typed, {}};
  for (const std::string& folder : folders) {
    BUSBAR_ASSIGN(Table table, folder_table(folder, catalog, data["entries"]));
    if (folders.size() == 1) {
      document.add(std::move(table));
      continue;
    }
    std::string line;
    std::set<std::string> names;  // NCCL and the packet engine have transports of one name
    for (const auto& row : table.rows)
      if (names.insert(row[0]).second) append_word(line, row[0]);
    document.add(Heading{table.title});
    document.add(Paragraph{line});
  }
  document.add(Paragraph{
      "'busbar catalog FOLDER' describes each entry; 'busbar catalog NAME' shows each figure of an entry with its "
      "source. Nodes are also clusters: busbar topo NAME, NAME:64."});
  return deliver(o.common, data, document);
}

/// Splits "links/nvlink4"; the folder is empty if the text has none.
std::pair<std::string, std::string> folder_and_name(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) return {"", text};
  return {text.substr(0, slash), text.substr(slash + 1)};
}

/// The transport of packets that this names; null: none.
const PacketTransportName* packet_transport_of(const std::string& wanted) {
  const auto [folder, name] = folder_and_name(wanted);
  return folder.empty() || folder == kTransports ? find_packet_transport(name) : nullptr;
}

/// All entries with this name, then the entries that they consist of, once each.
Result<std::vector<CatalogEntry>> collect(const std::string& wanted, const Catalog& catalog) {
  const auto [folder, word] = folder_and_name(wanted);
  std::vector<CatalogEntry> out;
  std::vector<std::string> all;
  for (const std::string& f : catalog.folders()) {
    if (!folder.empty() && f != folder) continue;
    for (const std::string& n : catalog.names(f))
      if (std::find(all.begin(), all.end(), n) == all.end()) all.push_back(n);
    for (CatalogAlias& a : catalog.aliases(f)) all.push_back(std::move(a.alias));
    const std::string name = catalog.entry_of(f, word);
    if (!catalog.has(f, name)) continue;
    BUSBAR_ASSIGN(CatalogEntry entry, catalog_entry(f, name, catalog));
    out.push_back(std::move(entry));
  }
  if (out.empty() && packet_transport_of(wanted) != nullptr) return out;
  for (const PacketTransportName& t : packet_transports())
    if (folder.empty() || folder == kTransports) all.emplace_back(t.name);
  if (out.empty())
    return Error{ErrorCode::kNotFound,
                 fmt::format("the catalogue has no '{}'; {}", wanted,
                             suggestion(word, all, "'busbar catalog' lists all entries")),
                 {}};
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::vector<std::string> parts = out[i].made_of;  // a copy: `out` grows
    for (const std::string& part : parts) {
      const auto [f, n] = folder_and_name(part);
      bool known = false;
      for (const CatalogEntry& e : out) known = known || (e.folder == f && e.name == n);
      if (known) continue;
      BUSBAR_ASSIGN(CatalogEntry entry, catalog_entry(f, n, catalog));
      out.push_back(std::move(entry));
    }
  }
  return out;
}

Result<int> show(const CatalogFlags& o, const Catalog& catalog) {
  BUSBAR_ASSIGN(const auto entries, collect(o.name, catalog));
  Json data{{"schema", "busbar.catalog/1"}, {"entries", Json::array()}};
  Document document{o.name, o.common.typed, {}};
  for (const CatalogEntry& entry : entries) {
    data["entries"].push_back(to_json(entry));
    document.add(figure_table(entry));
    if (!entry.parameters.empty()) document.add(parameter_table(entry));
  }
  if (const PacketTransportName* transport = packet_transport_of(o.name)) {
    data["entries"].push_back(settings_entry(*transport));
    document.add(settings_table(*transport));
  }
  return deliver(o.common, data, document);
}

Result<int> run(const CatalogFlags& o) {
  const Catalog catalog(o.common.overrides.catalog);
  const std::vector<std::string> folders = catalog.folders();
  if (o.name.empty()) return list(o, catalog, folders);
  for (const std::string& f : folders) {
    if (f == o.name || f + "/" == o.name) return list(o, catalog, {f});
  }
  return show(o, catalog);
}

}  // namespace

Command catalog_command(const std::string& typed) {
  auto o = std::make_shared<CatalogFlags>();
  Command c = new_command(o->common, typed, "catalog",
                          "list the known machines, parts and models, with the source of each figure");
  c.examples =
      "  busbar catalog\n  busbar catalog nodes\n  busbar catalog dgx-h100\n  busbar catalog links/nvlink4 --json\n"
      "  busbar catalog transports/dcqcn\n";
  c.positionals = {{"NAME", "an entry, FOLDER/ENTRY or a folder; absent: all names", &o->name, false}};
  c.flags = {{"--catalog", "DIR", "read product data from DIR before $BUSBAR_CATALOG and the built-in files", "Machine",
              &o->common.overrides.catalog},
             {"--json", "", "one JSON object on stdout instead of text", "Output", &o->common.json},
             {"--csv", "", "the figures as CSV instead of text, one per line", "Output", &o->common.csv},
             {"--html", "FILE", "also write a self-contained page", "Output", &o->common.html}};
  c.run = [o] { return run(*o); };
  return c;
}

}  // namespace busbar
