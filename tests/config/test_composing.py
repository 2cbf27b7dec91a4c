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
from attnlab.config.composing import conf_folder, options
from attnlab.config.options import NOT_SETTINGS, option_class, option_content, section_rules
from attnlab.config.parsing import parse_section
from attnlab.config.rules import Rule
from attnlab.config.sections import OPTION_GROUPS, SECTIONS, SearchConfig, SweepConfig
from attnlab.errors import RequestError
from attnlab.training.schedules import Monitor, learning_rates

GROUPS = [group for group in (*OPTION_GROUPS, "data") if group != "model"]
FILES = sorted(path for group in GROUPS for path in (conf_folder() / group).glob("*.yaml"))
MODELS = sorted((conf_folder() / "model" / "settings").glob("*_*.yaml"))
EXPERIMENTS = options("experiment")


def file_id(path: Path) -> str:
    return f"{path.parent.name}={path.stem}"


def content(path: Path) -> dict:
    read = yaml.safe_load(path.read_text(encoding="utf-8"))
    return read["model"] if path in MODELS else read.get(path.parent.name, read)


def settings(path: Path) -> dict:
    return {
        key: value for key, value in content(path).items() if key not in ("name", *NOT_SETTINGS)
    }


def arguments(function) -> set[str]:
    keyword_only = inspect.Parameter.KEYWORD_ONLY
    parameters = inspect.signature(function).parameters.values()
    return {parameter.name for parameter in parameters if parameter.kind is keyword_only}


by_file = pytest.mark.parametrize("path", [*FILES, *MODELS], ids=file_id)


def of_group(group: str):
    paths = [path for path in FILES if path.parent.name == group]
    return pytest.mark.parametrize("path", paths, ids=file_id)


@by_file
def test_the_name_is_the_files(path):
    assert content(path)["name"] == (path.stem.rpartition("_")[2] if path in MODELS else path.stem)
    words = "the first line is a comment that says what the option is, `# Cosine of query and key.`"
    assert path.read_text(encoding="utf-8").startswith("# "), words


@by_file
def test_every_setting_has_a_rule_that_can_be_read(path):
    rules = content(path).get("rules", {})
    assert set(settings(path)) == {key for key in rules if "." not in key}
    for key, rule in rules.items():
        assert isinstance(Rule(**rule).expected(), str), key


# Required settings, as a user would give them.
NEEDED = {"series": ["task.path=numbers.csv"], "book": ["data.path=pairs.pkl"]}
NEEDED["embeddings"] = ["attention=none"]
NEEDED |= {name: ["task=language"] for name in ("delta", "gated_delta", "forgetting")}


def task_of(path: Path) -> str:
    """The first task that a corpus is for."""
    return content(path)["rules"]["task.name"]["choices"][0]


def overrides(path: Path) -> list[str]:
    if path in MODELS:
        purpose, _, name = path.stem.rpartition("_")
        task = {
            **{"answering": "answer", "classification": "classify"},
            **{"forecasting": "fib", "masked_words": "masked_words", "language": "language"},
            **{"translation": "translate"},
        }
        own = "digits" if name == "vit" else task[purpose]
        return [f"task={own}", f"model={name}", *NEEDED.get(name, [])]
    task = [f"task={task_of(path)}"] if path.parent.name == "data" else []
    return [*task, f"{path.parent.name}={path.stem}", *NEEDED.get(path.stem, [])]


@by_file
def test_it_composes_and_obeys_its_own_rules(compose, path):
    group = "model" if path in MODELS else path.parent.name
    config = compose(*overrides(path))
    option = getattr(config, group)
    assert option.name == content(path)["name"]
    assert set(option.settings) == set(settings(path))
    assert "rules" not in config.document[group]


@of_group("data")
def test_a_corpus_of_another_kind_is_refused_with_the_reason(compose, path):
    rule = content(path)["rules"]["task.name"]
    other = next(task for task in ("answer", "translate") if task not in rule["choices"])
    with pytest.raises(RequestError) as refused:
        compose(f"task={other}", f"data={path.stem}", *NEEDED.get(path.stem, []))
    assert str(refused.value) == (
        f"data={path.stem} can't be combined with task.name={other}: {rule['why']}. "
        f"Valid: {', '.join(rule['choices'])}."
    )


@pytest.mark.parametrize(
    ("task", "attention", "model", "chosen"),
    [
        ("fib", "multi_head", "auto", "rnn"),
        ("translate", "bahdanau", "auto", "rnn"),
        ("translate", "multi_head", "auto", "transformer"),
        ("translate", "multi_head", "rnn", "rnn"),
        ("sunspots", "bahdanau", "transformer", "transformer"),
    ],
)
def test_the_model_follows_task_and_attention_unless_it_is_chosen(
    compose, task, attention, model, chosen
):
    config = compose(f"task={task}", f"attention={attention}", f"model={model}")
    assert config.model.name == chosen
    assert ("anchor" in config.model.settings) == (task != "translate")


@pytest.mark.parametrize(
    ("attention", "place"), [("bahdanau", "before_step"), ("luong_local", "after_step")]
)
def test_the_default_placement_is_written_into_the_configuration(compose, attention, place):
    """With the default written out it is the same run, so comparisons see where runs differ."""
    options = ("task=translate", f"attention={attention}")
    left_open, named = compose(*options), compose(*options, f"model.placement={place}")
    assert left_open.model.settings["placement"] == place
    assert left_open.document == {**named.document, "paths": left_open.document["paths"]}
    assert left_open.digest == named.digest
    other = compose(*options, "model.placement=before_step")
    assert other.model.settings["placement"] == "before_step"


@pytest.mark.parametrize("task", ["sunspots", "classify"])
@pytest.mark.parametrize("attention", mechanisms_for("sunspots"))
def test_every_mechanism_is_read_alike_by_default(compose, task, attention):
    """Every mechanism with a context reads state and context, the others only the state."""
    config = compose(f"task={task}", f"attention={attention}", "model=rnn")
    assert config.model.settings["readout"] == ("state" if attention == "none" else "concat")


def test_a_chosen_readout_stays_and_one_that_reads_nothing_is_refused(compose):
    chosen = compose("task=sunspots", "attention=luong_global", "model.readout=attentional_state")
    assert chosen.model.settings["readout"] == "attentional_state"
    named, open_ = (compose("task=sunspots", "attention=none", *more)
                    for more in (["model.readout=state"], []))  # fmt: skip
    assert named.digest == open_.digest
    with pytest.raises(RequestError, match=r"attention=none can't be .*=context: .* Valid: state"):
        compose("task=sunspots", "attention=none", "model.readout=context")
    with pytest.raises(
        RequestError, match=r"model.readout: .* \(attention=none reads only the state"
    ):
        compose("task=sunspots", "attention=pooling", "model.readout=state")


@of_group("optimizer")
def test_an_optimizer_can_be_made_from_its_file(path):
    from attnlab.training.optimizers import make_optimizer

    optimizer = make_optimizer(path.stem, settings(path))
    assert type(optimizer).__name__.lower().removeprefix("fused") == path.stem
    config = optimizer.get_config()
    renamed = {"clip_norm": "global_clipnorm", "clip_value": "clipvalue"}
    for key, value in settings(path).items():
        assert config[renamed.get(key, key)] == pytest.approx(value), key


@of_group("schedule")
def test_a_schedules_settings_are_its_functions(path):
    from attnlab.training import schedules

    assert set(settings(path)) == arguments(getattr(schedules, path.stem))


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_composes_and_its_header_has_its_command(compose, name):
    text = (conf_folder() / "experiment" / f"{name}.yaml").read_text(encoding="utf-8")
    assert text.startswith("# @package _global_\n# ")
    assert f"#   attnlab experiment={name}\n" in text
    compose(f"experiment={name}")


@of_group("task")
def test_a_tasks_training_defaults_reach_the_trainer(compose, path):
    wanted = yaml.safe_load(path.read_text(encoding="utf-8"))["trainer"]
    config = compose(f"task={path.stem}", *NEEDED.get(path.stem, []))
    assert {key: getattr(config.trainer, key) for key in wanted} == wanted


@pytest.mark.parametrize("task", ["language", "masked_words"])
@pytest.mark.parametrize("schedule", options("schedule"))
def test_any_schedule_replaces_the_one_of_a_task(compose, task, schedule):
    chosen = compose(f"task={task}", f"schedule={schedule}").schedule
    monitor = Monitor("val_loss", "min", 0.0)
    given = {"peak": 1.0, "first_step": 0, "steps": 4, "total_steps": 40, "monitor": monitor}
    rates = learning_rates(chosen.name, chosen.settings, **given)
    assert rates.shape == (4,) and (rates > 0).all()


@pytest.mark.parametrize("optimizer", options("optimizer"))
def test_any_optimizer_replaces_the_one_of_a_task(compose, optimizer):
    chosen = compose("task=language", f"optimizer={optimizer}").optimizer
    assert chosen.settings.keys() == settings(conf_folder() / f"optimizer/{optimizer}.yaml").keys()
    assert chosen.settings["clip_norm"] == 1.0


def test_every_setting_of_a_section_has_a_rule_and_a_default_that_obeys_it():
    for name, cls in {**SECTIONS, "sweep": SweepConfig, "search": SearchConfig}.items():
        assert list(section_rules(name)) == [field.name for field in fields(cls)]
        assert parse_section(name, cls, {}) == cls()


def test_composing_imports_no_class_of_a_task():
    code = "from attnlab.config.composing import compose, from_hydra; import sys; "
    code += "from_hydra(compose(['task=translate'])); "
    code += "assert not [name for name in sys.modules if name.startswith('attnlab.tasks')]"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", options("task"))
def test_a_task_has_the_kind_of_its_class(name):
    assert option_content("task", name)["kind"] == option_class("task", name).kind.name


@pytest.mark.parametrize("value", ["Umsätze", "a,b.csv", "it's.csv"])
def test_a_text_that_hydra_cannot_read_needs_quotes(capsys, value):
    assert main(["task=series", f"task.path={value}", "--cfg", "job"]) == 2
    assert """needs quotes: 'KEY="VALUE"'.""" in capsys.readouterr().err
    assert main(["task=series", f'task.path="{value}"', "--cfg", "job"]) == 0
    assert yaml.safe_load(capsys.readouterr().out)["task"]["path"] == value
