#include "busbar/formats/imported.h"

namespace busbar {

void add_unknown(std::vector<UnknownPart>& list, int line, std::string what) {
  for (UnknownPart& u : list) {
    if (u.what != what) continue;
    ++u.count;
    return;
  }
  list.push_back({line, std::move(what), 1});
}

}  // namespace busbar
