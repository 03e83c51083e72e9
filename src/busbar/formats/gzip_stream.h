// Reads files compressed by gzip (RFC 1952) and unpacks them on the fly.
#pragma once

#include <cstdint>
#include <istream>
#include <memory>
#include <string>
#include <string_view>

#include "busbar/formats/unpacking.h"

namespace busbar {

bool looks_like_gzip(std::string_view head);

/// Unpacks `packed` piece by piece in constant space. The stream ends at the end of the data, where the data is broken,
/// or after `most` bytes; `failure` gives the reason if it is not the end of the data. Several members in sequence are
/// one text, and zeros after the last are ignored, as gzip does.
std::unique_ptr<std::istream> unpack_gzip(std::unique_ptr<std::istream> packed, std::shared_ptr<UnpackFailure> failure,
                                          std::uint64_t most = kMostUnpacked);

/// `text` as one member, without name and time: equal input gives equal bytes with one release of zlib.
std::string pack_gzip(std::string_view text);

}  // namespace busbar
