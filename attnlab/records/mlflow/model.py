"""Save a run's best weights as a model that MLflow can serve, with this package as a wheel.

Each model contains the wheel because this package isn't on a package index.
"""

from __future__ import annotations

import io
import shutil
import zipfile
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from attnlab import __version__
from attnlab.records.mlflow.snapshot import Model

_LOADER_MODULE = "attnlab.run.loading"
_WHEEL = f"wheels/attnlab-{__version__}-py3-none-any.whl"  # relative to the model's folder
_INFO = f"attnlab-{__version__}.dist-info"
_WHEEL_METADATA = (
    "Wheel-Version: 1.0\nGenerator: attnlab\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
)


def save_model(model: Model, description: Any, path: Path, data: Path) -> None:
    """Write a pyfunc model with a signature, without loading it, which would take seconds."""
    import mlflow.pyfunc
    import numpy as np
    from mlflow.models import infer_signature

    data.mkdir()
    for name, part in model.files.items():
        copy = shutil.copytree if part.is_dir() else shutil.copy
        copy(part, data / name)
    served = [
        part["values"] if part["dtype"] == "object" else np.array(part["values"], part["dtype"])
        for part in model.served or ()
    ]
    mlflow.pyfunc.save_model(
        str(path),
        loader_module=_LOADER_MODULE,
        data_path=str(data),
        mlflow_model=description,
        pip_requirements=_requirements(),
        signature=infer_signature(*served) if served else None,  # type: ignore[arg-type]
        input_example=served[0] if served else None,
    )
    (path / _WHEEL).parent.mkdir()
    (path / _WHEEL).write_bytes(_wheel())


def _requirements() -> list[str]:
    """Return a model's requirements: the wheel, and its dependencies in the installed versions."""
    from packaging.requirements import Requirement

    try:
        wanted = [Requirement(text) for text in metadata.requires("attnlab") or ()]
    except metadata.PackageNotFoundError:  # the package is not installed
        wanted = []
    here = [each for each in wanted if each.marker is None or each.marker.evaluate({"extra": ""})]
    return [*(f"{each.name}=={metadata.version(each.name)}" for each in here), _WHEEL]


@cache
def _wheel() -> bytes:
    """Return the wheel; it lists no dependencies, because `_requirements` does."""
    package = Path(__file__).resolve().parents[2]
    conf = next(path for path in (package / "conf", package.parent / "conf") if path.is_dir())
    files = {f"attnlab/{path.relative_to(package)}": path for path in package.rglob("*.*")}
    files |= {f"attnlab/conf/{path.relative_to(conf)}": path for path in conf.rglob("*.yaml")}
    content = {
        name: path.read_bytes()
        for name, path in files.items()
        if path.is_file() and "__pycache__" not in path.parts
    }
    content[f"{_INFO}/WHEEL"] = _WHEEL_METADATA.encode()
    described = f"Metadata-Version: 2.1\nName: attnlab\nVersion: {__version__}\n"
    content[f"{_INFO}/METADATA"] = described.encode()
    content[f"{_INFO}/RECORD"] = "".join(f"{name},,\n" for name in content).encode()
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in content.items():
            file.writestr(name, data)
    return archive.getvalue()
