"""The configuration of a run: typed sections, options, and the digest of what decides the result.

The sections that every run has are dataclasses, whose rules are in conf/rules.yaml. The groups with
a YAML file per option (`attention`, `task`, `model`, `optimizer`, `schedule`, `data`) are
`Option`s: a name and settings, whose rules are in the same file. `parse` checks both, for a new run
and for a stored one. Settings that depend on the machine stay `auto` in the configuration:
`trainer.jit` and `trainer.together`.
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import yaml

from attnlab.config.options import option_content, section_rules
from attnlab.config.rules import check_rule, lookup, read_rule, yaml_text
from attnlab.errors import RequestError

Section = TypeVar("Section")
OPTION_GROUPS = ("task", "attention", "model", "optimizer", "schedule")
GROUPS = (*OPTION_GROUPS, "data", "experiment", "search")  # all that choose a file of conf


@dataclass
class TrainerConfig:
    """Epochs, batches, early stopping and compilation of training."""

    epochs: int = 30
    batch_size: int = 32
    batch_by: str = "items"
    accumulate: int = 1
    patience: int | None = None
    min_delta: float = 0.0
    checkpoint_every_seconds: float | None = 300.0
    devices: Any = 1
    precision: str = "float32"
    jit: Any = "auto"
    together: Any = "auto"

    def __post_init__(self) -> None:
        if self.devices != 1:  # a run with several devices trains alone
            self.together = "never"

    @property
    def step_size(self) -> int:
        """Items or tokens per gradient step."""
        return self.batch_size * self.accumulate


# Settings and sections that don't influence results.
_IDLE = ("trainer.checkpoint_every_seconds", "trainer.together", "trainer.devices")
_IDLE_SECTIONS = ("paths", "tracking", "sweep", "search", "hydra")


def decides_result(key: str) -> bool:
    """Return whether the result of a run depends on a setting or a section."""
    return key not in _IDLE and key.partition(".")[0] not in _IDLE_SECTIONS


@dataclass
class TrackingConfig:
    """Which store MLflow uses, and what is logged."""

    enabled: bool = True
    uri: str | None = None
    weights: str = "best"
    timeout: float = 30.0


@dataclass
class PathsConfig:
    """The folders of runs and of downloads."""

    runs: str = "./runs"
    data: str = "~/.cache/attnlab"


@dataclass
class SweepConfig:
    """How a sweep runs its jobs; not part of a run's configuration."""

    name: str | None = None
    retry_failed: bool = False
    dry_run: bool = False


@dataclass
class SearchConfig:
    """What a search tries, and how; settings without a type are checked with the search space."""

    space: Any = None
    sampler: str | None = None
    trials: int = 20
    seed: int = 0
    metrics: Any = "best_value"
    pruner: str = "median"
    startup_trials: int = 10
    prune_after_trials: int = 5
    prune_after_epochs: int = 5


@dataclass(frozen=True)
class Option:
    """The chosen option of a group: its name, by which its class is found, and its settings."""

    name: str  # for example `luong_local`
    settings: Mapping[str, Any]  # keyword arguments for its class

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any]) -> Option:
        """Split a composed group into name and settings."""
        return cls(mapping["name"], {k: v for k, v in mapping.items() if k != "name"})


def _option(group: str) -> cached_property[Option]:
    return cached_property(lambda config: Option.from_mapping(config.document[group]))


def _section(name: str, cls: type[Section]) -> cached_property[Section]:
    return cached_property(lambda config: cls(**config.document.get(name, {})))


@dataclass(frozen=True)
class RunConfig:
    """A checked configuration: one document, with typed sections and options as views."""

    document: Mapping[str, Any]  # nested mappings, as in config.yaml
    # Hashes of the user's own data files by setting; in the digest they replace the paths.
    file_hashes: Mapping[str, str] = field(default_factory=dict)
    # Earlier values of `trainer.epochs`, if a run was trained longer.
    earlier_epochs: Sequence[int] = ()

    task = _option("task")  # what is learned, from which data, under which protocol
    attention = _option("attention")  # the mechanism
    model = _option("model")  # the architecture around it
    optimizer = _option("optimizer")  # the update rule
    schedule = _option("schedule")  # the learning rate over the run
    trainer = _section("trainer", TrainerConfig)  # epochs, batches, stopping
    tracking = _section("tracking", TrackingConfig)  # MLflow
    paths = _section("paths", PathsConfig)  # folders

    @property
    def data(self) -> Option | None:
        """The corpus; None if the task brings its own data."""
        return Option.from_mapping(self.document["data"]) if "data" in self.document else None

    @property
    def seed(self) -> int:
        """The seed of weights, data order, dropout and generated data."""
        return self.document["seed"]

    def with_values(self, values: Mapping[str, Any]) -> RunConfig:
        """Return the configuration with changed values, given by dotted key and not checked."""
        document = copy.deepcopy(dict(self.document))
        for key, value in values.items():
            section, _, name = key.rpartition(".")
            lookup(document, section)[name] = value
        return replace(self, document=document)

    @property
    def names(self) -> dict[str, Any]:
        """Task, attention and seed, as in metrics.json."""
        return {"task": self.task.name, "attention": self.attention.name, "seed": self.seed}

    @property
    def program(self) -> str:
        """Everything that a compiled program depends on, as text; stacked runs have it in common.

        Seed, learning rate, schedule and the number of epochs are left out.
        """
        options = self.task, self.attention, self.data, self.model
        optimizer = {k: v for k, v in self.optimizer.settings.items() if k != "learning_rate"}
        trainer = self.trainer
        parts = [
            *([option.name, dict(option.settings)] for option in options if option),
            [self.optimizer.name, optimizer],
            [trainer.batch_size, trainer.batch_by, trainer.precision, trainer.jit],
            trainer.accumulate,
        ]
        return json.dumps(parts, sort_keys=True, default=str)

    @property
    def digest(self) -> str:
        """SHA-256 of everything that decides the result.

        `paths`, `tracking`, the frequency of checkpoints, stacking and the number of devices don't.
        """
        document = self.with_values(dict.fromkeys(self.file_hashes)).document
        decisive = {key: part for key, part in document.items() if decides_result(key)}
        trainer = self.document.get("trainer", {})
        trainer = {k: value for k, value in trainer.items() if decides_result(f"trainer.{k}")}
        if trainer.get("accumulate") == 1:  # runs of earlier versions don't have it
            del trainer["accumulate"]
        decisive |= {"trainer": trainer, **self.beyond_settings}
        return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()

    @property
    def beyond_settings(self) -> dict[str, Any]:
        """What decides the result in addition to settings, as entries of status.json."""
        hashes, epochs = dict(self.file_hashes), list(self.earlier_epochs)
        entries = {"file_hashes": hashes, "earlier_epochs": epochs}
        return {name: entry for name, entry in entries.items() if entry}

    def require_same_files(self) -> None:
        """Raise `RequestError` if a file of the user has changed since the command started."""
        for key, digest in self.file_hashes.items():
            path = lookup(self.document, key)
            if file_hash(path) != digest:
                raise RequestError(
                    f"{key}: {path} has changed since the command started: run the command again "
                    "to use the new file."
                )


SECTIONS = {"trainer": TrainerConfig, "tracking": TrackingConfig, "paths": PathsConfig}


def absolute(path: str) -> str:
    """Return the absolute path of a file or folder."""
    return os.path.abspath(os.path.expanduser(path))


def file_hash(path: str) -> str | None:
    """Return the hash of a file or folder; None if the path doesn't exist.

    The hash of a file is the SHA-256 of its content. The hash of a folder is made from names, sizes
    and modification times of the files below it, except hidden ones, so a copy has another hash. Of
    a run's folder only the weights count, because MLflow changes other files. A sweep's folder has
    no hash, because the sweep's runs differ by seed.
    """
    state = hashlib.sha256()
    with suppress(OSError, RuntimeError, ValueError):  # ~NOBODY, or a NUL in the path
        place = Path(path).expanduser()
        if (place / "sweep.json").is_file():
            return None
        if (place / "status.json").is_file():
            place = place / "weights"
        if place.is_dir():
            lines = []
            for parent, folders, names in os.walk(place, followlinks=True):
                folders[:] = sorted(name for name in folders if not name.startswith("."))
                for name in sorted(name for name in names if not name.startswith(".")):
                    with suppress(OSError):  # removed, or a broken link
                        file = Path(parent, name)
                        status = file.stat()
                        entry = file.relative_to(place), status.st_size, status.st_mtime_ns
                        lines.append("\0".join(map(str, entry)))
            state.update("\n".join(lines).encode("utf-8", "surrogateescape"))
            return state.hexdigest()
        if place.is_file():  # a pipe can be read only once
            with place.open("rb") as stream:
                while chunk := stream.read(2**20):
                    state.update(chunk)
            return state.hexdigest()
    return None


def parse(
    document: Mapping[str, Any],
    rules: Mapping[str, Mapping[str, Mapping[str, Any]]],
    hash_of: Callable[[str], str | None] = file_hash,
) -> RunConfig:
    """Check a plain configuration; paths of the user's own files become absolute.

    Args:
        document: nested mappings with the groups, the sections and `seed`.
        rules: for each group `{setting: rule}`, as in its YAML; a setting with a dot is a path
            into the whole document, so that an option can exclude other options.
        hash_of: returns the hash of a user's file.

    Raises:
        RequestError: a value is missing or breaks its rule.
    """
    document = dict(document)
    _check_keys("", document, (*OPTION_GROUPS, *SECTIONS, "data", "seed"))
    check_rule("seed", document.get("seed"), read_rule("seed", section_rules("seed")))
    for group in [*OPTION_GROUPS, *(["data"] if "data" in document else [])]:
        check_group(group, document, rules)
    for name, cls in SECTIONS.items():
        parse_section(name, cls, document)
    if uri := (document.get("tracking") or {}).get("uri"):
        if "@" in uri.partition("://")[2].partition("/")[0]:
            raise RequestError(
                "tracking.uri: must not contain a user name or password, because it is saved with "
                "the run: set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD instead."
            )
        document["tracking"] = {**document["tracking"], "uri": absolute_uri(uri)}
    hashes = {}
    for group in rules:
        for name in (name for name, rule in rules[group].items() if rule.get("hashed")):
            path = absolute(document[group][name] or "")
            if document[group][name] and os.path.exists(path):
                document[group] = {**document[group], name: path}
                hashes[f"{group}.{name}"] = hash_of(path)
    return RunConfig(document, {key: value for key, value in hashes.items() if value})


def check_group(group: str, document: Mapping[str, Any], all_rules: Mapping[str, Any]) -> None:
    """Check the settings of one group by the rules of all; raises `RequestError`."""
    settings, rules = document.get(group), all_rules.get(group, {})
    if not isinstance(settings, Mapping) or "name" not in settings:
        raise RequestError(f"{group}: expected the name of one of its options, got {settings}.")
    for key, mapping in rules.items():
        path = key if "." in key else f"{group}.{key}"
        rule, value = read_rule(path, mapping), lookup(document, path)
        if "." in key and rule.choices is not None:
            if value is not None and value not in rule.choices:  # None: no such setting here
                reason = f": {rule.why}" if rule.why else ""
                raise RequestError(
                    f"{group}={settings['name']} can't be combined with {path}={value}{reason}. "
                    f"Valid: {', '.join(map(yaml_text, rule.choices))}."
                )
            continue
        # An option of another group, such as a mechanism, may have a value for `auto`.
        autos = [
            other[path]["auto"] for other in all_rules.values() if "auto" in other.get(path, {})
        ]
        if value not in autos:
            check_rule(path, value, rule, document)
    # After the combinations: another group's option may have set a key of this one.
    unknown = [key for key in settings if rules and key not in ("name", *rules)]
    if unknown and unknown[0] in (option_content(group, settings["name"]) or {}):
        raise RequestError(
            f"{group}.{unknown[0]}: its file has no rule for this setting: add one to rules, such "
            f"as {unknown[0]}: {{type: float, min: 0}}."
        )
    _check_keys(f"{group}.", unknown, ("name", *rules))


def _check_keys(prefix: str, keys: Iterable[str], valid: Sequence[str]) -> None:
    for key in keys:
        if key not in valid:
            names = ", ".join(name for name in valid if "." not in name)
            raise RequestError(f"{prefix}{key}: there is no such key. Valid: {names}.")


def parse_section(name: str, cls: type, document: Mapping[str, Any]) -> Any:
    """Return a section of a configuration as an object of its class; raises `RequestError`."""
    values, rules = document.get(name, {}), section_rules(name)
    _check_keys(f"{name}.", values, tuple(rules))
    section = cls(**values)
    for key, rule in rules.items():
        path = f"{name}.{key}"
        check_rule(path, getattr(section, key), read_rule(path, rule), document)
    return section


def stored_config(
    document: Mapping[str, Any], status: Mapping[str, Any], changes: Mapping[str, str]
) -> RunConfig:
    """Return the configuration of a stored run, in which some settings may change.

    Args:
        document: the content of its config.yaml.
        status: the content of its status.json.
        changes: new numbers of epochs or devices, and new paths of the user's own files: dotted
            keys and their values as YAML.

    Raises:
        RequestError: another key, or a wrong value.
    """
    hashes = status.get("file_hashes", {})
    allowed = ("trainer.epochs", "trainer.devices", *hashes)
    values = {key: read_value(key, text) for key, text in changes.items()}
    for key, value in values.items():
        if key not in allowed:
            raise RequestError(f"{key}: only {' and '.join(allowed)} may change in a stored run.")
        if key in hashes:
            values[key] = absolute(str(value))
            if not os.path.exists(values[key]):
                raise RequestError(f"{key}: expected a file or folder that exists, got {value!r}.")
    changed = parse(document, {}).with_values(values)
    return replace(parse(changed.document, {}), file_hashes=hashes)


def absolute_uri(uri: str) -> str:
    """Return a URI with an absolute path, for use in any working folder."""
    start = "sqlite:///" if uri.startswith("sqlite:///") else ""
    is_path = start or ("/" in uri and ":" not in uri)
    return start + os.path.abspath(uri.removeprefix(start)) if is_path else uri


def read_value(key: str, text: str) -> Any:
    """Parse a text as YAML; raises `RequestError`."""
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise RequestError(f"{key}: {text!r} is not valid YAML.") from error
