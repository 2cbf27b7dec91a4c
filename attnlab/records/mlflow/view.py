"""What the MLflow UI shows of an experiment at first, by undocumented words of MLflow 3.17.2.

A view that somebody shares is a tag of the experiment, and its key is a part of the address. Ours
has the columns that say most, wide enough for names, and the charts of the losses first.
tests/records/test_mlflow_internals.py looks for the words that the UI has to know.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

VIEW_TAG, VIEW_PARAMETER, _KEY = "mlflow.sharedViewState.", "viewStateShareKey", "attnlab"
TAG = f"{VIEW_TAG}{_KEY}"
# The UI's other mode is about traces of language models.
_MODE = "workflowType=machine_learning"
# In pixels.
_WIDTHS = {"attributes.`Run Name`": 260, "params.`attention.name`": 140, "params.`seed`": 70}
_METRIC_WIDTH = 170
_LOSSES = ("train_loss", "val_loss")
_NEWEST = """
    SELECT experiment_id FROM runs JOIN experiment_tags USING (experiment_id)
    WHERE runs.lifecycle_stage = 'active' AND experiment_tags.key = ?
    ORDER BY runs.start_time DESC LIMIT 1
"""


def view(metric: str | None) -> str:
    """Describe the view of an experiment, in whose columns is a metric of the runs' results."""
    widths = {**_WIDTHS, **({f"metrics.`{metric}`": _METRIC_WIDTH} if metric else {})}
    sections = [("attnlab", "loss"), ("default", "Model metrics")]
    state = {
        "selectedColumns": [*widths][1:],
        "columnOrder": [*widths],
        "columnWidths": widths,
        "compareRunSections": [
            {"uuid": uuid, "name": name, "display": True, "isReordered": False}
            for uuid, name in sections
        ],
        "compareRunCharts": [_chart(loss) for loss in _LOSSES],
    }
    return json.dumps(state)


def _chart(metric: str) -> dict[str, Any]:
    """Describe the chart of a metric over the epochs, in the place of the one that MLflow makes."""
    return {
        "type": "LINE",
        "uuid": f"autogen-{metric}",
        "metricSectionId": "attnlab",
        "isGenerated": True,
        "deleted": False,
        "metricKey": metric,
        "selectedMetricKeys": [metric],
        "runsCountToCompare": 10,
        "scaleType": "linear",
        "xAxisKey": "step",
        "xAxisScaleType": "linear",
        "lineSmoothness": 0,
        "useGlobalXaxisKey": True,
        "useGlobalLineSmoothing": True,
    }


def newest_page(store: Path) -> str:
    """Return the page of the experiment with the newest run of a store; empty if it has none."""
    address = f"file:{quote(store.as_posix())}?mode=ro"
    with suppress(sqlite3.Error), closing(sqlite3.connect(address, uri=True)) as database:
        if found := database.execute(_NEWEST, [TAG]).fetchone():
            return f"/#/experiments/{found[0]}/runs?{_MODE}&{VIEW_PARAMETER}={_KEY}"
    return ""
