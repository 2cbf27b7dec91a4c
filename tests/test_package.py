"""The wheel works in a fresh environment, from any folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest
from command_line import ROOT

# The interpreter's variables would lead back to this checkout.
CLEAN = {key: os.environ[key] for key in ("PATH", "HOME", "PIP_INDEX_URL") if key in os.environ}

pytestmark = pytest.mark.slow


def run(*words: object, **options) -> str:
    done = subprocess.run(
        [str(word) for word in words], env=CLEAN, capture_output=True, text=True, **options
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_wheel_has_all_files_and_trains_from_any_folder(tmp_path_factory, tmp_path):
    pytest.importorskip("build", reason="building a wheel needs the package `build`")
    dist, environment = (tmp_path_factory.mktemp(name) for name in ("dist", "environment"))
    run(sys.executable, "-m", "build", "--wheel", "--outdir", dist, ROOT)
    (wheel,) = dist.iterdir()
    names = set(zipfile.ZipFile(wheel).namelist())
    conf = {f"attnlab/{path.relative_to(ROOT)}" for path in ROOT.glob("conf/**/*.yaml")}
    code = {str(path.relative_to(ROOT)) for path in ROOT.glob("attnlab/**/*.py")}
    page = {
        f"attnlab/views/html/{name}.{ending}"
        for name in ("explore", "page")
        for ending in ("css", "html", "js")
    }
    corpora = {str(path.relative_to(ROOT)) for path in ROOT.glob("attnlab/tasks/data/files/*.gz")}
    sunspots = {"attnlab/tasks/forecasting/sunspots.csv"}
    assert corpora and conf | code | page | corpora | sunspots <= names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    tops = {name.partition("/")[0] for name in names}
    assert tops == {"attnlab", next(top for top in tops if top.endswith(".dist-info"))}
    # A fresh environment with the wheel; its dependencies are those of this interpreter.
    venv.create(environment, with_pip=True)
    python, attnlab = (environment / "bin" / name for name in ("python", "attnlab"))
    run(python, "-m", "pip", "install", "--no-deps", "--no-index", wheel)
    ask = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
    packages = Path(run(python, "-c", ask).strip())
    (packages / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"])
    out = run(
        *(attnlab, "task=fib", "task.count=61", "attention=bahdanau"),
        *("model.units=3", "trainer.epochs=2", "trainer.batch_size=61"),
        *("trainer.jit=false", "model.cell=simple"),
        cwd=tmp_path,
    )
    (status,) = tmp_path.glob("runs/fib/bahdanau/*/status.json")
    assert json.loads(status.read_text())["state"] == "completed"
    assert f"run folder: {status.parent}\n" in out
    assert "bahdanau" in run(attnlab, "runs", cwd=tmp_path)
    ask = "import attnlab; print(attnlab.__file__)"
    where = run(python, "-c", ask, cwd=tmp_path)
    assert Path(where.strip()).is_relative_to(environment)
