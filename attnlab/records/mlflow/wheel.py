"""This package as a wheel, which each logged model has beside it: no index offers it."""

from __future__ import annotations

import io
import zipfile
from functools import cache
from importlib import metadata
from pathlib import Path

from attnlab import __version__

NAME = f"wheels/attnlab-{__version__}-py3-none-any.whl"  # relative to the model, as pip reads it
_INFO = f"attnlab-{__version__}.dist-info"
_WHEEL = "Wheel-Version: 1.0\nGenerator: attnlab\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def requirements() -> list[str]:
    """What a model needs: the wheel, and what that depends on in the versions that are here."""
    from packaging.requirements import Requirement

    try:
        wanted = [Requirement(text) for text in metadata.requires("attnlab") or ()]
    except metadata.PackageNotFoundError:  # run from a folder that was never installed
        wanted = []
    here = [each for each in wanted if each.marker is None or each.marker.evaluate({"extra": ""})]
    return [*(f"{each.name}=={metadata.version(each.name)}" for each in here), NAME]


@cache
def wheel() -> bytes:
    """The wheel's content; pip takes the versions of what it depends on from `requirements`."""
    package = Path(__file__).resolve().parents[2]
    conf = next(path for path in (package / "conf", package.parent / "conf") if path.is_dir())
    files = {f"attnlab/{path.relative_to(package)}": path for path in package.rglob("*.*")}
    files |= {f"attnlab/conf/{path.relative_to(conf)}": path for path in conf.rglob("*.yaml")}
    content = {
        name: path.read_bytes()
        for name, path in files.items()
        if path.is_file() and "__pycache__" not in path.parts
    }
    content[f"{_INFO}/WHEEL"] = _WHEEL.encode()
    described = f"Metadata-Version: 2.1\nName: attnlab\nVersion: {__version__}\n"
    content[f"{_INFO}/METADATA"] = described.encode()
    content[f"{_INFO}/RECORD"] = "".join(f"{name},,\n" for name in content).encode()
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in content.items():
            file.writestr(name, data)
    return archive.getvalue()
