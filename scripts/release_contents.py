"""Checks what is in the archives of a release: python scripts/release_contents.py dist"""

from __future__ import annotations

import sys
import tarfile
import zipfile
from pathlib import Path

_MOST_WHEEL, _MOST_SDIST = 1_500_000, 6_000_000
_NEEDED = (
    "innervoice/__init__.py",
    "innervoice/__init__.pyi",
    "innervoice/py.typed",
    "innervoice/catalog/hosts.toml",
    "innervoice/catalog/models.toml",
    "innervoice/catalog/markup.toml",
    "innervoice/cli/clients.toml",
)


def problems(folder: Path) -> list[str]:
    """What is wrong with the archives in a folder."""
    wheels, sdists = [*folder.glob("*.whl")], [*folder.glob("*.tar.gz")]
    if len(wheels) != 1 or len(sdists) != 1:
        return [f"expected one wheel and one sdist, found {len(wheels)} and {len(sdists)}"]
    with zipfile.ZipFile(wheels[0]) as archive:
        names = set(archive.namelist())
    with tarfile.open(sdists[0]) as archive:
        sources = {name.partition("/")[2] for name in archive.getnames()}
    found = [f"the wheel lacks {name}" for name in _NEEDED if name not in names]
    found += [f"the sdist lacks src/{name}" for name in _NEEDED if f"src/{name}" not in sources]
    found += [
        f"the wheel has {name}"
        for name in sorted(names)
        if not name.startswith(("innervoice/", "innervoice-")) or "__pycache__" in name
    ]
    found += [
        f"the wheel lacks {file.name} of the viewer"
        for folder in ("assets", "usage_assets", "runs_assets")
        for file in Path("src/innervoice/view", folder).glob("*")
        if f"innervoice/view/{folder}/{file.name}" not in names
    ]
    for archive, most in ((wheels[0], _MOST_WHEEL), (sdists[0], _MOST_SDIST)):
        size = archive.stat().st_size
        sys.stdout.write(f"{archive.name}: {size:,} bytes\n")
        if size > most:
            found.append(f"{archive.name} has {size:,} bytes, more than {most:,}")
    return found


if __name__ == "__main__":
    wrong = problems(Path(sys.argv[1]))
    sys.stdout.write("".join(f"{line}\n" for line in wrong))
    sys.exit(bool(wrong))
