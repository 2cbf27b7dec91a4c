"""`attnlab explain`."""

from __future__ import annotations

import re

from compared_runs import only

from attnlab.comparison.tables import differences_table, results_table
from attnlab.config import settings
from attnlab.tasks.kinds import kinds


def test_every_setting_metric_and_column_is_explained(three_groups):
    assert [s.key for s in settings.settings() if not s.meaning] == []
    comparison = only(three_groups)
    tables = results_table(comparison), differences_table(comparison)
    names = [re.sub(r" \[.*", "", name) for table in tables for name in table.header[1:]]
    names += [metric.name for kind in kinds() for metric in kind.scoring.metrics]
    assert [name for name in names if not settings.term(name)] == []


def test_a_setting_is_explained(here):
    assert here.run("explain", "window").out.splitlines() == [
        "attention.window  (attention=luong_local)",
        "    D: number of memory steps on each side of the centre",
        "    a whole number at least 1; default 10",
        "attention.window  (attention=multi_head)",
        "    number of steps that a query sees, its own included; without a causal mask, that many "
        "on each side; null: all",
        "    a whole number at least 1, or null; default null",
    ]


def test_defaults_are_those_of_each_task(here):
    out = here.run("explain", "trainer.epochs=3").out
    others = "4 with task=answer; 15 with task=classify; "
    others += "100 with task=digits; 5 with task=ett,masked_words; 2 with task=language; "
    others += "40 with task=series,sunspots; 12 with task=translate"
    assert out.endswith(f"default 30; {others}\n")


def test_a_group_lists_its_options_with_their_formulas(here):
    out = here.run("explain", "attention").out
    assert "attention=bahdanau\n    e_ts = v' tanh(W s_t + U h_s): additive attention." in out
    assert "experiment=book_fib_attention\n    " in here.run("explain", "experiment").out


def test_without_a_word_all_keys_are_listed(here):
    keys = here.run("explain").out.splitlines()
    assert keys[:2] == ["seed", "trainer.epochs"] and "data.limit" in keys
    assert len(keys) == len(set(keys))


def test_a_metric_or_a_column_is_explained(here):
    for word, start in (
        ("item test", "item test: would other test items"),
        ("test_bleu", "BLEU, chrF: how many n-grams"),
        ("low", "95 % interval, low, high of a forecast: split-conformal"),
        ("interval", "95 % interval, low, high of a forecast: split-conformal"),
        ("coverage", "coverage (`interval` in metrics.json): the share of test targets"),
        ("best epoch", "best, best epoch in `attnlab runs` and in sweeps"),
        ("perplexity", "perplexity: `exp(loss)`"),
    ):
        first, second, *_ = here.run("explain", *word.split()).out.splitlines()
        assert first == f"{word}, in results" and second.startswith(f"    {start}")


def test_a_word_with_its_own_meaning_only_names_the_settings_that_end_with_it(here):
    first, meaning, keys = here.run("explain", "units").out.splitlines()
    assert first == "units, in results" and meaning.startswith("    units in the title of a table")
    assert keys == "settings with this name: attention.units, model.units"
    assert here.run("explain", "seed").out.splitlines()[0] == "seed"
