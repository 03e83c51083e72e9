"""The documentation site; tools/docs builds it and says which version."""
project = "Busbar"
author = "the Busbar developers"
copyright = "the Busbar developers"  # pylint: disable=redefined-builtin

extensions = ["myst_parser"]
myst_heading_anchors = 3
source_suffix = {".md": "markdown"}
highlight_language = "none"
nitpicky = True
html_theme = "furo"
html_show_sourcelink = False
html_copy_source = False
templates_path = []
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options = {"dark_css_variables": {  # furo's own of 2022.12.07, which Debian's build of its style sheet has lost
    "color-problematic": "#ee5151",
    "color-foreground-primary": "#d0d0d0",
    "color-foreground-secondary": "#9ca0a5",
    "color-foreground-muted": "#81868d",
    "color-foreground-border": "#666666",
    "color-background-primary": "#131416",
    "color-background-secondary": "#1a1c1e",
    "color-background-hover": "#1e2124ff",
    "color-background-hover--transparent": "#1e212400",
    "color-background-border": "#303335",
    "color-background-item": "#444444",
    "color-brand-primary": "#2b8cee",
    "color-brand-content": "#368ce2",
    "color-highlighted-background": "#083563",
    "color-highlight-on-target": "#333300",
}}
