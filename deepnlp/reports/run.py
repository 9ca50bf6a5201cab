"""The report of a run: the verdict, the curve, and what its model makes of a text."""

import math
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any

from deepnlp import plots
from deepnlp.evaluation import evaluating, likeliest, surprisal
from deepnlp.files.reading import read_toml
from deepnlp.generation import align, text_pieces, translate
from deepnlp.gradflow import GradientHistory
from deepnlp.reports.inside import attention_maps, gate_map, label
from deepnlp.reports.page import Part, choice, coloured, picture, table, write_page
from deepnlp.tasks import TASKS
from deepnlp.tasks.tagging import restore
from deepnlp.text.tokenisers import join_words
from deepnlp.training import Result, RunFolder
from deepnlp.training.result import figure_text

SENTENCES = 10  # that can be chosen
SHORTEST, LONGEST = 4, 24  # tokens of a sentence that is drawn
TOKENS = 300  # of the validation split that are coloured
MOST_BITS = 14.0  # of the strongest colour
MAPPED, LISTED = 45, 12  # words in the map, and in the table of neighbours
SAMPLES = 12  # spread over the run
COSTS = ("seconds", "cpu_seconds", "tokens_per_second", "peak_memory_mb", "parameters")


def verdict(
    history: Sequence[Mapping[str, Any]], baselines: Mapping[str, Any], metric: str, sign: int = 1
) -> list[str]:
    """Say which epoch was the best, which baselines it is ahead of, and whether it lies far back.

    ``sign`` is -1 where a higher figure is better.

    >>> history = [{"epoch": e, "valid_loss": v} for e, v in enumerate((5.0, 3.0, 4.0), start=1)]
    >>> for sentence in verdict(history, {"a guess": {"valid": 4.5}}, "loss"):
    ...     print(sentence)
    Best validation loss 3.00, after epoch 2 of 3.
    It is better than a guess (4.50).
    1 epoch since has not improved it: stop earlier, regularise more, or use more data.
    """
    rows = [row for row in history if row.get(f"valid_{metric}") is not None]
    scored = [(sign * row[f"valid_{metric}"], row["epoch"]) for row in rows]
    if not scored:
        return ["No epoch has been finished yet."]
    (best, epoch), last = min(scored), scored[-1][1]
    name, value = metric.replace("_", " "), figure_text(sign * best)
    said = [f"Best validation {name} {value}, after epoch {epoch} of {last}."]
    for other, levels in baselines.items():
        if (level := levels.get("valid")) is not None:
            word = "better" if best < sign * level else "no better"
            said.append(f"It is {word} than {other} ({figure_text(level)}).")
    idle = "1 epoch since has" if last == epoch + 1 else f"{last - epoch} epochs since have"
    advice = f"{idle} not improved it: stop earlier, regularise more, or use more data."
    return said + [advice] * (last > epoch)


class Report:
    """The parts of the page of a run, each a method that gives HTML; see :func:`write_report`.

    A part that cannot be, since the run has no such thing, raises an error or gives nothing.
    """

    def __init__(self, folder: RunFolder, model: Any, task: Any, baselines: Any, count: int):
        self.folder, self.model, self.task, self.count = folder, model, task, count
        self.history, self.result = folder.read_metrics(), Result.of(folder)
        self.config = read_toml(folder.config) if folder.config.exists() else {}
        judge: Any = task or TASKS.get(self.config.get("task", ""))
        judged = judge.judged_by(self.config) if judge and self.config else ("loss", False)
        self.metric, self.sign = judged[0], -1 if judged[1] else 1
        self.baselines: Any = self.result.baselines if self.result else baselines or {}

    def verdict(self) -> list[str]:
        """Sentences for the top of the page."""
        said = verdict(self.history, self.baselines, self.metric, self.sign)
        status = self.result.status if self.result else "finished"
        return said if status == "finished" else [f"The run is {status}.", *said]

    def curve(self) -> str:
        """The figure that decides by epoch, beside the baselines."""
        undrawn = getattr(self.task, "undrawn", ())
        levels = {
            name: each["valid"]
            for name, each in self.baselines.items()
            if name not in undrawn and each["valid"] is not None
        }
        how: Any = {"metric": self.metric, "higher_is_better": self.sign < 0}
        return picture(plots.learning_curve(self.history, levels, **how))

    def samples(self) -> str:
        """Return what the model wrote after how many updates."""
        rows = [row for row in self.folder.read_steps() if "sample" in row]
        rows = rows[:: -(-len(rows) // SAMPLES) or 1]
        samples = [(f"{row['step']:,}", row["sample"]) for row in rows]
        if self.model is not None and self.task is not None:
            with evaluating(self.model):
                samples.append(("best", self.task.sample(self.model) or ""))
        return table(["updates", "sample"], samples, "What the model wrote, as it learned")

    def surprise(self) -> str:
        """The beginning of the validation text, coloured by surprisal."""
        vocab, ids = self.model.vocab, self.task.corpus.valid[: TOKENS + 1]
        bits = surprisal(self.model, ids) / math.log(2)
        words, chances = likeliest(self.model, ids)
        tokens = vocab.decode(ids[1:])
        notes = [
            f"{token}: {b:.1f} bits; expected "
            + ", ".join(f"{word} {p:.0%}" for word, p in zip(label(vocab, vocab.decode(row)), ps))
            for token, b, row, ps in zip(label(vocab, tokens), bits, words, chances)
        ]
        styles = [f"--s:{min(b / MOST_BITS, 1):.2f}" for b in bits]
        mean = f"<p>{bits.mean():.2f} bits a token on average.</p>"
        return mean + coloured(text_pieces(vocab, [], ids[1:]), styles, notes)

    def translations(self) -> str:
        """Translations with scores, and what the decoder looked at."""

        def panel(text: str) -> str:
            best = translate(self.model, [text])[0][0]
            rows = [("written", best.text), ("expected", " | ".join(expected[text]))]
            rows += [("log-probability", f"{best.log_probability:.2f}")]
            body = table(["what", "text"], rows, f"Translation of: {text}")
            with suppress(ValueError):  # a model without attention
                body += picture(plots.attention_map(*align(self.model, text, best.tokens)))
            return body

        expected = self.task.pairs.references("valid")
        return choice("Sentence", ((t, panel(t)) for t in islice(expected, self.count)))

    def tagged(self) -> str:
        """Sentences as a tagger writes them."""
        sentences = self.task.text.valid[: self.count]
        with evaluating(self.model):
            written = restore(self.model, sentences)
        rows = [(a, "" if (b := join_words(s)) == a else b) for a, s in zip(written, sentences)]
        return table(["written", "should be, where it differs"], rows, "Validation sentences")

    def neighbours(self) -> str:
        """The words nearest to a few frequent words."""
        vectors = self.model.word_vectors()
        words = sorted(self._words(300), key=len)[-LISTED:]
        near = [", ".join(f"{w} {cos:.2f}" for w, cos in vectors.neighbours(w0, 5)) for w0 in words]
        return table(["word", "nearest, with cosine"], zip(words, near), "Frequent words")

    def word_map(self) -> str:
        """Frequent words on a plane."""
        words, vectors = self._words(MAPPED), self.model.word_vectors()
        named = dict(zip(label(self.model.vocab, words), map(vectors.__getitem__, words)))
        title = "Frequent words by the directions in which their vectors differ most"
        return picture(plots.embeddings({"": [*named]}, named, title=title))

    def _words(self, count: int) -> list[str]:
        """Frequent tokens that have letters."""
        tokens = (t for t in self.model.vocab.tokens if any(map(str.isalpha, t)) and "<" not in t)
        return [*islice(tokens, count)]

    def of_sentences(self, draw: Callable[[Any, str], str]) -> str:
        """A picture of each of a few sentences of the validation split."""
        vocab, lines = self.model.vocab, list[list[str]]([[]])
        for token in vocab.decode(self.task.corpus.valid[: 100 * TOKENS]):
            if vocab.ends_line(token) or len(lines[-1]) == LONGEST:
                lines.append([])
            else:
                lines[-1].append(token)
        texts = dict.fromkeys(vocab.detokenize(t) for t in lines if len(t) >= SHORTEST)
        drawn = ((text, draw(self.model, text)) for text in islice(texts, self.count))
        return choice("Sentence", drawn)

    def norms(self) -> str:
        """Norms of gradients over the updates."""
        rows = [row for row in self.folder.read_steps() if "norms" in row]
        names = rows[0]["norms"] if rows else {}
        norms = {name: [row["norms"][name] for row in rows] for name in names}
        return picture(plots.gradient_norms([row["step"] for row in rows], norms))

    def reach(self) -> str:
        """How many steps back gradients reach, where that was watched."""
        return picture(plots.gradient_heat_map(GradientHistory.load(self.folder.gradients)))

    def costs(self) -> str:
        """Times, memory and versions."""
        costs = {n: sum(row.get(n, 0) for row in self.history) for n in COSTS[:2]}
        if self.result is not None:
            costs = {name: getattr(self.result, name) for name in COSTS} | self.result.versions
        rows = [(n.replace("_", " "), value) for n, value in costs.items() if value is not None]
        return table(["what", "value"], rows, "What the run took, and where")

    def options(self) -> str:
        """All options, and the command that repeats the run."""
        body = table(["option", "value"], sorted(self.config.items()), "Options of the run")
        command = shlex.join(["deepnlp", "train", "--recipe", str(self.folder.config)])
        again = f"<p>To repeat it: <code>{command}</code></p>" if "task" in self.config else ""
        return f"{again}<details><summary>All options</summary>{body}</details>" if body else ""


def write_report(
    folder: RunFolder,
    model: Any = None,
    task: Any = None,
    baselines: Mapping[str, Any] | None = None,
    path: str | PathLike[str] | None = None,
    sentences: int = SENTENCES,
) -> tuple[Path, list[str]]:
    """Write the page of a run; gives its path and the verdict. What the run lacks is left out.

    Parameters
    ----------
    folder : RunFolder
    model : Layer, optional
        Its model, with vocabularies.
    task : Task, optional
        Its task, with the data.
    baselines : mapping, optional
        Of a run that has no result yet.
    path : str or path, optional
        By default ``report.html`` in the folder.
    sentences : int
        How many can be chosen among.
    """
    report = Report(folder, model, task, baselines, sentences)
    parts: dict[str, Part] = {
        "Learning curve": report.curve,
        "Samples": report.samples,
        "Validation text: the stronger the colour, the less expected the word": report.surprise,
        "Translations": report.translations,
        "Sentences as the model writes them": report.tagged,
        "Nearest neighbours": report.neighbours,
        "Map of the word vectors": report.word_map,
        "Attention": lambda: report.of_sentences(attention_maps),
        "Gates": lambda: report.of_sentences(gate_map),
        "Gradients by layer": report.norms,
        "How far gradients reach back": report.reach,
        "Time and size": report.costs,
        "Options": report.options,
    }
    said, title = report.verdict(), f"Run {folder.path.resolve().name}"
    return write_page(path or folder.report, title, said, parts), said
