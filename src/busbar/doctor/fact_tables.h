// The tables of catalog/evidence: which lines of which kind of text state which facts. And the reader that uses them.
//
// The tables know lines, not files: a log with a table of nccl-tests in it, an output of ibstat behind a shell prompt
// and lines of several ranks in one file all work. Lines without meaning on their own ("Rate: 400") count only `inside`
// the section that a line of the same table began ("CA 'mlx5_0'").
#pragma once

#include <bitset>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/base/stop_flag.h"
#include "busbar/doctor/evidence.h"
#include "busbar/doctor/line_pattern.h"
#include "busbar/formats/lines.h"
#include "busbar/spec/catalog.h"

namespace busbar::doctor {

/// One kind of text.
struct FactTable {
  std::string name;   ///< "ibstat"
  std::string title;  ///< "output of ibstat"
  std::string ask;    ///< the command or setting that produces such a text
};

/// One shape of a line.
struct FactRow {
  std::size_t table = 0;
  LinePattern line;
  std::string fact;            ///< empty: the row only begins a section
  std::string value, subject;  ///< instead of captures
  std::string has;             ///< the line must contain this, too
  std::string has_not;         ///< and not this
  std::string under;           ///< the last line of the section without a colon must begin with this
  bool begins = false;         ///< the captured subject is that of the section
  bool inside = false;         ///< only in a section of this table
  bool warns = false;          ///< only in a line with " WARN "; "{text}" as value is what follows that word
  bool setting = false;        ///< only where a shell or a launcher would set the variable (internal/assignment.h)
  bool weak = false;           ///< says that something went wrong, not what: counts if nothing else does
  bool stays = false;          ///< only where it sets the variable on its own host alone
};

/// A line of a text, and what the tables made of it.
struct LineUse {
  std::string_view prefix, line;            ///< what launchers and loggers put before it, and the rest
  bool used = false;                        ///< a row reads it, or needs it as a heading
  const std::vector<std::uint32_t>& facts;  ///< that it states, as indices into Evidence::facts(), or kDropped
};
using EachLine = std::function<void(const LineUse&)>;

class FactTables {
 public:
  static Result<FactTables> load(const spec::Catalog& catalog);
  /// Adds the facts of one text; `name`: the file's name in messages. Appends to the tables.
  Status add(const YamlDocument& document);

  const std::vector<FactTable>& tables() const { return tables_; }
  /// The tables that can state the fact, by index.
  const std::vector<std::size_t>& tables_of(std::string_view fact) const;

  /// Adds the facts of all lines to a new file of `evidence`, or of those before `stop`; returns its index. Calls
  /// `each` for every line, if there is one. Cost: linear in the text.
  int read(formats::LineSource& source, Evidence& evidence, StopFlag stop = nullptr, const EachLine& each = {}) const;

 private:
  struct Section {
    std::size_t table = 0;
    bool open = false;
    std::string subject;
    std::string heading;  ///< the last line without a colon, without its blanks
  };
  struct LineState;
  void find_candidates(std::string_view line, const Section& section, std::vector<std::uint32_t>& out) const;
  bool take(const FactRow& row, std::string_view line, Section& section, LineState& state) const;
  bool is_heading(std::string_view line, const Section& section) const;

  std::vector<FactTable> tables_;
  std::vector<FactRow> rows_;
  std::map<std::string, std::vector<std::size_t>, std::less<>> tables_of_;
  /// Rows by four bytes that their lines hold.
  class GramIndex {
   public:
    void add(std::uint32_t gram, std::uint32_t row);
    void find(std::string_view line, std::vector<std::uint32_t>& out) const;

   private:
    std::bitset<1 << 16> grams_;
    std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> rows_;  ///< for look-up only
  };
  GramIndex by_gram_, by_gram_of_warnings_;
  std::vector<std::uint32_t> without_gram_;
};

}  // namespace busbar::doctor
