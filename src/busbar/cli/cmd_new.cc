#include <fmt/core.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>

#include "busbar/base/json.h"
#include "busbar/base/output.h"
#include "busbar/base/text.h"
#include "busbar/cli/commands.h"
#include "busbar/cli/session.h"
#include "busbar/spec/cluster_writer.h"
#include "busbar/views/topology_drawing.h"

namespace busbar {
namespace {

struct NewFlags {
  CommonOptions common;
  std::string file, name, gpu, board, fabric, network;
  std::optional<std::int64_t> servers, gpus, nics, leaf;
  std::optional<std::string> ratio;
  bool force = false;
};

/// Asks questions on a terminal. An empty line takes the default, the end of input ends the command.
class Questions {
 public:
  Result<std::string> ask(const std::string& question, const std::string& standard) {
    fmt::print(stderr, "{}{}. {} [{}]: ", number_ > 1 ? "" : "Return takes the value in brackets.\n", number_, question,
               standard);
    std::fflush(stderr);
    ++number_;
    std::string line;
    if (!std::getline(std::cin, line)) return invalid("the answers ended before the last question");
    while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.pop_back();
    return line.empty() ? standard : line;
  }

 private:
  int number_ = 1;
};

Result<std::int64_t> whole_number(const char* flag, const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1)
    return flag_error(flag, fmt::format("'{}' is not a whole number above 0", text));
  return value;
}

Result<double> ratio_of(const std::string& text) {
  const std::string number = text.substr(0, text.find(':'));
  char* end = nullptr;
  const double value = std::strtod(number.c_str(), &end);
  if (number.empty() || *end != 0 || !(value >= 1) || value > 1000 || (number != text && !text.ends_with(":1")))
    return flag_error("--ratio", fmt::format("'{}' is not a ratio of rates down to up; write 2 or 2:1", text));
  return value;
}

/// The board with these GPUs that most people mean: NVIDIA's own, or the only one.
Result<std::string> board_of(const std::string& gpu, const Catalog& catalog) {
  if (catalog.has("nodes", gpu)) return gpu;
  if (!catalog.has("gpus", gpu)) {
    const auto missing = catalog.load("gpus", gpu);
    return flag_error("--gpu", missing.ok() ? "" : missing.error().message);
  }
  BUSBAR_ASSIGN(const std::vector<Board> boards, boards_with(gpu, catalog));
  std::vector<std::string> names;
  for (const Board& b : boards) names.push_back(b.name);
  if (names.size() == 1) return names.front();
  for (const std::string& n : names)
    if (n.starts_with("dgx-")) return n;
  if (names.empty()) return flag_error("--gpu", fmt::format("no board of the catalogue has {}", gpu));
  return flag_error("--gpu", fmt::format("several boards have {}: {}; name one with --node", gpu, comma_list(names)));
}

std::string list_of_boards(const Catalog& catalog) {
  std::string out;
  if (const auto boards = boards_with("", catalog); boards.ok())
    for (const Board& b : *boards)
      out += fmt::format("  {:22} {} x {}, {} NICs\n", b.name, b.gpus, b.gpu.empty() ? "GPU" : b.gpu, b.nics);
  return out;
}

/// "leaf-spine 2:1": words that begin with a digit are the ratio.
void take_network(const std::string& answer, NewFlags& o) {
  std::istringstream words(answer);
  for (std::string word; words >> word;) {
    if (word.front() >= '0' && word.front() <= '9')
      o.ratio = word;
    else if (word != "board")
      o.fabric = word;
  }
}

/// Fills what the flags leave open.
Status ask_for_rest(NewFlags& o, const Catalog& catalog) {
  Questions questions;
  if (!o.servers) {
    BUSBAR_ASSIGN(const std::string answer, questions.ask("How many servers", "4"));
    BUSBAR_ASSIGN(o.servers, whole_number("--servers", answer));
  }
  if (o.board.empty() && o.gpu.empty()) {
    BUSBAR_ASSIGN(o.gpu, questions.ask("Which GPU or board (? lists them)", "dgx-h100"));
    if (o.gpu == "?") {
      fmt::print(stderr, "{}", list_of_boards(catalog));
      BUSBAR_ASSIGN(o.gpu, questions.ask("Which board", "dgx-h100"));
    }
  }
  if (!o.nics) {
    BUSBAR_ASSIGN(const std::string answer, questions.ask("How many NICs per server (board: its own)", "board"));
    if (answer != "board") {
      BUSBAR_ASSIGN(o.nics, whole_number("--nics", answer));
    }
  }
  if (!o.leaf && !o.ratio && o.fabric.empty() && *o.servers > 1) {
    BUSBAR_ASSIGN(
        const std::string answer,
        questions.ask("Which fabric (board: its own; leaf-spine, rail-optimised, ...), and rate down to up of a "
                      "leaf",
                      "board 1:1"));
    take_network(answer, o);
  }
  if (o.name.empty()) {
    BUSBAR_ASSIGN(o.name, questions.ask("A name for the cluster and its file", "my-cluster"));
  }
  return {};
}

Status complete(NewFlags& o, const Catalog& catalog) {
  std::vector<std::string> missing;
  if (!o.servers) missing.push_back("--servers");
  if (o.board.empty() && o.gpu.empty()) missing.push_back("--gpu or --node");
  if (missing.empty()) return {};
  if (::isatty(STDIN_FILENO) == 0)
    return invalid(
        fmt::format("standard input is no terminal to ask at, and these flags are missing: {}", comma_list(missing)));
  return ask_for_rest(o, catalog);
}

Result<NewCluster> answers(const NewFlags& o, const Catalog& catalog) {
  NewCluster out;
  if (!o.name.empty()) out.name = o.name;
  BUSBAR_ASSIGN(out.board, o.board.empty() ? board_of(o.gpu, catalog) : Result<std::string>(o.board));
  out.servers = static_cast<std::uint32_t>(std::min<std::int64_t>(*o.servers, UINT32_MAX));
  out.gpus = o.gpus;
  out.nics = o.nics;
  out.fabric = o.fabric;
  out.network = o.network;
  out.leaf = o.leaf;
  if (o.ratio) {
    BUSBAR_ASSIGN(out.ratio, ratio_of(*o.ratio));
  }
  return out;
}

Status may_write(const std::string& file, bool force) {
  std::error_code error;
  if (force || !std::filesystem::exists(file, error)) return {};
  return invalid(fmt::format("{} exists already; --force replaces it", file));
}

Drawing picture_of(const Topology& t) {
  return t.fabric_switches().empty() ? draw_node(t, BlockId{0}, {}) : draw_fabric(t, {});
}

Result<int> run(NewFlags& o) {
  const Catalog catalog(o.common.overrides.catalog);
  BUSBAR_RETURN_IF_ERROR(catalog.check());
  BUSBAR_RETURN_IF_ERROR(complete(o, catalog));
  BUSBAR_ASSIGN(const NewCluster wanted, answers(o, catalog));
  BUSBAR_ASSIGN(const std::string text, new_cluster_yaml(wanted, catalog));
  const std::string file = o.file.empty() ? wanted.name + ".yaml" : o.file;
  const std::string drawing = std::filesystem::path(file).replace_extension(".svg").string();
  BUSBAR_ASSIGN(const Cluster cluster, parse_cluster(text, file, o.common.overrides));
  for (const std::string& target : {file, drawing}) BUSBAR_RETURN_IF_ERROR(may_write(target, o.force));
  BUSBAR_RETURN_IF_ERROR(write_file(file, text));
  BUSBAR_RETURN_IF_ERROR(write_file(drawing, render_svg(picture_of(cluster.topology))));
  const std::size_t servers = cluster.topology.blocks().size(), gpus = cluster.topology.gpus().size();
  Json j{{"schema", "busbar.new/1"}, {"file", file}, {"picture", drawing},           {"board", wanted.board},
         {"servers", servers},       {"gpus", gpus}, {"fabric", cluster.fabric.kind}};
  j["inputs_hash"] = inputs_hash(o.common, cluster.text);
  Document d{"New cluster", o.common.typed, {}};
  d.add(Highlight{fmt::format("{}: {} {} of {}, {} GPUs. Picture: {}.", file, servers,
                              servers == 1 ? "server" : "servers", wanted.board, gpus, drawing)});
  d.add(Paragraph{fmt::format("Every key has a comment; change what differs. Then: busbar topo {}", file)});
  return deliver(o.common, j, d);
}

}  // namespace

Command new_cluster_command(const std::string& typed) {
  const auto o = std::make_shared<NewFlags>();
  Command c = new_command(o->common, typed, "new",
                          "write a commented cluster file and its picture, from five questions or from flags");
  c.examples =
      "  busbar new  # asks at a terminal\n"
      "  busbar new lab.yaml --servers 2 --node rtx4090-pcie --nics 1\n"
      "  busbar new --servers 64 --gpu h100-sxm --fabric leaf-spine --ratio 2:1 --name hall-1\n"
      "  busbar new pod.yaml --servers 16 --node dgx-h100 --nics 4 --network roce-400g --leaf 32 --force\n";
  c.positionals = {
      {"FILE", "the file to write; the picture beside it ends in .svg (default: NAME.yaml)", &o->file, false}};
  c.flags = {
      {"--servers", "N", "number of servers", "Cluster", &o->servers},
      {"--gpu", "PART", "its GPUs, e.g. h100-sxm (see catalog gpus); the board is the usual one with them", "Cluster",
       &o->gpu},
      without({"--gpu"}, {"--node", "NAME", "its board, e.g. dgx-h100 (see catalog nodes)", "Cluster", &o->board}),
      {"--gpus", "N", "GPUs per server, for boards of cards in slots (default: the board's)", "Cluster", &o->gpus},
      {"--nics", "N", "NICs per server (default: the board's)", "Cluster", &o->nics},
      {"--fabric", "NAME",
       "a kind (leaf-spine, rail-optimised, fat-tree, rail-only, dragonfly, single-switch) or an entry of catalog "
       "fabrics (default: the board's)",
       "Cluster", &o->fabric},
      {"--network", "NAME", "e.g. roce-400g (see catalog networks; default: that of the board's fabric)", "Cluster",
       &o->network},
      {"--leaf", "N", "NIC ports per leaf (default: what the switch and the ratio give)", "Cluster", &o->leaf},
      {"--ratio", "R", "rate down to rate up of a leaf, 2 or 2:1 (default: the fabric's)", "Cluster", &o->ratio},
      {"--name", "NAME", "of the cluster (default my-cluster)", "Cluster", &o->name},
      {"--force", "", "replace files that exist", "Files", &o->force},
      {"--catalog", "DIR", "read product data from DIR before $BUSBAR_CATALOG and the built-in files", "Machine",
       &o->common.overrides.catalog},
      {"--json", "", "one JSON object on stdout instead of text", "Output", &o->common.json},
  };
  c.run = [o] { return run(*o); };
  return c;
}

}  // namespace busbar
