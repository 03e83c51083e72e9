#include "busbar/questions/catalog_question.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "busbar/base/text.h"
#include "busbar/questions/machine_request.h"
#include "busbar/questions/packet_transports.h"
#include "busbar/questions/question.h"
#include "busbar/spec/catalog_entry.h"

namespace busbar::questions {

const Record& record_of(const CatalogRequest*) {
  static const Record record("catalog request", {Field("name", &CatalogRequest::name, "",
                                                       "an entry, FOLDER/ENTRY or a folder; absent: all names")
                                                     .takes("NAME")
                                                     .as_word()
                                                     .optional(),
                                                 catalog_field(&CatalogRequest::catalog)});
  return record;
}

const Record& record_of(const ShownFigure*) {
  static const Record record(
      "figure", {{"path", &ShownFigure::path, "", "its key in the file: peak.bf16, links[0].rate"},
                 {"value", &ShownFigure::value, "", "the number; of a setting of packets also a word, or null"},
                 {"unit", &ShownFigure::unit, "", "TB/s; without one, what is counted: lanes, share, m, count"},
                 {"text", &ShownFigure::text, "", "as in the file: 3.35TB/s"},
                 {"source", &ShownFigure::source, "", "of this figure, or of the nearest map around it with a source"},
                 {"confidence", &ShownFigure::confidence, "", "low, medium or high; null: the source states no doubt"},
                 Field("least", &ShownFigure::least, "", "that a setting may be").or_absent(),
                 Field("most", &ShownFigure::most, "", "that a setting may be").or_absent()});
  return record;
}

const Record& record_of(const ShownParameter*) {
  static const Record record("parameter", {{"name", &ShownParameter::name, "", "of --set node.NAME=VALUE"},
                                           {"default", &ShownParameter::value, "", "the value of the entry"},
                                           {"help", &ShownParameter::help, "", "what it does"}});
  return record;
}

const Record& record_of(const ShownEntry*) {
  static const Record record(
      "entry", {{"folder", &ShownEntry::folder, "", "links, nodes, models, ..."},
                {"name", &ShownEntry::name, "", "of its file"},
                {"title", &ShownEntry::title, "", "one line about it"},
                Field("figures", &ShownEntry::figures, "", "absent in lists").or_absent(),
                Field("aliases", &ShownEntry::aliases, "", "its other names").or_absent(),
                Field("parameters", &ShownEntry::parameters, "", "of a node: what --set can change").or_absent(),
                Field("made_of", &ShownEntry::made_of, "", "the entries that it names, once each").or_absent()});
  return record;
}

const Record& record_of(const CatalogResult*) {
  static const Record record(
      "catalog", {{"entries", &CatalogResult::entries, "", "the entries asked for, then those that they consist of"}});
  return record;
}

namespace {

constexpr std::string_view kTransports = "transports";

ShownEntry shown(const spec::CatalogEntry& entry) {
  ShownEntry out{entry.folder, entry.name, entry.title, {}, entry.aliases, {}, entry.made_of};
  out.figures.emplace();
  for (const spec::Figure& f : entry.figures) {
    ShownFigure figure{f.path, f.value, f.unit, f.text, f.source, {}, {}, {}, {}, {}};
    if (!f.confidence.empty()) figure.confidence = f.confidence;
    out.figures->push_back(std::move(figure));
  }
  out.parameters.emplace();
  for (const spec::Parameter& p : entry.parameters) out.parameters->push_back({p.name, p.value, p.help});
  return out;
}

/// The entries of a folder with their titles.
Status list_folder(const std::string& folder, const spec::Catalog& catalog, std::vector<ShownEntry>& out) {
  const std::vector<spec::CatalogAlias> aliases = catalog.aliases(folder);
  for (const std::string& name : catalog.names(folder)) {
    BUSBAR_ASSIGN(std::string title, spec::catalog_title(folder, name, catalog));
    ShownEntry entry{folder, name, std::move(title), {}, std::vector<std::string>(), {}, {}};
    for (const spec::CatalogAlias& a : aliases)
      if (a.entry == name) entry.aliases->push_back(a.alias);
    out.push_back(std::move(entry));
  }
  if (folder == kTransports)
    for (const packet::PacketTransportName& t : packet::packet_transports())
      out.push_back({folder, t.name, packet_transport_title(t), {}, {}, {}, {}});
  return {};
}

Result<CatalogResult> list(const spec::Catalog& catalog, const std::vector<std::string>& folders) {
  CatalogResult out{{}, folders};
  for (const std::string& folder : folders) BUSBAR_RETURN_IF_ERROR(list_folder(folder, catalog, out.entries));
  return out;
}

/// Splits "links/nvlink4"; the folder is empty if the text has none.
std::pair<std::string, std::string> folder_and_name(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) return {"", text};
  return {text.substr(0, slash), text.substr(slash + 1)};
}

/// The transport of packets that this names; null: none.
const packet::PacketTransportName* packet_transport_of(const std::string& wanted) {
  const auto [folder, name] = folder_and_name(wanted);
  return folder.empty() || folder == kTransports ? packet::find_packet_transport(name) : nullptr;
}

/// Names of a folder that may be asked for, each once.
void add_names(const spec::Catalog& catalog, const std::string& folder, std::vector<std::string>& all) {
  for (const std::string& n : catalog.names(folder))
    if (std::find(all.begin(), all.end(), n) == all.end()) all.push_back(n);
  for (spec::CatalogAlias& a : catalog.aliases(folder)) all.push_back(std::move(a.alias));
}

/// Adds the entries that those of `out` consist of, once each.
Status add_parts(const spec::Catalog& catalog, std::vector<spec::CatalogEntry>& out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::vector<std::string> parts = out[i].made_of;  // a copy: `out` grows
    for (const std::string& part : parts) {
      const auto [f, n] = folder_and_name(part);
      bool known = false;
      for (const spec::CatalogEntry& e : out) known = known || (e.folder == f && e.name == n);
      if (known) continue;
      BUSBAR_ASSIGN(spec::CatalogEntry entry, spec::catalog_entry(f, n, catalog));
      out.push_back(std::move(entry));
    }
  }
  return {};
}

/// All entries with this name, then the entries that they consist of.
Result<std::vector<spec::CatalogEntry>> collect(const std::string& wanted, const spec::Catalog& catalog) {
  const auto [folder, word] = folder_and_name(wanted);
  std::vector<spec::CatalogEntry> out;
  std::vector<std::string> all;
  for (const std::string& f : catalog.folders()) {
    if (!folder.empty() && f != folder) continue;
    add_names(catalog, f, all);
    const std::string name = catalog.entry_of(f, word);
    if (!catalog.has(f, name)) continue;
    BUSBAR_ASSIGN(spec::CatalogEntry entry, spec::catalog_entry(f, name, catalog));
    out.push_back(std::move(entry));
  }
  if (out.empty() && packet_transport_of(wanted) != nullptr) return out;
  for (const packet::PacketTransportName& t : packet::packet_transports())
    if (folder.empty() || folder == kTransports) all.emplace_back(t.name);
  if (out.empty())
    return Error{ErrorCode::kNotFound,
                 fmt::format("the catalogue has no '{}'; {}", wanted,
                             suggestion(word, all, "'busbar catalog' lists all entries")),
                 {}};
  BUSBAR_RETURN_IF_ERROR(add_parts(catalog, out));
  return out;
}

}  // namespace

Result<CatalogResult> answer(const CatalogRequest& q, const Context&) {
  const spec::Catalog catalog(q.catalog);
  const std::vector<std::string> folders = catalog.folders();
  if (q.name.empty()) return list(catalog, folders);
  for (const std::string& f : folders)
    if (f == q.name || f + "/" == q.name) return list(catalog, {f});
  BUSBAR_ASSIGN(const std::vector<spec::CatalogEntry> entries, collect(q.name, catalog));
  CatalogResult out;
  for (const spec::CatalogEntry& entry : entries) out.entries.push_back(shown(entry));
  if (const packet::PacketTransportName* const transport = packet_transport_of(q.name))
    out.entries.push_back(settings_entry(*transport));
  return out;
}

Question catalog_question() {
  return make_question<CatalogRequest, CatalogResult>(
      "catalog", "list the known machines, parts and models, with the source of each figure",
      "  busbar catalog\n  busbar catalog nodes\n  busbar catalog dgx-h100\n  busbar catalog links/nvlink4 --json\n"
      "  busbar catalog transports/dcqcn\n",
      80);
}

}  // namespace busbar::questions
