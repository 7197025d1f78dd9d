"""`install()`: programs that say `import litellm` get this package instead.

    import litellm.types.utils ──► the finder ──► the module innervoice.bridges.litellm.types.utils, the same object

The finder maps names of modules when they are imported, so modules that a program imports late are found as well. It also answers
`importlib.metadata.version("litellm")`, which programs read before they import anything.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from innervoice.bridges.litellm.unsupported import missing, sentence
from innervoice.errors import UsageError

__all__ = ["VERSION", "install", "late_name", "late_names", "uninstall"]

VERSION = "1.106.2"
"""The release of litellm whose names and behaviour this package follows."""

_THEIRS, _OURS = "litellm", "innervoice.bridges.litellm"
_METADATA = (
    f"Metadata-Version: 2.1\nName: {_THEIRS}\nVersion: {VERSION}\nSummary: {_OURS} in its place\n"
)


def install() -> None:
    """Makes `import litellm` import this package, for the whole process; a second call changes nothing.

    Call it before anything imports litellm. Raises `UsageError` if the real litellm is already imported.
    """
    if _FINDER in sys.meta_path:
        return
    if _is_theirs(sys.modules.get(_THEIRS)):
        raise UsageError(
            "the real litellm is already imported, and objects that programs got from it cannot be replaced:"
            " call innervoice.bridges.litellm.install() before anything imports litellm"
        )
    sys.meta_path.insert(0, _FINDER)
    for name, module in list(sys.modules.items()):
        if _is_in(name, _OURS):
            sys.modules[_THEIRS + name.removeprefix(_OURS)] = module
    for place, classes in _public_classes():
        for kind in classes:
            _HOMES.setdefault(kind, kind.__module__)
            kind.__module__ = f"{_THEIRS}.{place}"


def uninstall() -> None:
    """Undoes `install()`: removes the finder and every module named litellm; harmless if nothing is installed."""
    if _FINDER in sys.meta_path:
        sys.meta_path.remove(_FINDER)
    for name, module in list(sys.modules.items()):
        if _is_in(name, _THEIRS) and not _is_theirs(module):
            del sys.modules[name]
    while _HOMES:
        kind, home = _HOMES.popitem()
        kind.__module__ = home


def _public_classes() -> Iterator[tuple[str, list[type]]]:
    """The classes that programs get, by the module of litellm that has them; some programs recognize a class by this name."""
    for module in ("types.utils", "exceptions"):
        loaded = import_module(f"{_OURS}.{module}")
        values = [getattr(loaded, name) for name in loaded.__all__]
        yield module, [item for item in values if isinstance(item, type)]


def _is_in(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def _is_theirs(module: ModuleType | None) -> bool:
    return module is not None and not _is_in(module.__name__, _OURS)


class _Same:
    """Loads a module that is already imported under another name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def create_module(self, spec: ModuleSpec) -> ModuleType:  # noqa: ARG002 - the protocol's signature
        module = import_module(self._name)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        # The import system has just replaced it, and reloading or pickling by name needs the module's own.
        module.__spec__ = self._spec


class _Finder:
    """Finds modules of litellm among ours, and raises an error if there is none."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,  # noqa: ARG002 - the protocol's signature
    ) -> ModuleSpec | None:
        if _is_in(fullname, _THEIRS):
            our_name = _OURS + fullname.removeprefix(_THEIRS)
            spec = find_spec(our_name)
            loader: Any = _Same(our_name)
            package = spec is not None and spec.submodule_search_locations is not None
            return ModuleSpec(fullname, loader, is_package=package)
        if fullname.startswith(f"{_OURS}."):
            return PathFinder.find_spec(fullname, path) or self._missing(fullname)
        return None

    def find_distributions(self, context: Any = None) -> list[Any]:
        """The metadata of a package named litellm, for `importlib.metadata`."""
        wanted = (context.name if context else None) or _THEIRS
        return [_distribution()] if wanted.lower() == _THEIRS else []

    @staticmethod
    def _missing(fullname: str) -> None:
        """Also called for `from litellm import name` if the name does not exist, as Python then looks for a module."""
        name = _THEIRS + fullname.removeprefix(_OURS)
        raise ModuleNotFoundError(sentence(name), name=name)


def _distribution() -> Any:
    # Code that reads metadata has loaded this module; it is slow, and other programs do not need it.
    kind = import_module("importlib.metadata").Distribution
    texts = {"METADATA": _METADATA, "top_level.txt": _THEIRS}
    methods = {
        "read_text": lambda _, name: texts.get(name),
        "locate_file": lambda _, path: Path(__file__).parent / path,
    }
    return type("Distribution", (kind,), methods)()


_FINDER: Any = _Finder()
_HOMES: dict[type, str] = {}
"""The modules of the public classes before `install()`."""


# ---- Names of the package that are loaded on first access, so that `import` stays fast.


_TOP = "innervoice.bridges.litellm"
_MODULES = (
    "types.llms.openai",
    "types.router",
    "integrations.custom_logger",
    "llms.custom_llm",
    "_logging",
    "router",
    "text_completions",
    "responses_api",
    "batches",
    "cost_calculator",
    "integrations",
    "litellm_core_utils",
    "llms",
)
"""Modules whose names are also names of the package; those without a dot are names themselves."""


def late_name(name: str) -> Any:
    """The value of a name; raises AttributeError with an alternative."""
    if name in _MODULES:
        return import_module(f"{_TOP}.{name}")
    for module in () if name.startswith("__") else _MODULES:
        loaded = import_module(f"{_TOP}.{module}")
        if name in getattr(loaded, "__all__", ()):
            value = getattr(loaded, name)
            setattr(sys.modules[_TOP], name, value)
            return value
    raise missing(name, _TOP)


def late_names() -> list[str]:
    """All of these names."""
    loaded = [import_module(f"{_TOP}.{module}") for module in _MODULES]
    names = [name for module in loaded for name in getattr(module, "__all__", ())]
    return [*names, *(module for module in _MODULES if "." not in module)]
