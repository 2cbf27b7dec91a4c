"""run.log has the run's records and warnings; logging is restored afterwards."""

from __future__ import annotations

import logging
import subprocess
import sys
import warnings

import pytest

from attnlab.records.logs import logging_to


def test_the_log_has_only_records_of_its_own_block(tmp_path):
    path = tmp_path / "run.log"
    ours, other = logging.getLogger("attnlab.x"), logging.getLogger("attnlabelled")
    ours.warning("before")
    with warnings.catch_warnings(action="always"), logging_to(path):
        ours.info("epoch 1")
        ours.debug("too much")
        other.info("not ours")
        other.warning("a library's warning")
        warnings.warn("logged", stacklevel=1)
    ours.warning("after")
    with logging_to(tmp_path / "second.log"):
        ours.info("another run")
    lines = path.read_text().splitlines()
    assert [line.split(" ", 2)[2].split(": ")[0] for line in lines[:3]] == [
        "INFO attnlab.x",
        "WARNING attnlabelled",
        "WARNING py.warnings",
    ]
    assert lines[2].endswith("UserWarning: logged") and "another run" not in path.read_text()


def test_everything_is_as_before_after_an_error(tmp_path):
    root, ours = logging.getLogger(), logging.getLogger("attnlab")
    before = (list(root.handlers), ours.level, warnings.showwarning)
    with pytest.raises(KeyError), logging_to(tmp_path / "run.log"):
        raise KeyError
    assert (list(root.handlers), ours.level, warnings.showwarning) == before


def test_a_log_that_cannot_be_written_raises_no_error(tmp_path, capsys):
    (tmp_path / "full.log").symlink_to("/dev/full")
    for place in ("gone/run.log", "full.log"):
        with logging_to(tmp_path / place):
            logging.getLogger("attnlab").info("lost")
    assert capsys.readouterr().err == ""


def test_only_our_warnings_reach_the_terminal_also_while_it_is_redirected(tmp_path):
    """TensorFlow's import redirects standard error."""
    code = (
        "import logging, os, sys; from pathlib import Path\n"
        "from attnlab.records.logs import logging_to\n"
        "with logging_to(Path(sys.argv[1])):\n"
        "    saved = os.dup(2)\n"
        "    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)\n"
        "    logging.getLogger('attnlab.records').warning('heard')\n"
        "    logging.getLogger('attnlab').info('detail')\n"
        "    logging.getLogger('other').warning('noise')\n"
        "    os.dup2(saved, 2)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "run.log")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == "attnlab: heard\n"
