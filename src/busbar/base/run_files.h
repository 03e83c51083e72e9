// The files of one run of a command: its inputs and its outputs.
//
// 1. A pipe gives its bytes only once. A run keeps the bytes read so far, so that every later open of the same pipe
//    begins with the same bytes.
// 2. An output never replaces an input of the same run, and two outputs never go to one file.
// 3. The contents of all inputs give one digest: results depend on it and on the settings.
//
// Files are identified by device and inode, not by name. A lock guards all data.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "busbar/base/result.h"

namespace busbar {

class PipedBytes;
struct EmbeddedFile;

/// While an object exists, Input and write_file() follow these rules; without one, calls are independent. At most one
/// exists per thread: that which runs a command owns it.
class RunFiles {
 public:
  RunFiles();
  ~RunFiles();
  RunFiles(const RunFiles&) = delete;
  RunFiles& operator=(const RunFiles&) = delete;
  static RunFiles* current();  ///< null: none exists

  void add_input(const std::string& name, const struct stat& file, std::shared_ptr<PipedBytes> pipe);
  void add_embedded(const EmbeddedFile& file);
  /// Embedded inputs that were read, in the order of opening.
  std::vector<const EmbeddedFile*> embedded() const;
  /// The bytes read from a pipe that was opened before; null if it was not.
  std::shared_ptr<PipedBytes> pipe_of(const struct stat& file) const;
  void add_output(const struct stat& file);
  /// Why the file must not be written, with a remedy; empty: it may be.
  std::string why_not_write(const struct stat& file) const;
  /// Digest of the contents of all inputs, in the order of opening. Cost: reads the files again.
  std::uint64_t inputs_digest() const;

 private:
  using Id = std::pair<dev_t, ino_t>;
  struct Known {
    Id id{};
    std::string name{};
    std::shared_ptr<PipedBytes> pipe{};      ///< null: a file
    const EmbeddedFile* embedded = nullptr;  ///< null: a file or a pipe
    std::uint64_t digest() const;
  };
  static Id id_of(const struct stat& file) { return {file.st_dev, file.st_ino}; }
  bool knows(Id id) const;

  mutable std::mutex mutex_;  // guards the members below
  std::vector<Known> inputs_;
  std::vector<Id> outputs_;
};

}  // namespace busbar
