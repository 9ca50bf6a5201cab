"""The toy of lesson 4 at full size: tied skip-gram, with L and without, on many worlds of 30 words.

This is ``deepnlp demo skipgram-tying`` with more worlds and sizes.

    python chapters/ch04_word2vec_at_speed/toy.py

Data: distributions made up on the spot.
Time: about 100 seconds on one core.
Expect: a divergence of 0.40 nats tied, from D = 16 on the same with every size; 0.025 with L at D
= 8 and 0.003 at D = 16, close to two matrices. Tied, the probability of a word beside itself is
.10 where the truth is .001.
"""

from dataclasses import dataclass
from pathlib import Path

from deepnlp.demos import skipgram_tying
from deepnlp.lessons.script import config_from_arguments


@dataclass
class Config:
    """Worlds, words, sizes of vectors, and how much words of a kind avoid each other."""

    worlds: int = 10
    words: int = 30
    kinds: int = 6
    own: float = 3.0
    sizes: str = "2,4,8,16,32,60"
    steps: int = 2000
    out: str = "runs/ch04"


QUICK = Config(worlds=1, words=8, kinds=2, sizes="2,8", steps=50)


def main(config: Config) -> skipgram_tying.Outcome:
    """Run, report, draw; returns the outcome."""
    outcome = skipgram_tying.run(
        skipgram_tying.Config(
            worlds=config.worlds, words=config.words, kinds=config.kinds, own=config.own,
            sizes=tuple(map(int, config.sizes.split(","))), steps=config.steps,
        )
    )  # fmt: skip
    print(outcome.table())
    folder = Path(config.out)
    folder.mkdir(parents=True, exist_ok=True)
    outcome.figure().savefig(folder / "skipgram_tying.png")
    print(f"figure in {folder}")
    return outcome


if __name__ == "__main__":
    main(config_from_arguments(Config, __doc__))
