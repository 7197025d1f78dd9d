"""How Sphinx builds the site: `scripts/docs`."""

from __future__ import annotations

import sys
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import reference

project = "innervoice"
version = release = installed("innervoice")
html_title = "innervoice"
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
]
html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["filter.js", "printed.js"]
html_favicon = "static/favicon.svg"
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_show_sphinx = False
templates_path: list[str] = []
exclude_patterns = ["build"]

# The headings of a page are places that its own links and those of other pages lead to.
myst_heading_anchors = 4
myst_enable_extensions = ["attrs_block", "colon_fence"]

# A name in the reference is shown as users import it, with its types, in the order in which its module has it.
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_default_options = {"members": True, "inherited-members": False, "undoc-members": False}
default_role = "code"
add_module_names = False
python_use_unqualified_type_names = True


def setup(app: Any) -> None:
    """Writes the pages that are made from the code before anything is read."""
    app.connect("builder-inited", lambda app: reference.write(Path(app.srcdir) / "reference"))
    app.connect("source-read", _lead_inside)
    app.connect("autodoc-skip-member", _skip)
    app.connect("autodoc-process-signature", _readable)
    app.connect("autodoc-process-bases", _public_bases)


def _lead_inside(_app: Any, _name: str, source: list[str]) -> None:
    """Pages outside docs/ have a copy in the reference, and links lead there."""
    source[0] = source[0].replace("](../vectors/README.md)", "](reference/vectors.md)")


def _readable(*about: Any) -> tuple[str | None, str | None]:
    """A default that is made for each value is shown as an empty one; Sphinx would show the whole signature unread."""
    signature, returned = about[-2:]
    return signature and signature.replace("<factory>", "{}"), returned


def _public_bases(*about: Any) -> None:
    """In place of a base that nobody can import, its own is shown."""
    bases = about[-1]
    for place, base in enumerate(bases):
        if base.__name__.startswith("_"):
            bases[place] = base.__base__


def _skip(*about: Any) -> bool:
    """What only msgspec and `repr` need is not shown."""
    _, _, name, _, skip, _ = about
    return name.startswith("_") or name in {"type", "hidden"} or skip
