#include "busbar/base/embedded.h"

#include <algorithm>

namespace busbar {

const EmbeddedFile* find_embedded_input(std::string_view name) {
  const auto files = embedded_inputs();
  const auto found = std::find_if(files.begin(), files.end(), [&](const EmbeddedFile& f) { return f.name == name; });
  return found == files.end() ? nullptr : &*found;
}

}  // namespace busbar
