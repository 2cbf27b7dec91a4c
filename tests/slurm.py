"""A Slurm of one machine: `sbatch` runs a job array's script, `squeue` and `sacct` know nothing."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_SBATCH = """#!{python}
import os, re, subprocess, sys

script = sys.argv[-1]
open({record!r}, "w").write(open(script).read())
array = re.search(r"--array=(\\d+)-(\\d+)", open(script).read())
tasks = range(int(array[1]), int(array[2]) + 1) if array else [None]
for task in tasks:
    job = {{
        "SLURM_JOB_ID": "499", "SLURM_NTASKS": "1", "SLURM_JOB_NUM_NODES": "1",
        "SLURM_NODEID": "0", "SLURM_PROCID": "0", "SLURM_LOCALID": "0",
        "SLURM_JOB_NODELIST": "node1",
    }}
    if task is not None:
        job |= {{
            "SLURM_JOB_ID": str(500 + task), "SLURM_ARRAY_JOB_ID": "499",
            "SLURM_ARRAY_TASK_ID": str(task),
        }}
    subprocess.Popen(
        ["bash", script],
        env={{**os.environ, **job}},
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
print("Submitted batch job 499")
"""
_SRUN = """#!/bin/bash
while [[ $1 == -* ]]; do
    case $1 in --output|--error) shift 2 ;; *) shift ;; esac
done
exec "$@"
"""
_SILENT = "#!/bin/sh\n"


def install(folder: Path) -> Path:
    """Put the commands into a folder for PATH; return the path of the saved job script."""
    folder.mkdir()
    record = folder / "script.sh"
    commands = {
        "sbatch": _SBATCH.format(python=sys.executable, record=os.fspath(record)),
        "srun": _SRUN,
        "squeue": _SILENT,
        "sacct": _SILENT,
    }
    for name, text in commands.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return record
