#include "busbar/cli/session.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>

#include "busbar/base/json.h"
#include "busbar/base/quantity.h"
#include "busbar/cli/csv_rows.h"

namespace busbar {

std::vector<Flag> common_flags(CommonOptions& o, bool with_engine) {
  std::vector<Flag> flags{
      {"--set", "PATH=VALUE", "change one key of the cluster file, e.g. fabric.oversubscription=2", "Machine",
       &o.overrides.set},
      {"--degrade", "SELECTOR=FACTOR", "links run at FACTOR of their rate, e.g. node5.nic2=0.5; globs allowed",
       "Machine", &o.overrides.degrade},
      {"--fail", "SELECTOR", "links are gone, e.g. leaf3-spine1; globs allowed", "Machine", &o.overrides.fail},
      {"--gpu", "PART", "what the GPUs are where the machine's file does not say, e.g. h100-sxm (see catalog gpus)",
       "Machine", &o.overrides.gpu},
      {"--gpu-memory-rate", "RATE", "memory (HBM) of every GPU at RATE, e.g. 8TB/s: collectives and kernels follow it",
       "Machine", &o.overrides.gpu_memory_rate},
      {"--catalog", "DIR", "product data from DIR before $BUSBAR_CATALOG and the built-in files", "Machine",
       &o.overrides.catalog},
      {"--json", "", "one JSON object on stdout instead of text", "Output", &o.json},
      {"--csv", "", "the rows of it as CSV instead of text, with the keys of --json as columns", "Output", &o.csv},
      {"--html", "FILE", "write a self-contained page too", "Output", &o.html},
      {"--explain", "", "say what relieving each kind of link would buy", "Output", &o.explain},
  };
  if (with_engine)
    flags.insert(flags.begin(), {"--engine",
                                 "NAME",
                                 "analytic, flow (default) or packet",
                                 "Machine",
                                 &o.engine,
                                 {"analytic", "flow", "packet"}});
  return flags;
}

Json RunClock::to_json() const {
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start_;
  return {{"wall_s", wall.count()}, {"cpu_s", static_cast<double>(std::clock()) / CLOCKS_PER_SEC}};
}

Result<std::unique_ptr<Engine>> make_engine(const std::string& name, const Router& router, const Placement& placement,
                                            EngineOptions options) {
  if (name == "flow") return make_flow_engine(router, placement, options);
  if (name == "analytic") return make_analytic_engine(router, placement, options);
  const Where where{"", 0, 0, "--engine"};
  if (name == "packet")
    return Error{ErrorCode::kUnsupported, "the packet engine does not run this; use flow or analytic", where};
  return invalid(fmt::format("there is no engine '{}'; use analytic or flow", name), where);
}

int report_error(const Error& error) {
  std::fprintf(stderr, "busbar: %s\n", error.text().c_str());
  return error.code == ErrorCode::kDoesNotFit ? 1 : 2;
}

namespace {

const char* word(BoundKind k) { return k == BoundKind::kBandwidth ? "bandwidth" : "latency"; }

}  // namespace

std::string link_class_name(LinkId link, const Topology& t) {
  const LinkClass& c = t.link_class(link);
  return c.part.empty() ? name_of(c.kind) : c.part;
}

Json bound_to_json(const Bound& b, const Topology& t) {
  Json j{{"link", nullptr}, {"class", nullptr}, {"phase", b.phase}, {"kind", nullptr}};
  if (b.link == kNone<LinkId>) return j;
  j["link"] = t.name(b.link);
  j["class"] = link_class_name(b.link, t);
  j["kind"] = word(b.kind);
  return j;
}

std::string bound_to_text(const Bound& b, const Topology& t) {
  if (b.link == kNone<LinkId>) return "nothing: no byte is sent";
  return fmt::format("the {} of {} ({}), phase {}", word(b.kind), link_class_name(b.link, t), t.name(b.link), b.phase);
}

std::string bound_in_short(const Bound& b, const Topology& t) {
  return b.link == kNone<LinkId> ? "-" : fmt::format("{}, {}", word(b.kind), link_class_name(b.link, t));
}

int deliver(const CommonOptions& o, const Json& data, const Document& document, int status, Printed printed) {
  if (o.json && o.csv) return report_error(invalid("stdout holds one of them; leave out one", {"", 0, 0, "--csv"}));
  if (printed == Printed::kAlready) {
  } else if (o.csv) {
    std::fputs(csv_of(data).c_str(), stdout);
  } else if (o.json) {
    std::fputs(data.dump(2).c_str(), stdout);
    std::fputs("\n", stdout);
  } else {
    TextOptions text;
    winsize size{};
    if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40)
      text.columns = size.ws_col;
    text.colour = isatty(STDOUT_FILENO) && !std::getenv("NO_COLOR");
    for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
      const char* value = std::getenv(name);
      if (!value || !*value) continue;
      text.utf8 = std::string_view(value).find("UTF-8") != std::string_view::npos;
      break;
    }
    std::fputs(render_text(document, text).c_str(), stdout);
  }
  if (!o.html.empty()) {
    std::ofstream file(o.html, std::ios::binary);
    file << render_html(document);
    if (!file.flush())
      return report_error({ErrorCode::kIo, "cannot write the page; does its folder exist?", {o.html, 0, 0, ""}});
    if (!o.for_programs()) std::fputs(fmt::format("\nreport: {}\n", o.html).c_str(), stdout);
  }
  return status;
}

}  // namespace busbar
