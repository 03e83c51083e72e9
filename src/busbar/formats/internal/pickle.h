// Data of Python's pickle, without running anything.
#pragma once

#include <string>
#include <string_view>

#include "busbar/base/json.h"
#include "busbar/base/result.h"

namespace busbar::formats {

bool looks_like_pickle(std::string_view head);

/// Numbers, texts, None, lists, tuples and dictionaries, of protocols 2 to 5; tuples become arrays, and the keys of a
/// dictionary texts. Members with the key `left_out` are skipped. PyTorch's typed lists
/// (torch.jit._pickle) are lists. Anything else (classes, functions, calls) is refused
/// by name. Error kInvalid with the byte; also where the data is cut, is nested deeper than 64 or has above 4 million
/// values. Source: CPython 3.12, Lib/pickletools.py (opcodes and their arguments).
Result<Json> read_pickle(std::string_view bytes, const std::string& name, std::string_view left_out = {});

}  // namespace busbar::formats
