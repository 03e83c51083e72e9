// The files of one run of a command: what it has read and what it has written.
//
// 1. A pipe gives its bytes once. A run keeps them as far as they were read, so that whoever opens the same pipe again
//    begins with the same bytes.
// 2. An output never replaces an input of the same run, and two outputs never go to one file.
// 3. The contents of all inputs make one digest: what a result depends on beside its settings.
//
// Files are known by device and inode, whatever name they were given. A lock guards all of it.
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

/// While one lives, Input and write_file() follow these rules; without one, each call stands for itself. One at a time:
/// main() has it, because standard input belongs to the process too.
class RunFiles {
 public:
  RunFiles();
  ~RunFiles();
  RunFiles(const RunFiles&) = delete;
  RunFiles& operator=(const RunFiles&) = delete;
  static RunFiles* current();  ///< null: there is none

  void add_input(const std::string& name, const struct stat& file, std::shared_ptr<PipedBytes> pipe);
  /// What was read of a pipe that was opened before; null where it was not.
  std::shared_ptr<PipedBytes> pipe_of(const struct stat& file) const;
  void add_output(const struct stat& file);
  /// Why the file cannot be written, with a remedy; empty: it can be.
  std::string why_not_write(const struct stat& file) const;
  /// Of the contents of all inputs, in the order in which they were opened. Cost: files are read once more.
  std::uint64_t inputs_digest() const;

 private:
  using Id = std::pair<dev_t, ino_t>;
  struct Known {
    Id id;
    std::string name;
    std::shared_ptr<PipedBytes> pipe;  ///< null: a file
  };
  static Id id_of(const struct stat& file) { return {file.st_dev, file.st_ino}; }
  bool knows(Id id) const;

  mutable std::mutex mutex_;  // guards what follows
  std::vector<Known> inputs_;
  std::vector<Id> outputs_;
};

}  // namespace busbar
