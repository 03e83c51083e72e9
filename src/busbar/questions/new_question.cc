#include "busbar/questions/new_question.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <system_error>
#include <vector>

#include "busbar/base/text.h"
#include "busbar/questions/machine_request.h"
#include "busbar/spec/cluster_writer.h"

namespace busbar::questions {

const Record& record_of(const NewRequest*) {
  const auto of_cluster = [](Field f, const char* value) { return std::move(f).takes(value).of("Cluster"); };
  static const Record record(
      "new request",
      {Field("file", &NewRequest::file, "",
             "the file to write; the picture beside it ends in .svg (default: NAME.yaml)")
           .takes("FILE")
           .as_word()
           .optional(),
       of_cluster({"servers", &NewRequest::servers, "", "number of servers"}, "N"),
       of_cluster({"gpu", &NewRequest::gpu, "",
                   "its GPUs, e.g. h100-sxm (see catalog gpus); the board is the usual one with them"},
                  "PART"),
       of_cluster({"node", &NewRequest::node, "", "its board, e.g. dgx-h100 (see catalog nodes)"}, "NAME")
           .without({"gpu"}),
       of_cluster(
           {"gpus", &NewRequest::gpus, "", "GPUs per server, for boards of cards in slots (default: the board's)"},
           "N"),
       of_cluster({"nics", &NewRequest::nics, "", "NICs per server (default: the board's)"}, "N"),
       of_cluster({"fabric", &NewRequest::fabric, "",
                   "a kind (leaf-spine, rail-optimised, fat-tree, rail-only, dragonfly, single-switch) or an entry of "
                   "catalog fabrics (default: the board's)"},
                  "NAME"),
       of_cluster({"network", &NewRequest::network, "",
                   "e.g. roce-400g (see catalog networks; default: that of the board's fabric)"},
                  "NAME"),
       of_cluster({"leaf", &NewRequest::leaf, "", "NIC ports per leaf (default: what the switch and the ratio give)"},
                  "N"),
       of_cluster({"ratio", &NewRequest::ratio, "", "rate down to rate up of a leaf, 2 or 2:1 (default: the fabric's)"},
                  "R"),
       of_cluster({"name", &NewRequest::name, "", "of the cluster (default my-cluster)"}, "NAME"),
       Field("force", &NewRequest::force, "", "replace files that exist").of("Files").undecided(),
       catalog_field(&NewRequest::catalog)});
  return record;
}

const Record& record_of(const NewResult*) {
  static const Record record(
      "new", {{"file", &NewResult::file, "", "that was written"},
              {"picture", &NewResult::picture, "", "beside it"},
              {"board", &NewResult::board, "", "of every server"},
              {"servers", &NewResult::servers, "", "their number"},
              {"gpus", &NewResult::gpus, "", "of all servers"},
              {"fabric", &NewResult::fabric, "", "its kind"},
              {"inputs_hash", &NewResult::inputs_hash, "", "of everything that the result depends on"}});
  return record;
}

namespace {

/// Asks questions one after another. An empty line takes the default.
class Prompts {
 public:
  explicit Prompts(const Context& context) : context_(context) {}
  Result<std::string> ask(const std::string& question, const std::string& standard) {
    const std::string text =
        fmt::format("{}{}{}. {} [{}]: ", before_, number_ > 1 ? "" : "Return takes the value in brackets.\n", number_,
                    question, standard);
    before_.clear();
    ++number_;
    BUSBAR_ASSIGN(std::string line, context_.prompt(text));
    while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.pop_back();
    return line.empty() ? standard : line;
  }
  /// Shows a text before the next question.
  void show(std::string text) { before_ = std::move(text); }

 private:
  const Context& context_;
  int number_ = 1;
  std::string before_;
};

Result<std::int64_t> number_above_0(const char* field, const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1)
    return invalid(fmt::format("'{}' is not a whole number above 0", text), field_of(field));
  return value;
}

Result<double> ratio_of(const std::string& text) {
  const std::string number = text.substr(0, text.find(':'));
  char* end = nullptr;
  const double value = std::strtod(number.c_str(), &end);
  if (number.empty() || *end != 0 || !(value >= 1) || value > 1000 || (number != text && !text.ends_with(":1")))
    return invalid(fmt::format("'{}' is not a ratio of rates down to up; write 2 or 2:1", text), field_of("ratio"));
  return value;
}

/// The board with these GPUs that most people mean: NVIDIA's own, or the only one.
Result<std::string> board_of(const std::string& gpu, const spec::Catalog& catalog) {
  if (catalog.has("nodes", gpu)) return gpu;
  if (!catalog.has("gpus", gpu)) {
    const auto missing = catalog.load("gpus", gpu);
    return invalid(missing.ok() ? "" : missing.error().message, field_of("gpu"));
  }
  BUSBAR_ASSIGN(const std::vector<spec::Board> boards, spec::boards_with(gpu, catalog));
  std::vector<std::string> names;
  for (const spec::Board& b : boards) names.push_back(b.name);
  if (names.size() == 1) return names.front();
  for (const std::string& n : names)
    if (n.starts_with("dgx-")) return n;
  if (names.empty()) return invalid(fmt::format("no board of the catalogue has {}", gpu), field_of("gpu"));
  return invalid(fmt::format("several boards have {}: {}; name one with --node", gpu, comma_list(names)),
                 field_of("gpu"));
}

std::string list_of_boards(const spec::Catalog& catalog) {
  std::string out;
  if (const auto boards = spec::boards_with("", catalog); boards.ok())
    for (const spec::Board& b : *boards)
      out += fmt::format("  {:22} {} x {}, {} NICs\n", b.name, b.gpus, b.gpu.empty() ? "GPU" : b.gpu, b.nics);
  return out;
}

/// "leaf-spine 2:1": words that begin with a digit are the ratio.
void take_network(const std::string& answer, NewRequest& q) {
  std::istringstream words(answer);
  for (std::string word; words >> word;) {
    if (word.front() >= '0' && word.front() <= '9')
      q.ratio = word;
    else if (word != "board")
      q.fabric = word;
  }
}

Status ask_for_board(Prompts& prompts, NewRequest& q, const spec::Catalog& catalog) {
  BUSBAR_ASSIGN(q.gpu, prompts.ask("Which GPU or board (? lists them)", "dgx-h100"));
  if (q.gpu != "?") return {};
  prompts.show(list_of_boards(catalog));
  BUSBAR_ASSIGN(q.gpu, prompts.ask("Which board", "dgx-h100"));
  return {};
}

Status ask_for_network(Prompts& prompts, NewRequest& q) {
  if (!q.nics) {
    BUSBAR_ASSIGN(const std::string answer, prompts.ask("How many NICs per server (board: its own)", "board"));
    if (answer != "board") {
      BUSBAR_ASSIGN(q.nics, number_above_0("nics", answer));
    }
  }
  if (q.leaf || q.ratio || !q.fabric.empty() || *q.servers <= 1) return {};
  BUSBAR_ASSIGN(const std::string answer,
                prompts.ask("Which fabric (board: its own; leaf-spine, rail-optimised, ...), and rate down to up of a "
                            "leaf",
                            "board 1:1"));
  take_network(answer, q);
  return {};
}

/// Fills what the request leaves open.
Status ask_for_rest(NewRequest& q, const spec::Catalog& catalog, const Context& context) {
  Prompts prompts(context);
  if (!q.servers) {
    BUSBAR_ASSIGN(const std::string answer, prompts.ask("How many servers", "4"));
    BUSBAR_ASSIGN(q.servers, number_above_0("servers", answer));
  }
  if (q.node.empty() && q.gpu.empty()) BUSBAR_RETURN_IF_ERROR(ask_for_board(prompts, q, catalog));
  BUSBAR_RETURN_IF_ERROR(ask_for_network(prompts, q));
  if (q.name.empty()) {
    BUSBAR_ASSIGN(q.name, prompts.ask("A name for the cluster and its file", "my-cluster"));
  }
  return {};
}

Status complete(NewRequest& q, const spec::Catalog& catalog, const Context& context) {
  std::vector<std::string> missing;
  if (!q.servers) missing.push_back("--servers");
  if (q.node.empty() && q.gpu.empty()) missing.push_back("--gpu or --node");
  if (missing.empty()) return {};
  if (context.prompt) return ask_for_rest(q, catalog, context);
  return invalid(
      fmt::format("standard input is no terminal to ask at, and these flags are missing: {}", comma_list(missing)));
}

/// Pre: `q` is complete.
Result<spec::NewCluster> wanted_cluster(const NewRequest& q, const spec::Catalog& catalog) {
  spec::NewCluster out;
  if (!q.name.empty()) out.name = q.name;
  BUSBAR_ASSIGN(out.board, q.node.empty() ? board_of(q.gpu, catalog) : Result<std::string>(q.node));
  out.servers = static_cast<std::uint32_t>(std::min<std::int64_t>(*q.servers, UINT32_MAX));
  out.gpus = q.gpus;
  out.nics = q.nics;
  out.fabric = q.fabric;
  out.network = q.network;
  out.leaf = q.leaf;
  if (q.ratio) {
    BUSBAR_ASSIGN(out.ratio, ratio_of(*q.ratio));
  }
  return out;
}

Status may_write(const std::string& file, bool force) {
  std::error_code error;
  if (force || !std::filesystem::exists(file, error)) return {};
  return invalid(fmt::format("{} exists already; --force replaces it", file));
}

}  // namespace

Result<NewResult> answer(const NewRequest& request, const Context& context) {
  NewRequest q = request;
  const spec::Catalog catalog(q.catalog);
  BUSBAR_RETURN_IF_ERROR(catalog.check());
  BUSBAR_RETURN_IF_ERROR(complete(q, catalog, context));
  BUSBAR_ASSIGN(const spec::NewCluster wanted, wanted_cluster(q, catalog));
  BUSBAR_ASSIGN(const std::string text, spec::new_cluster_yaml(wanted, catalog));
  NewResult r;
  r.file = q.file.empty() ? wanted.name + ".yaml" : q.file;
  r.picture = std::filesystem::path(r.file).replace_extension(".svg").string();
  spec::Overrides overrides;
  overrides.catalog = q.catalog;
  BUSBAR_ASSIGN(spec::Cluster cluster, spec::parse_cluster(text, r.file, overrides));
  for (const std::string& target : {r.file, r.picture}) BUSBAR_RETURN_IF_ERROR(may_write(target, q.force));
  r.files = {{r.file, text}};
  r.board = wanted.board;
  r.servers = cluster.topology.blocks().size();
  r.gpus = cluster.topology.gpus().size();
  r.fabric = cluster.fabric.kind;
  NewRequest named = request;
  named.file.clear();  // names of outputs do not count
  r.inputs_hash = inputs_hash("new", named, cluster.text);
  r.cluster = std::make_shared<const spec::Cluster>(std::move(cluster));
  return r;
}

Question new_question() {
  return make_question<NewRequest, NewResult>(
      "new", "write a commented cluster file and its picture, from five questions or from flags",
      "  busbar new  # asks at a terminal\n"
      "  busbar new lab.yaml --servers 2 --node rtx4090-pcie --nics 1\n"
      "  busbar new --servers 64 --gpu h100-sxm --fabric leaf-spine --ratio 2:1 --name hall-1\n"
      "  busbar new pod.yaml --servers 16 --node dgx-h100 --nics 4 --network roce-400g --leaf 32 --force\n",
      210);
}

}  // namespace busbar::questions
