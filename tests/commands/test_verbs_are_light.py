"""Heavy imports that commands must avoid, checked in a fresh Python."""

from __future__ import annotations

import subprocess
import sys

from command_line import ROOT

HEAVY = ("numpy", "scipy", "rich", "matplotlib", "tensorflow", "keras", "mlflow", "hydra")
CODE = """
import sys

def told(names):
    print("LOADED", *sorted(names & sys.modules.keys()))

from attnlab.cli import main
from attnlab.commands import command, verbs
command("classify")
told({HEAVY})
for verb in verbs():
    command(verb)
told({HEAVY} - {"rich"})
main(["runs"])
told({HEAVY} - {"rich"})
main(["runs", "--where", "model.units=16", "--sort", "test"])
main(["compare", "--format", "csv"])
assert main(["plan", "--difference", "5%"]) == 0
told({HEAVY})
import attnlab.comparison.charts, attnlab.tasks.translation.scores
told({HEAVY})
"""


def test_commands_import_only_what_they_need(three_groups):
    code = CODE.replace("{HEAVY}", repr({*HEAVY}))
    environment = {"PYTHONPATH": str(ROOT), "ATTNLAB_RUNS": str(three_groups)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    loaded = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("LOADED")]
    assert loaded == [
        *([], [], [], ["numpy", "rich", "scipy"], ["numpy", "rich", "scipy"]),
    ]
    assert done.stdout.count("bahdanau") >= 11
