"""Translate commands in messages to calls of the Python API."""

from __future__ import annotations

import re
import shlex

_PREDICTIONS = "forecast|translate|classify|answer|fill"
_SETTING = r"[\w.]+=[^\s;,]+(?:,[^\s;]+)*"
_WORD = r"""(?:"[^"]*"|'[^']*'|[^\s;,"']+)"""
_RUN = re.compile(rf"attnlab (-m )?({_SETTING}|'{_SETTING}')((?: (?:{_SETTING}|'{_SETTING}'))*)")
_PREDICT = re.compile(rf"attnlab (?:{_PREDICTIONS})( {_WORD})?((?: {_WORD})*)")
_RESUME = re.compile(r"attnlab resume(?: (?!continues )([^\s;,]+))?(?: trainer\.epochs=(\d+))?")
_OTHERS = re.compile(r"attnlab (compare|runs)(?! ?(?:rm|sync|-))\b")
_OPTION = re.compile(r"(?<![\w-])--([a-z][a-z-]*)(?: (best|last|average|[A-Z]+))?(?![\w-])")
_NAMES = {"runs": "runs_folder", "no-bootstrap": "bootstrap=False"}


def in_python(text: str) -> str:
    """Replace commands in a message: `attnlab forecast latest` by `attnlab.load().predict()`.

    Commands without a Python function don't change.
    """
    text = text.replace("several values need -m.", "attnlab.run makes one run.")
    text = _RUN.sub(_as_run, text)
    text = _PREDICT.sub(lambda found: f"{_loaded(found[1])}.predict({_inputs(found[2])})", text)
    text = _RESUME.sub(_as_resume, text)
    text = _OTHERS.sub(r"attnlab.\1()", text)
    return _OPTION.sub(_as_argument, text)


def _as_run(found: re.Match[str]) -> str:
    """Return `attnlab.run(...)`, or `attnlab.sweep(...)` for `-m`; a final full stop stays."""
    words = found[2] + found[3]
    stop = "." if words.endswith(".") else ""
    arguments = ", ".join(f'"{word}"' for word in shlex.split(words.removesuffix(".")))
    return f"attnlab.{'sweep' if found[1] else 'run'}({arguments}){stop}"


def _as_resume(found: re.Match[str]) -> str:
    return f"{_loaded(found[1])}.resume({f'epochs={found[2]}' if found[2] else ''})"


def _loaded(run: str | None) -> str:
    run = (run or "").strip()
    return f'attnlab.load("{run}")' if run and run != "latest" else "attnlab.load()"


def _inputs(words: str) -> str:
    """Return the quoted inputs of a prediction as a Python list; empty if there are none."""
    texts = re.findall(r'"([^"]*)"', words)
    quoted = ", ".join(f'"{text}"' for text in texts)
    return f"[{quoted}]" if texts else ""


def _as_argument(found: re.Match[str]) -> str:
    name, value = found[1], found[2]
    if name == "config-dir":
        return f'"--config-dir={value or "FOLDER"}"'
    name = _NAMES.get(name, name.replace("-", "_"))
    if value is None:
        return name
    return f'{name}="{value}"' if value.islower() else f"{name}={value}"
