#!/usr/bin/env python3
"""Finds near words: for each frequent English word, the words that a small language model holds to be closest.

Writes one line per word, most frequent first: word, tab, `neighbour:cosine` separated by spaces. The packer
(`cargo run -p unforget-recall --example pack_near`) turns the lines into `near.bin`. README.md has the commands.

No text of a benchmark is read. Words come from the list of GloVe 6B (public domain, PDDL), vectors from
all-MiniLM-L6-v2 (Apache-2.0).
"""

import argparse
import re
import sys

import numpy as np
import onnxruntime
import pyarrow.parquet
from tokenizers import Tokenizer

WORDS = 40_000
NEIGHBOURS = 40
LEAST = 0.3
BATCH = 256


def frequent_words(index):
    """The most frequent words of three letters and more, in order."""
    table = pyarrow.parquet.read_table(index).to_pandas()
    by_name = {name: table[name] for name in table.columns}
    strings = next(column for column in by_name.values() if isinstance(column.iloc[0], str))
    plain = [word for word in strings if re.fullmatch(r"[a-z]{3,24}", word)]
    return list(dict.fromkeys(plain))[:WORDS]


def vectors(words, model, tokenizer):
    """One vector of length 1 per word, with the mean of all taken away."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    wanted = {one.name for one in session.get_inputs()}
    tokens = Tokenizer.from_file(tokenizer)
    tokens.enable_padding()
    found = []
    for start in range(0, len(words), BATCH):
        batch = tokens.encode_batch(words[start : start + BATCH])
        ids = np.array([one.ids for one in batch], dtype=np.int64)
        mask = np.array([one.attention_mask for one in batch], dtype=np.int64)
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        out = session.run(None, {name: value for name, value in inputs.items() if name in wanted})[0]
        if out.ndim == 3:
            weights = mask[:, :, None]
            out = (out * weights).sum(axis=1) / weights.sum(axis=1)
        found.append(out.astype(np.float32))
        print(f"\r{start + len(batch)} of {len(words)} words", end="", file=sys.stderr)
    print(file=sys.stderr)
    everything = np.concatenate(found)
    everything /= np.linalg.norm(everything, axis=1, keepdims=True)
    everything -= everything.mean(axis=0)
    return everything / np.linalg.norm(everything, axis=1, keepdims=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--index", required=True, help="glove_6B_index.parquet")
    parser.add_argument("--model", required=True, help="model.onnx of all-MiniLM-L6-v2")
    parser.add_argument("--tokenizer", required=True, help="tokenizer.json of all-MiniLM-L6-v2")
    options = parser.parse_args()
    words = frequent_words(options.index)
    all_vectors = vectors(words, options.model, options.tokenizer)
    for start in range(0, len(words), BATCH):
        cosines = all_vectors[start : start + BATCH] @ all_vectors.T
        for row, near in enumerate(cosines):
            own = start + row
            near[own] = -1
            best = np.argpartition(-near, NEIGHBOURS)[:NEIGHBOURS]
            best = [at for at in best[np.argsort(-near[best])] if near[at] > LEAST]
            print(words[own] + "\t" + " ".join(f"{words[at]}:{near[at]:.3f}" for at in best))


if __name__ == "__main__":
    main()
