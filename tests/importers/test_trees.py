"""The way up through any tree ends, meets no node twice, and is linear."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from importers.assistants import newest_leaf, path_from_root

NODES = st.sampled_from("abcdefgh")
#: Any nodes with any parents: trees, several of them, gaps, circles.
GRAPHS = st.dictionaries(NODES, st.none() | NODES | st.just("gone"), min_size=1)


@given(GRAPHS, st.none() | NODES)
def test_a_way_goes_from_parent_to_child_and_meets_no_node_twice(parents, leaf):
    way = path_from_root(parents, leaf)
    assert len(set(way)) == len(way)
    assert all(parents[child] == above for above, child in pairwise(way))
    assert (way[-1:] == [leaf]) == (leaf in parents)
    assert not way or parents[way[0]] not in parents or parents[way[0]] in way


@given(GRAPHS, st.dictionaries(NODES, st.integers(0, 5)))
def test_the_newest_leaf_is_named_as_parent_by_nobody_if_there_is_such_a_one(parents, ages):
    leaf = newest_leaf(parents, lambda node: ages.get(node, -1))
    leaves = [node for node in parents if node not in parents.values()]
    assert leaf in (leaves or parents)
    assert all(ages.get(leaf, -1) >= ages.get(other, -1) for other in leaves)


def test_a_chain_of_a_hundred_thousand_is_walked():
    parents = {str(number): str(number - 1) if number else None for number in range(100_000)}
    assert len(path_from_root(parents, newest_leaf(parents, lambda _: 0))) == 100_000
