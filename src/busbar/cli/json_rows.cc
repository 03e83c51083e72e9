#include "busbar/cli/json_rows.h"

#include "busbar/base/output.h"

namespace busbar::cli {
namespace {

void append(const Type& type, const void* of, std::string& out);

void append(const Record& record, const void* of, std::string& out) {
  out += '{';
  for (const Field& f : record.fields()) {
    const void* const value = f.at(of);
    if (f.absent_if_empty && f.type->size != nullptr && f.type->size(value) == 0) continue;
    out += out.back() == '{' ? "\"" : ",\"";
    out += f.name;
    out += "\":";
    append(*f.type, value, out);
  }
  out += '}';
}

/// As to_json(type, of).dump(), in less time: it makes no objects.
void append(const Type& type, const void* of, std::string& out) {
  if (type.write != nullptr) {
    out += type.write(of).dump();
  } else if (type.kind == TypeKind::kRecord) {
    append(type.record(), of, out);
  } else if (type.kind == TypeKind::kOptional && type.size(of) > 0) {
    append(*type.inner, type.at(of, 0), out);
  } else {
    out += to_json(type, of).dump();
  }
}

}  // namespace

Status write_json(const Json& data, const Field& rows, const void* list) {
  constexpr std::size_t kAtOnce = 60'000;  // characters
  // Only keys of the report itself follow a line break and two spaces.
  const std::string place = "\n  " + Json(rows.name).dump() + ": ";
  const std::string text = data.dump(2);
  const std::size_t at = text.find(place) + place.size(), count = rows.type->size(list);
  std::string out = text.substr(0, at) + "[";
  for (std::size_t i = 0; i < count; ++i) {
    out += i == 0 ? "\n    " : ",\n    ";
    append(*rows.type->inner, rows.type->at(list, i), out);
    if (out.size() < kAtOnce) continue;
    BUSBAR_RETURN_IF_ERROR(write_stdout(out));
    out.clear();
  }
  out += (count > 0 ? "\n  ]" : "]") + text.substr(at + 1) + "\n";
  return write_stdout(out);
}

}  // namespace busbar::cli
