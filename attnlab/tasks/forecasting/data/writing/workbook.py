"""Write forecasts as an Excel workbook; needs the extra `excel`."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from openpyxl import Workbook
from openpyxl.styles import Font

from attnlab.tasks.forecasting.data.times import time_of
from attnlab.tasks.forecasting.data.writing.table import Ahead, decimals_of, header_of

if TYPE_CHECKING:
    from attnlab.tasks.forecasting.data.writing.layout import Layout


def workbook(found: Sequence[Ahead], layout: Layout) -> bytes:
    """Return a workbook with one sheet, whose numbers and dates are not text."""
    book = Workbook()
    sheet = book.active
    sheet.title, sheet.freeze_panes = "forecast", "A2"
    sheet.append(header_of(found, layout))
    for cell in sheet[1]:
        cell.font = Font(bold=True)
    for ahead in found:
        decimals, ids = decimals_of(ahead), ahead.origin.ids
        form = "0." + "0" * decimals if decimals else "0"
        for label, *numbers in zip(ahead.times, *ahead.columns.values(), strict=True):
            times: list[Any] = [*layout.time_cells(label)]
            time = time_of(label)
            if time is not None and len(times) == 1:
                times = [time]
            values = [float(each) if each == each else None for each in numbers]
            sheet.append([*ids, *times, *values])
            row = sheet[sheet.max_row]
            if time is not None and len(times) == 1:
                row[len(ids)].number_format = _date_format(label)
            for cell in row[len(ids) + len(times) :]:
                cell.number_format = form
    for column in sheet.columns:
        width = max(len(str(cell.value if cell.value is not None else "")) for cell in column)
        sheet.column_dimensions[column[0].column_letter].width = min(width, 20) + 2
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def _date_format(label: str) -> str:
    """Return the number format of a date; for days, Excel's code for the system's own format."""
    if ":" in label:
        return "yyyy-mm-dd hh:mm" + (":ss" if label.count(":") > 1 else "")
    return {4: "yyyy", 7: "yyyy-mm"}.get(len(label), "mm-dd-yy")
