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
html_css_files = ["tables.css"]
