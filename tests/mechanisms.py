"""Which mechanisms of conf/attention a task may have."""

from attnlab.config.options import option_content, options


def mechanisms_for(task: str) -> list[str]:
    """Return the mechanisms whose rules allow a task."""
    rules = {name: option_content("attention", name)["rules"] for name in options("attention")}
    return [
        name
        for name, rule in rules.items()
        if task in rule.get("task.name", {}).get("choices", [task])
    ]
