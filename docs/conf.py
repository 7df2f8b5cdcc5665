"""The documentation as a site: `make docs` builds it, and a warning is an error."""

from __future__ import annotations

import sys
from pathlib import Path

from pygments.lexers.prolog import PrologLexer
from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))

from dpasp.editors.lexer import DpaspLexer
from dpasp.version import __version__

project = "dPASP"
author = "The dPASP authors"
copyright = author
release = version = __version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.viewcode", "sphinx_design"]
exclude_patterns = ["_build"]

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 4
nb_execution_mode = "force"  # what is shown is what happens
nb_execution_raise_on_error = True
nb_execution_timeout = 300
suppress_warnings = ["myst.strikethrough"]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_class_signature = "separated"

html_theme = "pydata_sphinx_theme"
html_title = f"dPASP {version}"
html_theme_options = {
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
highlight_language = "plp"


def setup(app: Sphinx) -> None:
    """Languages of code blocks that Pygments does not know by itself."""
    app.add_lexer("plp", DpaspLexer)
    app.add_lexer("dpasp", DpaspLexer)
    app.add_lexer("problog", PrologLexer)
    for name in ("csv", "bif", "uai", "lpmln", "wcnf"):
        app.add_lexer(name, TextLexer)
