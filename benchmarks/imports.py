"""What ``import autogm`` costs over ``import numpy``, each in a fresh interpreter.

python benchmarks/imports.py [--repeats 21]
"""

from __future__ import annotations

import argparse
import subprocess
import sys

import harness


def run(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=21)
    args = parser.parse_args()
    statements = {
        "import numpy": "import numpy",
        "import autogm": "import numpy, autogm",
        "from autogm import load_graph": "import numpy; from autogm import load_graph",
        "from autogm import pagerank": "import numpy; from autogm import pagerank",
    }
    contenders = {name: (lambda code=code: run(code)) for name, code in statements.items()}
    samples = harness.interleave(contenders, repeats=args.repeats)
    base = harness.median(samples["import numpy"])
    table = [
        [
            name,
            harness.show(harness.median(s)),
            harness.spread(s),
            harness.show(harness.median(s) - base),
        ]
        for name, s in samples.items()
    ]
    harness.print_table(["", "median", "spread", "over numpy"], table)
    harness.write("imports", {"samples": samples}, "numpy", "scipy", "numba")


if __name__ == "__main__":
    main()
