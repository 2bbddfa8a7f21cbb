"""Build the graph that ships: who cites whom in the proofs of set.mm.

A node is an axiom, definition or theorem (``$a`` or ``$p``), numbered in file order; a theorem has
an edge to each statement that the parentheses of its compressed proof name. The graph is made
symmetric, since neighbours are sampled both ways, and its ids are shuffled: in file order every
proof cites smaller ids, which would make the lists more local than those of other graphs.

    apt-get install metamath-databases
    python tools/make_setmm_graph.py
"""

import argparse
import hashlib
import re
from pathlib import Path

import numpy as np

from host.formats.edges import from_edges
from host.formats.npz import write_npz
from rtl.contract.mixer import list_keys

SOURCE = Path("/usr/share/metamath/databases/set.mm")
TARGET = Path(__file__).parent.parent / "examples" / "data" / "setmm.npz"
SHUFFLE_SEED = 2
COMMENT = re.compile(r"\$\(.*?\$\)", re.DOTALL)


def citations(text):
    """Number of statements, and the pairs (theorem, statement that its proof cites)."""
    tokens = COMMENT.sub(" ", text).split()
    numbers = {}
    pairs = []
    place = 1
    while place < len(tokens):
        if tokens[place] in ("$a", "$p"):
            number = numbers[tokens[place - 1]] = len(numbers)
            if tokens[place] == "$p":
                first = tokens.index("$=", place) + 1
                if tokens[first] != "(":
                    raise SystemExit(f"proof of {tokens[place - 1]} must be compressed")
                place = tokens.index(")", first)
                cited = {numbers.get(label) for label in tokens[first + 1 : place]} - {None}
                pairs += [(number, other) for other in sorted(cited)]
        place += 1
    return len(numbers), np.array(pairs, dtype=np.int64)


def shuffled(nodes):
    """New number of each node: its rank by the mixer's key, equal keys by old number."""
    order = np.argsort(list_keys(SHUFFLE_SEED, 0, 0, np.arange(nodes)), kind="stable")
    rank = np.empty(nodes, dtype=np.int64)
    rank[order] = np.arange(nodes)
    return rank


def main():
    """Read the source, write the archive, print its facts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", type=Path, default=SOURCE)
    parser.add_argument("--target", type=Path, default=TARGET)
    options = parser.parse_args()
    nodes, pairs = citations(options.source.read_text())
    rank = shuffled(nodes)
    source, target = rank[pairs[:, 0]], rank[pairs[:, 1]]
    graph = from_edges(source, target, np.arange(nodes), "both", "set.mm").graph
    write_npz(options.target, graph)
    print(f"{nodes} nodes, {len(pairs)} citations, {graph.edges} entries")
    print(f"longest list {graph.degrees.max()}, {np.count_nonzero(graph.degrees == 0)} empty")
    print(f"content {graph.sha256}")
    print(f"file    {hashlib.sha256(options.target.read_bytes()).hexdigest()}")


if __name__ == "__main__":
    main()
