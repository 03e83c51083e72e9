// Files compressed by gzip (RFC 1952), unpacked while they are read.
#pragma once

#include <cstdint>
#include <istream>
#include <memory>
#include <string>
#include <string_view>

#include "busbar/base/result.h"

namespace busbar {

inline constexpr std::uint64_t kMostUnpacked = std::uint64_t{1} << 30;

bool looks_like_gzip(std::string_view head);

/// Why unpacking stopped. A reader that sees a stream end early looks here for the cause.
struct GzipFailure {
  std::string message;  ///< empty: nothing failed
};

/// Unpacks `packed`, piece by piece, in constant space. The stream ends at the end of the data, or where they are
/// broken or come to more than `most` bytes: then `failure` says why. Several members one after another are one text,
/// and zeros after the last are passed over, as by gzip itself.
std::unique_ptr<std::istream> unpack_gzip(std::unique_ptr<std::istream> packed, std::shared_ptr<GzipFailure> failure,
                                          std::uint64_t most = kMostUnpacked);

/// Ok where nothing failed; else the failure with the file's name.
Status status_of(const GzipFailure& failure, const std::string& name);

}  // namespace busbar
