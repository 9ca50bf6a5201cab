"""Studies killed at many random moments, which must end as those that nobody killed.

``python -m tests.studies.kills`` kills tables and searches ten times each, or as often as it is
told.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

from tests.studies import test_processes, test_tables


def main(times: int) -> None:
    rng = np.random.default_rng()
    with tempfile.TemporaryDirectory() as folder:
        search, table = Path(folder, "search"), Path(folder, "table")
        search.mkdir()
        test_processes.run_whole(search)
        whole = table, test_tables.run_whole(table)
        for number in range(times):
            places = [Path(folder, f"{what}-{number}") for what in ("one", "all", "table")]
            for place in places:
                place.mkdir()
            shares = rng.uniform(0.0, 0.9, 3)
            print(f"{number + 1} of {times}: killed after {shares} of the work", flush=True)
            test_processes.kill_one_of_two(search, places[0], shares[0])
            test_processes.kill_and_go_on(search, places[1], sorted(shares))
            test_tables.begun_again(whole, places[2], kept=())
            test_tables.kill_and_go_on(whole, places[2], sorted(shares))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
