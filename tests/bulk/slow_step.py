"""A step that takes its time, for runs that are killed, and a program that runs it."""

import os
import sys
import time

from innervoice import bulk


def dawdle(batch):
    time.sleep(0.05)
    return {**batch, "length": [len(answer or "") for answer in batch["answer"]]}


STEP = bulk.Step("dawdle", dawdle, {"length": bulk.Column("int64", "Characters of the answer.")})


def surroundings(batch):
    said = os.environ.get("INNERVOICE_TEST_WORD", "nothing")
    return {**batch, "word": [said] * len(batch["answer"])}


WORD = bulk.Step("word", surroundings, {"word": bulk.Column("string", "A variable.")})

if __name__ == "__main__":
    source, output, processes, *overwrite = sys.argv[1:]
    bulk.run(
        source,
        output,
        steps=[STEP],
        processes=int(processes),
        piece_bytes=4_000,
        overwrite=bool(overwrite),
    )
