"""Configurations of runs that one process makes one after another, composed in no time."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache

from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from omegaconf import OmegaConf

from attnlab.config.composing import HYDRA_SETTINGS, register_schema
from attnlab.config.options import conf_folder, own_folders
from attnlab.config.sections import RunConfig
from attnlab.errors import RequestError
from attnlab.records.environment import TYPED
from attnlab.sweeps.grid import Composer

# An option, or a value of a setting; what Hydra's own settings may enter is composed by itself.
_PLAIN = re.compile(r"(?!hydra|sweep|search|experiment)\w+(\.(?!_target_)\w+)*=.*", re.DOTALL)


def configuration(words: Sequence[str]) -> RunConfig | None:
    """What `attnlab WORDS` would run; None where Hydra itself has to say so, or what is wrong."""
    if not all(map(_PLAIN.fullmatch, words)):
        return None
    folders = [conf_folder(), *own_folders()]
    files = [path for folder in folders for path in sorted(folder.glob("**/*.yaml"))]
    stamp = tuple((str(path), path.stat().st_mtime_ns) for path in files)
    # Files may name any variable; the command as it was typed is another for each run.
    environment = frozenset({**os.environ, TYPED: ""}.items())
    with suppress(RequestError):
        return _composer(tuple(map(str, folders)), stamp, environment).check(words)
    return None


@lru_cache(maxsize=1)
def _composer(
    folders: tuple[str, ...],
    stamp: tuple[tuple[str, int], ...],
    environment: frozenset[tuple[str, str]],
) -> Composer:
    """Compose by the files in folders, as they are at a stamp, and by the variables as they are."""
    register_schema()
    urls = ",".join(f"'file://{folder}'" for folder in folders[1:])
    words = [*HYDRA_SETTINGS, f"hydra.searchpath=[{urls}]"]
    known = {"job": {"config_name": "config"}, "overrides": {"hydra": words}}
    with initialize_config_dir(folders[0], version_base="1.3"):
        loader = GlobalHydra.instance().config_loader()
    return Composer(loader, OmegaConf.create({"hydra": known}))
