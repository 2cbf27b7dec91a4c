"""The list of commands, their options, and settings: a new one is a decision.

python tests/test_interface.py    # write the list again
"""

from pathlib import Path

import click

from attnlab.commands import command, verbs
from attnlab.config.settings import settings

LIST = Path(__file__).with_name("interface.txt")


def interface() -> str:
    """Return a line per command, with its arguments and options, and per setting of an option."""
    lines = []
    for verb in verbs():
        group = command(verb)
        parts = {
            verb: group,
            **{f"{verb} {n}": c for n, c in getattr(group, "commands", {}).items()},
        }
        for name, part in parts.items():
            words = [name]
            for parameter in part.params:
                is_option = isinstance(parameter, click.Option)
                words.append(parameter.opts[0] if is_option else parameter.name.upper())
            lines.append("attnlab " + " ".join(words))
    keys: dict[str, list[str]] = {}
    for setting in settings():
        keys.setdefault(setting.option or "every run", []).append(setting.key)
    return "\n".join([*lines, "", *(f"{o}: {' '.join(names)}" for o, names in keys.items()), ""])


def test_commands_and_settings_are_those_of_the_list():
    assert interface().splitlines() == LIST.read_text("utf-8").splitlines()


if __name__ == "__main__":
    LIST.write_text(interface(), encoding="utf-8")
