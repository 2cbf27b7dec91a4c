"""The paired bootstrap of translations, compared with sacreBLEU's own."""

from __future__ import annotations

from compared_runs import only, write_translations
from run_folders import write_run
from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.significance import PairedTest

from attnlab.comparison.statistics import holm
from attnlab.comparison.tables import remarks
from attnlab.tasks.translation import scores
from attnlab.tasks.translation.scores import paired_bootstrap

REFERENCES = [f"the {animal} sees the {other} in the old house" for animal in ("cat", "dog", "cow")
              for other in ("mouse", "horse", "bird", "fox")]  # fmt: skip


def spoiled(every):
    """Texts, of which each `every`th is wrong."""
    return [
        text.replace("sees the", "saw a") if place % every == 0 else text
        for place, text in enumerate(REFERENCES)
    ]


def test_the_bootstrap_of_one_seed_is_sacrebleus():
    """Its overridden private method exists: seen in 2.6.0."""
    assert all(hasattr(metric, "_extract_corpus_statistics") for metric in (BLEU, CHRF))
    texts = {"a": spoiled(2), "b": spoiled(3), "c": spoiled(12)}
    test = PairedTest(list(texts.items()), {"BLEU": BLEU()}, [REFERENCES], test_type="bs")
    expected = [result.p_value for result in test()[1]["BLEU"][1:]]
    base, *systems = ([(text,) for text in item] for item in texts.values())
    results = [paired_bootstrap("bleu", base, system, REFERENCES) for system in systems]
    assert [p for p, _ in results] == expected
    signature = results[0][1]
    assert signature.startswith("nrefs:1|bs:1000|seed:12345|case:mixed|eff:no|tok:13a")


def test_seeds_dont_count_as_further_sentences():
    """The same translations from two seeds are as certain as from one, and no more."""
    once, twice = ([[(text,) * n for text in spoiled(every)] for every in (2, 3)] for n in (1, 2))
    for name in ("bleu", "chrf"):
        one = paired_bootstrap(name, *once, REFERENCES)
        assert paired_bootstrap(name, *twice, REFERENCES) == one


def test_equal_translations_are_no_evidence():
    for texts in (REFERENCES, spoiled(2), [""] * len(REFERENCES)):
        same = [(text,) for text in texts]
        assert paired_bootstrap("bleu", same, same, REFERENCES)[0] == 1.0


def write_spoiled(runs, spoiled_by):
    for attention, item in spoiled_by.items():
        for seed, every in enumerate(item):
            run = write_run(runs, attention, seed, 50.0, task="translate")
            write_translations(run, spoiled(every), REFERENCES)


def test_sentences_are_resampled_with_the_seeds_of_both_sides(tmp_path):
    spoiled_by = {"none": [2, 2, 3], "bahdanau": [3, 12], "pooling": [2, 12, 12, 1]}
    write_spoiled(tmp_path, spoiled_by)
    write_run(tmp_path, "multi_head", 9, 50.0, task="translate")  # no file of it is needed
    comparison = only(tmp_path, reference="none")
    rows = {row.group.label: row for row in comparison.table.itertuples()}
    for attention, seeds in (("bahdanau", 2), ("pooling", 3)):
        base, tested = (
            list(zip(*(spoiled(every) for every in spoiled_by[name][:seeds]), strict=True))
            for name in ("none", attention)
        )
        assert rows[attention].item_p == paired_bootstrap("bleu", base, tested, REFERENCES)[0]
    assert rows["multi_head"].item_test is None
    assert (rows["pooling"].item_test, rows["pooling"].items) == ("paired bootstrap", 12)
    pair = [rows["bahdanau"], rows["pooling"]]
    assert [row.item_p_holm for row in pair] == holm([row.item_p for row in pair])
    (said,) = [text for text in remarks(comparison) if "item test" in text]
    assert "(sacreBLEU's paired bootstrap over 12 test sentences; " in said


def test_the_bootstrap_runs_on_request_or_if_it_is_quick(tmp_path, monkeypatch):
    write_spoiled(tmp_path, {"none": [2], "bahdanau": [3]})
    without = only(tmp_path, bootstrap=False)
    assert (without.item_test, without.notes) == (None, ())
    monkeypatch.setattr(scores, "_MOST_TEXTS", 23)
    comparison = only(tmp_path)
    assert comparison.item_test is None
    assert "no paired bootstrap, which would count 24 texts: see --bootstrap" in comparison.notes
    assert 0 < only(tmp_path, bootstrap=True).item_test.p <= 1


def test_other_sentences_and_damaged_files_are_not_tested(tmp_path):
    write_spoiled(tmp_path, {"none": [2]})
    run = write_run(tmp_path, "bahdanau", 0, 50.0, task="translate")
    write_translations(run, spoiled(3), REFERENCES[::-1])
    note = f"no test over test items: {run.name} has other test items than the others"
    assert note in only(tmp_path).notes
    (run.path / "predictions.csv").write_text("index,source,reference\n")
    assert any("damaged: it has no column 'hypothesis'" in text for text in only(tmp_path).notes)
