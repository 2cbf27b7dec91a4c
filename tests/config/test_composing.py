"""The shipped files compose, fit the code they configure, and obey their own rules."""

from __future__ import annotations

import inspect
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
import yaml
from mechanisms import mechanisms_for

from attnlab.cli import main
from attnlab.config.options import (
    NOT_SETTINGS,
    conf_folder,
    option_class,
    option_content,
    options,
    section_rules,
)
from attnlab.config.rules import Rule
from attnlab.config.sections import (
    OPTION_GROUPS,
    SECTIONS,
    SearchConfig,
    SweepConfig,
    parse_section,
)
from attnlab.errors import RequestError
from attnlab.training.plan import Monitor, learning_rates

GROUPS = [group for group in (*OPTION_GROUPS, "data") if group != "model"]
FILES = sorted(path for group in GROUPS for path in (conf_folder() / group).glob("*.yaml"))
MODELS = sorted((conf_folder() / "model" / "settings").glob("*_*.yaml"))
# Required settings, as a user would give them.
NEEDED = {"series": ["task.path=numbers.csv"], "book": ["data.path=pairs.pkl"]}
NEEDED["embeddings"] = ["attention=none"]
NEEDED |= {name: ["task=language"] for name in ("delta", "gated_delta", "forgetting")}
# A task of each kind.
TASKS = {
    **{"answering": "answer", "classification": "classify", "forecasting": "fib"},
    **{"masked_words": "masked_words", "language": "language", "translation": "translate"},
}


def content(path: Path) -> dict:
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    return document["model"] if path in MODELS else document.get(path.parent.name, document)


def settings(path: Path) -> dict:
    return {
        key: value for key, value in content(path).items() if key not in ("name", *NOT_SETTINGS)
    }


def overrides(path: Path) -> list[str]:
    if path in MODELS:
        kind, _, name = path.stem.rpartition("_")
        task = "digits" if name == "vit" else TASKS[kind]
        return [f"task={task}", f"model={name}", *NEEDED.get(name, [])]
    task = []
    if path.parent.name == "data":
        task = [f"task={content(path)['rules']['task.name']['choices'][0]}"]
    return [*task, f"{path.parent.name}={path.stem}", *NEEDED.get(path.stem, [])]


def of_group(group: str):
    paths = [path for path in FILES if path.parent.name == group]
    return pytest.mark.parametrize("path", paths, ids=lambda path: path.stem)


@pytest.mark.parametrize("path", [*FILES, *MODELS], ids=lambda p: f"{p.parent.name}={p.stem}")
def test_an_option_composes_and_each_of_its_settings_has_a_rule(compose, path):
    words = "the first line is a comment that says what the option is, `# Cosine of query and key.`"
    assert path.read_text(encoding="utf-8").startswith("# "), words
    name = path.stem.rpartition("_")[2] if path in MODELS else path.stem
    assert content(path)["name"] == name
    rules = content(path).get("rules", {})
    assert set(settings(path)) == {key for key in rules if "." not in key}
    for key, rule in rules.items():
        assert isinstance(Rule(**rule).expected(), str), key
    config = compose(*overrides(path))
    group = "model" if path in MODELS else path.parent.name
    option = getattr(config, group)
    assert (option.name, set(option.settings)) == (name, set(settings(path)))
    assert "rules" not in config.document[group]
    if group == "task":  # its training defaults reach the trainer
        defaults = yaml.safe_load(path.read_text(encoding="utf-8"))["trainer"]
        assert {key: getattr(config.trainer, key) for key in defaults} == defaults
        assert option_content("task", name)["kind"] == option_class("task", name).kind.name


def test_a_corpus_of_another_kind_is_refused_with_the_reason(compose):
    for path in (path for path in FILES if path.parent.name == "data"):
        rule = content(path)["rules"]["task.name"]
        other = next(task for task in ("answer", "translate") if task not in rule["choices"])
        with pytest.raises(RequestError) as refused:
            compose(f"task={other}", f"data={path.stem}", *NEEDED.get(path.stem, []))
        assert str(refused.value) == (
            f"data={path.stem} can't be combined with task.name={other}: {rule['why']}. "
            f"Valid: {', '.join(rule['choices'])}."
        )


def test_the_model_follows_task_and_attention_unless_it_is_chosen(compose):
    for task, attention, model, chosen in (
        ("fib", "multi_head", "auto", "rnn"),
        ("translate", "bahdanau", "auto", "rnn"),
        ("translate", "multi_head", "auto", "transformer"),
        ("translate", "multi_head", "rnn", "rnn"),
        ("sunspots", "bahdanau", "transformer", "transformer"),
    ):
        config = compose(f"task={task}", f"attention={attention}", f"model={model}")
        assert config.model.name == chosen
        assert ("anchor" in config.model.settings) == (task != "translate")


def test_the_default_placement_is_written_into_the_configuration(compose):
    """With the default written out it is the same run, so comparisons see where runs differ."""
    for attention, place in (("bahdanau", "before_step"), ("luong_local", "after_step")):
        options = ("task=translate", f"attention={attention}")
        default, chosen = compose(*options), compose(*options, f"model.placement={place}")
        assert default.model.settings["placement"] == place
        assert default.document == {**chosen.document, "paths": default.document["paths"]}
        assert default.digest == chosen.digest
        other = compose(*options, "model.placement=before_step")
        assert other.model.settings["placement"] == "before_step"


@pytest.mark.parametrize("task", ["sunspots", "classify"])
def test_every_mechanism_with_a_context_reads_it_by_default(compose, task):
    for attention in mechanisms_for("sunspots"):
        config = compose(f"task={task}", f"attention={attention}", "model=rnn")
        expected = "state" if attention == "none" else "concat"
        assert config.model.settings["readout"] == expected, attention


def test_a_chosen_readout_stays_and_one_that_reads_nothing_is_refused(compose):
    chosen = compose("task=sunspots", "attention=luong_global", "model.readout=attentional_state")
    assert chosen.model.settings["readout"] == "attentional_state"
    none = ("task=sunspots", "attention=none")
    assert compose(*none, "model.readout=state").digest == compose(*none).digest
    with pytest.raises(RequestError, match=r"attention=none can't be .*=context: .* Valid: state"):
        compose(*none, "model.readout=context")
    with pytest.raises(
        RequestError, match=r"model.readout: .* \(attention=none reads only the state"
    ):
        compose("task=sunspots", "attention=pooling", "model.readout=state")


@of_group("optimizer")
def test_any_optimizer_replaces_the_one_of_a_task_and_can_be_made(compose, path):
    from attnlab.training.optimizers import make_optimizer

    chosen = compose("task=language", f"optimizer={path.stem}").optimizer
    assert chosen.settings.keys() == settings(path).keys()
    assert chosen.settings["clip_norm"] == 1.0
    optimizer = make_optimizer(path.stem, settings(path))
    assert type(optimizer).__name__.lower().removeprefix("fused") == path.stem
    config = optimizer.get_config()
    renamed = {"clip_norm": "global_clipnorm", "clip_value": "clipvalue"}
    for key, value in settings(path).items():
        assert config[renamed.get(key, key)] == pytest.approx(value), key


@of_group("schedule")
def test_any_schedule_replaces_the_one_of_a_task(compose, path):
    from attnlab.training import plan

    parameters = inspect.signature(getattr(plan, path.stem)).parameters.values()
    names = {p.name for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY}
    assert set(settings(path)) == names
    monitor = Monitor("val_loss", "min", 0.0)
    length = {"peak": 1.0, "first_step": 0, "steps": 4, "total_steps": 40, "monitor": monitor}
    for task in ("language", "masked_words"):
        chosen = compose(f"task={task}", f"schedule={path.stem}").schedule
        rates = learning_rates(chosen.name, chosen.settings, **length)
        assert rates.shape == (4,) and (rates > 0).all()


@pytest.mark.parametrize("name", options("experiment"))
def test_an_experiment_composes_and_its_header_has_its_command(compose, name):
    text = (conf_folder() / "experiment" / f"{name}.yaml").read_text(encoding="utf-8")
    assert text.startswith("# @package _global_\n# ")
    assert f"#   attnlab experiment={name}\n" in text
    compose(f"experiment={name}")


def test_every_setting_of_a_section_has_a_rule_and_a_default_that_obeys_it():
    for name, cls in {**SECTIONS, "sweep": SweepConfig, "search": SearchConfig}.items():
        assert list(section_rules(name)) == [field.name for field in fields(cls)]
        assert parse_section(name, cls, {}) == cls()


def test_composing_imports_no_class_of_a_task():
    code = "from attnlab.config.composing import compose, from_hydra; import sys; "
    code += "from_hydra(compose(['task=translate'])); "
    code += "assert not [name for name in sys.modules if name.startswith('attnlab.tasks')]"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_text_that_hydra_cannot_read_needs_quotes(capsys):
    for value in ("Umsätze", "a,b.csv", "it's.csv"):
        assert main(["task=series", f"task.path={value}", "--cfg", "job"]) == 2
        assert """needs quotes: 'KEY="VALUE"'.""" in capsys.readouterr().err
        assert main(["task=series", f'task.path="{value}"', "--cfg", "job"]) == 0
        assert yaml.safe_load(capsys.readouterr().out)["task"]["path"] == value
