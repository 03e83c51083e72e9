// Machines, parts and models of the catalogue, with the source of each figure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "busbar/base/json.h"
#include "busbar/base/record.h"
#include "busbar/questions/context.h"

namespace busbar::questions {

struct CatalogRequest {
  std::string name;  ///< of an entry, FOLDER/ENTRY or a folder; empty: everything
  std::string catalog;
};
const Record& record_of(const CatalogRequest*);

struct ShownFigure {
  std::string path;
  Json value;  ///< a number; of a setting of packets also a word, or null
  std::string unit, text, source;
  std::optional<std::string> confidence;
  std::optional<Json> least, most;  ///< of a setting
  // For views only:
  std::string least_text, most_text;
};
const Record& record_of(const ShownFigure*);

struct ShownParameter {
  std::string name, value, help;
};
const Record& record_of(const ShownParameter*);

struct ShownEntry {
  std::string folder, name, title;
  std::optional<std::vector<ShownFigure>> figures;  ///< empty: the entry is only listed
  std::optional<std::vector<std::string>> aliases;
  std::optional<std::vector<ShownParameter>> parameters;
  std::optional<std::vector<std::string>> made_of;
};
const Record& record_of(const ShownEntry*);

struct CatalogResult {
  std::vector<ShownEntry> entries;
  // For views only:
  std::vector<std::string> listed;  ///< folders whose entries are listed; empty: entries are shown in full
};
const Record& record_of(const CatalogResult*);

Result<CatalogResult> answer(const CatalogRequest& request, const Context& context = {});

}  // namespace busbar::questions
