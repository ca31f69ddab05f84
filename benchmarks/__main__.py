"""All benchmarks, or those named: `python -m benchmarks best due`.

`hundred_million` runs only by name: it wants a machine of 24 GiB for itself.
"""

import importlib
import os
import platform
import sys

import numpy as np

NAMES = ("best", "relaxed", "stochastic", "learning", "due", "crawl")


def main() -> None:
    threads = os.environ.get("OMP_NUM_THREADS", "not set")
    print(f"python {platform.python_version()}, numpy {np.__version__}, {os.cpu_count()} cores")
    print(f"library threads pinned to {threads}; each figure: minimum / median of its rounds")
    for name in sys.argv[1:] or NAMES:
        importlib.import_module(f"benchmarks.{name}").run()


main()
