// A bundle: what a maintainer asks for, in one archive, without names of hosts and persons.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "busbar/base/result.h"

namespace busbar::doctor {

/// A file of an archive to write, before redaction.
struct BundleFile {
  std::string name;  ///< as the user knows it
  std::string text;
  std::string missing;  ///< why it is not or not wholly in the archive; empty: it is
};

inline constexpr std::uint64_t kMostOfBundled = 64 << 20;  ///< bytes of one file; the rest is left out

/// Texts of the files that a name stands for (see InputFiles), unpacked if they are packed.
Result<std::vector<BundleFile>> read_for_bundle(const std::string& name);

/// An archive of tar, packed by gzip if asked, with README.txt and the files, redacted (see Redaction). `hosts` and
/// `users` are names to replace in addition to those that lines name. `missing`: what a maintainer will also ask for, a
/// line each.
std::string pack_bundle(std::vector<BundleFile> files, const std::vector<std::string>& hosts,
                        const std::vector<std::string>& users, const std::vector<std::string>& missing, bool gzip);

}  // namespace busbar::doctor
