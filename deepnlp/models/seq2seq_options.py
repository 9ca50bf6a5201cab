"""The options of Seq2Seq: what they may be, in words, and which fit each other."""

from __future__ import annotations

from typing import Any

CONTEXTS = ("start", "every")
ATTENTIONS = ("none", "dot", "general", "concat", "additive")
TIES = ("none", "output", "all")
INITS = ("uniform", "book")
DTYPES = ("float32", "float64")

# Help texts of options.
CONTEXT = "start: the encoder's state starts the decoder; every: it enters each step too (peeky)"
ATTENTION = (
    "score of attention; additive is the model of Bahdanau et al., the others of Luong et al."
)
FEEDING = "dot, general, concat: what a step attended to enters the next step"
BIDIRECTIONAL = "the encoder reads from both ends, H units each"
REVERSE = "the encoder reads the source from its end (Sutskever et al. 2014)"
DROPOUT = "probability of zeroing a number between layers"
TIE = "output: the output weight is the target embedding, transposed; all: the source's too"
INIT = "distribution of fresh weights: uniform, or book (normal)"
RESET_AFTER = "gru: reset gate after the recurrent product, as in cuDNN"


def check_together(given: dict[str, Any]) -> None:
    """An error where options do not fit each other."""
    attention, tie, ids = given["attention"], given["tie"], given["shared_ids"]
    source, target = given["source_vocab_size"], given["target_vocab_size"]
    if given["reset_after"] and given["cell"] != "gru":
        raise ValueError(f"Seq2Seq: reset_after is a form of cell='gru', got {given['cell']!r}")
    if attention != "none" and given["context"] == "every":
        raise ValueError(
            "Seq2Seq: context='every' is for attention='none'; with attention each step reads the "
            "whole source"
        )
    if given["input_feeding"] and attention in ("none", "additive"):
        raise ValueError(
            "Seq2Seq: input_feeding is for attention='dot', 'general' or 'concat', got "
            f"{attention!r} (with 'additive' the context enters the step itself)"
        )
    if attention == "dot" and given["bidirectional"]:
        raise ValueError(
            "Seq2Seq: attention='dot' needs states of encoder and decoder of one size, and a "
            "bidirectional encoder has 2H; attention='general' has a matrix between"
        )
    if ids is not None and (tie != "all" or len(ids) != target):
        raise ValueError(
            "Seq2Seq: shared_ids belong to tie='all' and hold an id for each of the "
            f"{target} target words, got tie={tie!r} and {len(ids)} ids"
        )
    if tie == "all" and ids is None and source != target:
        raise ValueError(
            f"Seq2Seq: tie='all' needs one vocabulary, got {source} and {target} words; for two, "
            "shared_ids says which words they share"
        )
