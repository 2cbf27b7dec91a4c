"""A run's data and model as MLflow wants them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attnlab import __version__
from attnlab.records.mlflow.snapshot import Model

LOADER_MODULE = "attnlab.run.loading"
_DIGEST_LENGTH = 36
_CONTEXTS = {"train": "training", "validation": "validation", "test": "testing"}


def dataset_inputs(name: str, source: str, digest: str, counts: Mapping[str, int]) -> list[Any]:
    """An input for each part of the data; MLflow keeps one context for a name and digest."""
    from mlflow.entities import Dataset, DatasetInput, InputTag

    origin = json.dumps({"tags": {"source": source, "sha256": digest}})
    return [
        DatasetInput(
            Dataset(
                name=f"{name}-{part}",
                digest=digest[:_DIGEST_LENGTH],
                source_type="code",
                source=origin,
                profile=json.dumps({"num_rows": number}),
            ),
            tags=[InputTag("mlflow.data.context", _CONTEXTS.get(part, part))],
        )
        for part, number in counts.items()
    ]


def save_model(model: Model, description: Any, path: Path, data: Path) -> None:
    """Write a pyfunc model with a signature; nothing here loads it, which would take seconds."""
    import mlflow.pyfunc
    import numpy as np
    from mlflow.models import infer_signature

    data.mkdir()
    for name, part in model.files.items():
        copy = shutil.copytree if part.is_dir() else shutil.copy
        copy(part, data / name)
    served = [np.array(part["values"], dtype=part["dtype"]) for part in model.served or ()]
    mlflow.pyfunc.save_model(
        str(path),
        loader_module=LOADER_MODULE,
        data_path=str(data),
        mlflow_model=description,
        pip_requirements=[f"attnlab=={__version__}"],
        signature=infer_signature(*served) if served else None,  # type: ignore[arg-type]
    )
