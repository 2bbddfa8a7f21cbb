"""The script that builds the shipped graph, on a database of five statements."""

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent / "tools" / "make_setmm_graph.py"

DATABASE = """
$( A comment may hold anything: fake $a wff $. $= ( x ) $)
$c wff |- $.
ax-1 $a |- ph $.
hyp $e |- ph $.
one $p |- ph $= ( ax-1 hyp ) ABC $( inside $) $.
df-2 $a |- ps $.
two $p |- ps $= ( one df-2 one ) DE $.
none $p |- ps $= ( ) A $.
"""


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("make_setmm_graph", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_statements_are_numbered_and_cite_statements_once(script):
    nodes, pairs = script.citations(DATABASE)
    assert nodes == 5  # ax-1, one, df-2, two, none; hypotheses are no nodes
    assert pairs.tolist() == [[1, 0], [3, 1], [3, 2]]


def test_a_proof_that_is_not_compressed_is_refused(script):
    with pytest.raises(SystemExit, match="proof of t must be compressed"):
        script.citations("t $p |- ph $= a b c $.")


def test_ids_are_shuffled_to_a_permutation(script):
    ranks = script.shuffled(1_000)
    assert sorted(ranks) == list(range(1_000))
    assert (ranks == script.shuffled(1_000)).all()
    assert sum(int(rank) == place for place, rank in enumerate(ranks)) < 10
