"""Settings of options for models that are small."""

from __future__ import annotations

from attnlab.config.options import option_content

SMALL = {"units": 6, "embedding": 5, "heads": 3, "window": 2, "layers": 2, "feed_forward": 5}
SMALL |= {"cell": "simple"}


def settings(group: str, name: str, **others) -> dict:
    """Those of an option's YAML; where it has sizes, they are `SMALL`, or what `others` say."""
    content = option_content(group, name)
    own = {key: value for key, value in content.items() if key not in ("name", "_target_", "rules")}
    small = {**SMALL, **others}
    return {key: value if value is None else small.get(key, value) for key, value in own.items()}
