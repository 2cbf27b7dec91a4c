"""`attnlab runs` and its own verbs."""

from attnlab.commands.runs.listing import command

__all__ = ["command"]
