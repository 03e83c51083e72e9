#include "busbar/study/study_store.h"

#include <fmt/core.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cstring>
#include <utility>

namespace busbar::study {
namespace {

/// A prepared statement.
class Statement {
 public:
  Statement(sqlite3* db, const char* sql) { code_ = sqlite3_prepare_v2(db, sql, -1, &handle_, nullptr); }
  ~Statement() { sqlite3_finalize(handle_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  bool ok() const { return code_ == SQLITE_OK; }
  bool next() { return (code_ = sqlite3_step(handle_)) == SQLITE_ROW; }
  bool done() const { return code_ == SQLITE_DONE; }
  void bind(int at, std::int64_t value) { sqlite3_bind_int64(handle_, at, value); }
  void bind(int at, const std::string& text) {
    sqlite3_bind_text(handle_, at, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
  }
  std::int64_t number(int at) { return sqlite3_column_int64(handle_, at); }
  std::string text(int at) {
    const unsigned char* const text = sqlite3_column_text(handle_, at);
    return text == nullptr ? "" : reinterpret_cast<const char*>(text);
  }

 private:
  sqlite3_stmt* handle_ = nullptr;
  int code_ = SQLITE_OK;
};

constexpr const char* kTables =
    "CREATE TABLE IF NOT EXISTS study(text TEXT NOT NULL) STRICT;"
    "CREATE TABLE IF NOT EXISTS cells(cell INTEGER PRIMARY KEY, settings TEXT NOT NULL, status INTEGER NOT NULL,"
    " message TEXT NOT NULL, result TEXT NOT NULL) STRICT;";

}  // namespace

Error StudyStore::error() {
  const int code = sqlite3_errcode(db_);
  std::string why = sqlite3_errmsg(db_);
  if (code == SQLITE_BUSY) why = "is in use by another process; wait for it, or write to another file with --out";
  if (code == SQLITE_CANTOPEN && sqlite3_system_errno(db_) != 0)
    why = fmt::format("cannot be opened: {}", std::strerror(sqlite3_system_errno(db_)));
  if (code == SQLITE_NOTADB) why = "is no SQLite database; name another file with --out";
  return Error{
      code == SQLITE_FULL || code == SQLITE_IOERR ? ErrorCode::kIo : ErrorCode::kInvalid, why, {path_, 0, 0, ""}};
}

Status StudyStore::run(const char* sql) {
  if (sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return error();
}

Result<std::string> StudyStore::study_of(const char* schema) {
  Statement s(db_, fmt::format("SELECT text FROM {}.study", schema).c_str());
  if (!s.ok()) return error();
  if (s.next()) return s.text(0);
  if (!s.done()) return error();
  return std::string();
}

Result<std::unique_ptr<StudyStore>> StudyStore::open(const std::string& path, const std::string& study_text) {
  sqlite3* db = nullptr;
  const int opened = sqlite3_open(path.c_str(), &db);
  std::unique_ptr<StudyStore> out(new StudyStore(db, path));
  if (opened != SQLITE_OK) return out->error();
  // A log that the only process appends to: no wait for the disk at each row, and rows are safe from the process's end.
  for (const char* sql :
       {"PRAGMA locking_mode=EXCLUSIVE", "PRAGMA journal_mode=WAL", "PRAGMA synchronous=NORMAL", kTables})
    BUSBAR_RETURN_IF_ERROR(out->run(sql));
  BUSBAR_ASSIGN(const std::string known, out->study_of("main"));
  if (known.empty()) {
    Statement s(db, "INSERT INTO study VALUES(?)");
    if (!s.ok()) return out->error();
    s.bind(1, study_text);
    s.next();
    if (!s.done()) return out->error();
  } else if (known != study_text) {
    return invalid("has the cells of another study, or of this one before a change; name another file with --out",
                   {path, 0, 0, ""});
  }
  return out;
}

StudyStore::~StudyStore() { sqlite3_close(db_); }

Result<std::vector<std::uint64_t>> StudyStore::done() {
  const std::lock_guard lock(mutex_);
  std::vector<std::uint64_t> out;
  Statement s(db_, fmt::format("SELECT cell FROM cells WHERE status != {} ORDER BY cell", kFailedCell).c_str());
  if (!s.ok()) return error();
  while (s.next()) out.push_back(static_cast<std::uint64_t>(s.number(0)));
  if (!s.done()) return error();
  return out;
}

Status StudyStore::put(const StudyRow& row) {
  const std::lock_guard lock(mutex_);
  Statement s(db_, "INSERT OR REPLACE INTO cells VALUES(?,?,?,?,?)");
  if (!s.ok()) return error();
  s.bind(1, static_cast<std::int64_t>(row.cell));
  s.bind(2, row.settings);
  s.bind(3, row.status);
  s.bind(4, row.message);
  s.bind(5, row.result);
  s.next();
  if (!s.done()) return error();
  return {};
}

Status StudyStore::each(const std::function<Status(const StudyRow&)>& take) {
  const std::lock_guard lock(mutex_);
  Statement s(db_, "SELECT cell, settings, status, message, result FROM cells ORDER BY cell");
  if (!s.ok()) return error();
  while (s.next())
    BUSBAR_RETURN_IF_ERROR(take(
        {static_cast<std::uint64_t>(s.number(0)), s.text(1), static_cast<int>(s.number(2)), s.text(3), s.text(4)}));
  if (!s.done()) return error();
  return {};
}

Status StudyStore::merge(const std::string& path) {
  if (access(path.c_str(), R_OK) != 0) return invalid("cannot be read; name the database of a shard", {path, 0, 0, ""});
  BUSBAR_ASSIGN(const std::string mine, study_of("main"));
  {  // refuses what is no store of this study, without changing it
    BUSBAR_ASSIGN(const auto other, open(path, mine));
  }
  const std::lock_guard lock(mutex_);
  {
    Statement attach(db_, "ATTACH ? AS other");
    if (!attach.ok()) return error();
    attach.bind(1, path);
    attach.next();
    if (!attach.done()) return error();
  }
  const Status copied =
      run(fmt::format("INSERT OR REPLACE INTO main.cells SELECT * FROM other.cells WHERE cell NOT IN "
                      "(SELECT cell FROM main.cells WHERE status != {0}) AND (status != {0} OR cell NOT IN "
                      "(SELECT cell FROM main.cells))",
                      kFailedCell)
              .c_str());
  const Status detached = run("DETACH other");
  return copied.ok() ? detached : copied;
}

}  // namespace busbar::study
