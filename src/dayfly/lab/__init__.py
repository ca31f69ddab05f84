"""The papers reproduced: their formulas as printed, their numbers and figures, and a report."""

from dayfly.lab.report import check_folder, write_report
from dayfly.lab.rows import Row, to_csv, to_json
from dayfly.lab.study import FULL, QUICK, Effort, Study, reproduce
from dayfly.lab.table1 import TABLE_ONE

__all__ = [
    "FULL",
    "QUICK",
    "TABLE_ONE",
    "Effort",
    "Row",
    "Study",
    "check_folder",
    "reproduce",
    "to_csv",
    "to_json",
    "write_report",
]
