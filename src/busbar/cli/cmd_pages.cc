#include <fmt/core.h>

#include <filesystem>
#include <memory>

#include "busbar/base/json.h"
#include "busbar/base/output.h"
#include "busbar/base/text.h"
#include "busbar/cli/commands.h"
#include "busbar/cli/completion.h"
#include "busbar/cli/man_page.h"
#include "busbar/cli/session.h"
#include "busbar/spec/catalog.h"

namespace busbar {
namespace {

struct PagesFlags {
  std::string subject, write;
  bool markdown = false, json = false;
};

Status write_text(const std::filesystem::path& path, const std::string& text) {
  std::error_code failed;
  std::filesystem::create_directories(path.parent_path(), failed);
  if (failed)
    return Error{ErrorCode::kIo, "cannot be created: " + failed.message(), {path.parent_path().string(), 0, 0, ""}};
  return write_file(path.string(), text);
}

int print(const PagesFlags& o, Json data, const std::string& text) {
  data["text"] = text;
  return print_out(o.json ? data.dump(2) + "\n" : text);
}

const Command* find_command(const std::vector<Command>& commands, const std::string& name) {
  for (const Command& c : commands)
    if (c.name == name) return &c;
  return nullptr;
}

Result<int> run_man(const PagesFlags& o, const std::vector<Command>& commands, const std::string& version) {
  const auto page = [&](const Command& c) { return o.markdown ? markdown_page(c) : man_page(c, version); };
  if (!o.write.empty()) {
    const std::filesystem::path folder(o.write);
    if (!o.markdown) BUSBAR_RETURN_IF_ERROR(write_text(folder / "busbar.1", man_overview(commands, version)));
    for (const Command& c : commands) {
      const std::string name = o.markdown ? c.name + ".md" : "busbar-" + c.name + ".1";
      BUSBAR_RETURN_IF_ERROR(write_text(folder / name, page(c)));
    }
    return 0;
  }
  if (o.subject.empty() && o.markdown) return flag_error("--markdown", "name a command, or use --write DIR for all");
  const Json data{{"schema", "busbar.man/1"}, {"page", o.subject.empty() ? "busbar" : "busbar-" + o.subject}};
  if (o.subject.empty()) return print(o, data, man_overview(commands, version));
  if (const Command* c = find_command(commands, o.subject)) return print(o, data, page(*c));
  std::vector<std::string> names;
  for (const Command& c : commands) names.push_back(c.name);
  return Error{
      ErrorCode::kNotFound,
      fmt::format("there is no command '{}'; {}", o.subject, suggestion(o.subject, names, "busbar --help lists them")),
      {}};
}

Result<int> run_completion(const PagesFlags& o, const std::vector<Command>& commands) {
  const Catalog catalog;
  const CompletionWords words{catalog.names("nodes"), catalog.names("models")};
  const std::pair<const char*, std::string> shells[] = {{"bash", "bash-completion/completions/busbar"},
                                                        {"zsh", "zsh/site-functions/_busbar"},
                                                        {"fish", "fish/vendor_completions.d/busbar.fish"}};
  const auto script = [&](std::string_view shell) {
    if (shell == "bash") return bash_completion(commands, words);
    return shell == "zsh" ? zsh_completion(commands, words) : fish_completion(commands, words);
  };
  for (const auto& [shell, place] : shells) {
    if (!o.write.empty()) {
      BUSBAR_RETURN_IF_ERROR(write_text(std::filesystem::path(o.write) / place, script(shell)));
    } else if (o.subject == shell) {
      return print(o, {{"schema", "busbar.completion/1"}, {"shell", shell}}, script(shell));
    }
  }
  if (!o.write.empty()) return 0;
  return invalid(o.subject.empty() ? "name a shell: bash, zsh or fish"
                                   : fmt::format("'{}' is not a known shell; use bash, zsh or fish", o.subject));
}

}  // namespace

Command man_command(const std::vector<Command>& commands, const std::string& version) {
  const auto o = std::make_shared<PagesFlags>();
  Command c;
  c.name = "man";
  c.summary = "print the manual page of one command or of all";
  c.examples = "  busbar man train | man -l -\n  busbar man --write ~/.local/share/man/man1\n";
  c.positionals = {{"COMMAND", "the command; absent: the overview", &o->subject, false}};
  c.flags = {{"--write", "DIR", "write all pages to this folder", "Output", &o->write},
             {"--markdown", "", "Markdown instead of roff", "Output", &o->markdown},
             {"--json", "", "one JSON object on stdout instead of text", "Output", &o->json}};
  c.run = [o, &commands, version] { return run_man(*o, commands, version); };
  return c;
}

Command completion_command(const std::vector<Command>& commands) {
  const auto o = std::make_shared<PagesFlags>();
  Command c;
  c.name = "completion";
  c.summary = "print the completion script for bash, zsh or fish";
  c.examples =
      "  source <(busbar completion bash)\n"
      "  busbar completion zsh > ~/.zfunc/_busbar\n"
      "  busbar completion fish > ~/.config/fish/completions/busbar.fish\n";
  c.positionals = {{"SHELL", "bash, zsh or fish", &o->subject, false}};
  c.flags = {{"--write", "DIR", "write all three below DIR (such as /usr/share), where packages install them", "Output",
              &o->write},
             {"--json", "", "one JSON object on stdout instead of text", "Output", &o->json}};
  c.run = [o, &commands] { return run_completion(*o, commands); };
  return c;
}

}  // namespace busbar
