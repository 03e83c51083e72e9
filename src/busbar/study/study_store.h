// The finished cells of a study, in an SQLite database that survives the end of the process at any time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/study/study_file.h"

struct sqlite3;

namespace busbar::study {

inline constexpr int kFailedCell = 2;  ///< exit status of a command that could not run

struct StudyRow {
  std::uint64_t cell = 0;
  std::string settings;  ///< JSON object
  int status = 0;        ///< exit status of the command
  std::string message;   ///< of status 1 or 2
  std::string result;    ///< JSON, without what differs from run to run; empty: none
};

/// Tables: study(text), cells(cell, settings, status, message, result). A put() is a transaction: after kill -9 a row
/// is there whole, or not at all. One process at a time. All functions may be called by several threads.
class StudyStore {
 public:
  /// Makes the file if there is none. Errors: kInvalid for a database of another study, one in use, or no database.
  static Result<std::unique_ptr<StudyStore>> open(const std::string& path, const std::string& study_text);
  ~StudyStore();
  StudyStore(const StudyStore&) = delete;
  StudyStore& operator=(const StudyStore&) = delete;

  /// Cells whose command ran, ascending: one that could not run (kFailedCell) is to be tried again.
  Result<std::vector<std::uint64_t>> done();
  /// Replaces an earlier row of the cell.
  Status put(const StudyRow& row);
  /// Every row by ascending cell, until `take` returns an error.
  Status each(const std::function<Status(const StudyRow&)>& take);
  /// Adds the rows of another store of the same study that are not here, or failed here.
  Status merge(const std::string& path);

 private:
  StudyStore(sqlite3* db, std::string path) : db_(db), path_(std::move(path)) {}
  Status run(const char* sql);
  Result<std::string> study_of(const char* schema);
  Error error();

  std::mutex mutex_;  ///< guards db_
  sqlite3* db_;
  std::string path_;
};

}  // namespace busbar::study
