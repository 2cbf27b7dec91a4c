"""The numbers of the findings, also in README.md, are those of docs/findings/tables."""

import re

from command_line import ROOT

FOLDER = ROOT / "docs/findings"
TABLES = {path.stem: path.read_text("utf-8") for path in FOLDER.glob("tables/*.csv")}
NUMBER = re.compile(r"(?<![\w.])-?\d+\.?\d*(?:e-?\d+)?")


def unknown_numbers(text: str, table: str) -> list[str]:
    """Return the numbers with decimals in a text that no number of a table is rounded to."""
    values = [float(number) for number in NUMBER.findall(table)]

    def is_rounded(number: str) -> bool:
        mantissa, _, exponent = number.partition("e")
        unit = 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
        return any(abs(float(number) - value) <= 0.500001 * unit for value in values)

    return [number for number in NUMBER.findall(text) if "." in number and not is_rounded(number)]


def test_each_table_has_a_page_and_each_page_a_table():
    assert {*TABLES} == {path.stem for path in FOLDER.glob("*.md")} - {"index"}


def test_a_page_has_the_numbers_of_its_table():
    for name, table in TABLES.items():
        page = (FOLDER / f"{name}.md").read_text("utf-8")
        (answer,) = re.findall(r"\*\*Answer\.\*\*.*", page)
        rows = re.findall(r"^\| .*", page, re.MULTILINE)
        numbers = "\n".join([answer, *rows]).replace("< 0.001", "")
        assert len(rows) > 2 and not unknown_numbers(numbers, table), name


def test_the_index_and_the_readme_have_the_numbers_of_the_tables():
    for line in re.findall(r"^- \*\*\[.*", (FOLDER / "index.md").read_text("utf-8"), re.MULTILINE):
        (name,) = re.findall(r"\]\((\w+)\.md\)", line)
        assert not unknown_numbers(line, TABLES[name])
    section = (ROOT / "README.md").read_text("utf-8").partition("## Is it true?\n")[2]
    lines = re.findall(r"^- \*\*.*", section, re.MULTILINE)[:3]
    tables = [TABLES[name] for name in ("mechanisms", "translation", "book")]
    assert not any(map(unknown_numbers, lines, tables))


def test_a_number_that_no_cell_is_rounded_to_is_reported():
    assert unknown_numbers("1.2e-4, 1.3e-4, 98.8 and 98.7", "0.00012345,98.7654") == [
        "1.3e-4",
        "98.7",
    ]
