"""Reads of many items: batches, ordered queries of a partition, and both indexes."""

from collections.abc import Callable

import pytest

from skein.models.common.storage import Delete, IndexName, Item, Key, Page, Put, Query, Update
from skein.ports import Table
from tests.support.each import check_each

INDEXES: tuple[IndexName, ...] = ("gsi1", "gsi2")


def fill(table: Table, pk: str, *sort_keys: str) -> None:
    table.transact([Put(Key(pk, sk), {"text": sk}) for sk in sort_keys])


def sort_keys(page: Page) -> list[str]:
    return [item["sk"] for item in page.items]


def all_pages(read: Callable[[Item | None], Page]) -> list[tuple[Item, ...]]:
    """Read on until the end."""
    pages = [read(None)]
    while pages[-1].next_start is not None:
        pages.append(read(pages[-1].next_start))
    return [page.items for page in pages]


def test_batch_read_omits_missing_items(table: Table, pk: str) -> None:
    fill(table, pk, "a", "b")
    a, b, gone, elsewhere = (Key(pk, "a"), Key(pk, "b"), Key(pk, "c"), Key(f"{pk}x", "a"))
    assert table.get_many([gone, b, elsewhere, a, b]) == {
        a: {"pk": pk, "sk": "a", "text": "a"},
        b: {"pk": pk, "sk": "b", "text": "b"},
    }


def test_empty_batch_get_returns_no_items(table: Table) -> None:
    assert table.get_many([]) == {}


def test_a_batch_holds_a_hundred_keys(table: Table, pk: str) -> None:
    keys = [Key(pk, f"{n:03d}") for n in range(101)]
    table.transact([Put(key, {}) for key in keys[:100]])
    assert len(table.get_many(keys[:100])) == 100
    with pytest.raises(ValueError, match="at most 100"):
        table.get_many(keys)


def test_a_batch_of_many_megabytes_arrives_whole(exact_table: Table, pk: str) -> None:
    keys = [Key(pk, f"{n:02d}") for n in range(50)]
    for key in keys:
        exact_table.write(Put(key, {"text": "x" * 390_000}))
    found = exact_table.get_many(keys)
    assert found.keys() == set(keys)
    assert sum(len(item["text"]) for item in found.values()) == 50 * 390_000


@pytest.mark.parametrize("key", [Key("", "a"), Key("a", "")])
def test_a_read_without_a_key_is_refused(table: Table, key: Key) -> None:
    with pytest.raises(ValueError, match="must be a string"):
        table.get(key)
    with pytest.raises(ValueError, match="must be a string"):
        table.get_many([key])


def test_items_come_in_the_order_of_their_utf8_bytes(table: Table, pk: str) -> None:
    in_order = ["#", "0", "A", "MSG#1", "MSG#10", "MSG#2", "a", "z", "é", "\uffff", "\U0001f600"]
    fill(table, pk, *reversed(in_order))
    assert sort_keys(table.query(Query(pk))) == in_order
    assert sort_keys(table.query(Query(pk, newest_first=True))) == in_order[::-1]


def test_a_query_stays_within_its_partition(table: Table, pk: str) -> None:
    fill(table, pk, "a")
    fill(table, f"{pk}#b", "b")
    assert table.query(Query(pk)) == Page(({"pk": pk, "sk": "a", "text": "a"},))
    assert table.query(Query(f"{pk}#c")) == Page(())


def test_query_bounds_are_inclusive(table: Table, pk: str) -> None:
    fill(table, pk, *"abcde")

    def check(bounds: tuple[str, str, str]) -> None:
        first, last, expected = bounds
        assert sort_keys(table.query(Query(pk, first=first, last=last))) == list(expected)
        backwards = table.query(Query(pk, first=first, last=last, newest_first=True))
        assert sort_keys(backwards) == list(expected)[::-1]

    cases = [
        ("", "\U0010ffff", "abcde"),
        ("b", "d", "bcd"),
        ("b", "\U0010ffff", "bcde"),
        ("", "b", "ab"),
        ("aa", "cc", "bc"),
        ("c", "c", "c"),
        ("x", "z", ""),
        ("d", "b", ""),
        ("", "", ""),
    ]
    check_each({repr(case): case for case in cases}, check)


@pytest.mark.parametrize(("newest_first", "order"), [(False, "bcdef"), (True, "fedcb")])
def test_pages_join_without_gap_or_repeat(
    table: Table, pk: str, newest_first: bool, order: str
) -> None:
    fill(table, pk, *"abcdefg")
    pages = all_pages(
        lambda start: table.query(
            Query(pk, first="b", last="f", limit=2, newest_first=newest_first, start=start)
        )
    )
    found = [[item["sk"] for item in items] for items in pages]
    assert found == [list(order[:2]), list(order[2:4]), list(order[4:])]


def test_full_last_page_still_returns_a_next_start(exact_table: Table, pk: str) -> None:
    fill(exact_table, pk, *"ab")
    page = exact_table.query(Query(pk, limit=2))
    assert sort_keys(page) == ["a", "b"]
    assert page.next_start == {"pk": pk, "sk": "b"}
    assert exact_table.query(Query(pk, limit=2, start=page.next_start)) == Page(())


def test_query_page_starts_after_a_deleted_key(table: Table, pk: str) -> None:
    fill(table, pk, *"abd")
    start = table.query(Query(pk, limit=2)).next_start
    table.write(Delete(Key(pk, "b")))
    assert sort_keys(table.query(Query(pk, start=start))) == ["d"]
    assert sort_keys(table.query(Query(pk, start=start, newest_first=True))) == ["a"]


def test_a_query_without_limit_reads_beyond_a_megabyte(table: Table, pk: str) -> None:
    for n in range(15):
        table.write(Put(Key(pk, f"{n:02d}"), {"text": "x" * 100_000}))
    page = table.query(Query(pk))
    assert sort_keys(page) == [f"{n:02d}" for n in range(15)]
    assert page.next_start is None
    assert len(table.query(Query(pk, limit=14)).items) == 14


@pytest.mark.parametrize("limit", [0, -1])
def test_query_with_limit_below_one_raises_value_error(table: Table, pk: str, limit: int) -> None:
    with pytest.raises(ValueError, match="limit"):
        table.query(Query(pk, limit=limit))
    with pytest.raises(ValueError, match="limit"):
        table.query(Query(pk, index="gsi1", limit=limit))


def test_query_of_an_index_without_a_limit_is_refused(table: Table, pk: str) -> None:
    with pytest.raises(ValueError, match="limit"):
        table.query(Query(pk, index="gsi1"))


def test_a_query_without_a_partition_is_refused(table: Table) -> None:
    with pytest.raises(ValueError, match="must be a string"):
        table.query(Query(""))
    with pytest.raises(ValueError, match="must be a string"):
        table.query(Query("", index="gsi2", limit=1))


@pytest.mark.parametrize("index", INDEXES)
def test_an_index_holds_keys_only_and_only_of_items_that_have_both(
    table: Table, pk: str, index: IndexName
) -> None:
    ipk, isk = f"{index}pk", f"{index}sk"
    table.write(Put(Key(pk, "both"), {ipk: pk, isk: "1", "text": "long"}))
    table.write(Put(Key(pk, "neither"), {"text": "long"}))
    table.write(Put(Key(pk, "half"), {ipk: pk}))
    table.write(Put(Key(pk, "other half"), {isk: "1"}))
    expected = ({"pk": pk, "sk": "both", ipk: pk, isk: "1"},)
    assert table.query(Query(pk, index=index, limit=9)) == Page(expected)


@pytest.mark.parametrize("index", INDEXES)
def test_an_index_follows_its_items(table: Table, pk: str, index: IndexName) -> None:
    ipk, isk = f"{index}pk", f"{index}sk"
    key = Key(pk, "META")

    def seen(partition: str) -> list[str]:
        return [item[isk] for item in table.query(Query(partition, index=index, limit=9)).items]

    table.write(Update(key, set={ipk: pk, isk: "1"}))
    assert seen(pk) == ["1"]
    table.write(Update(key, set={isk: "2"}, add={"n": 1}))
    assert seen(pk) == ["2"]
    table.transact([Update(key, set={ipk: f"{pk}#other"})])
    assert (seen(pk), seen(f"{pk}#other")) == ([], ["2"])
    table.write(Update(key, set={ipk: None, isk: None}))
    assert seen(f"{pk}#other") == []
    table.write(Put(key, {ipk: pk, isk: "3"}))
    assert seen(pk) == ["3"]
    table.write(Put(key, {}))
    assert seen(pk) == []
    table.write(Put(key, {ipk: pk, isk: "4"}))
    table.write(Delete(key))
    assert seen(pk) == []


def test_item_with_both_index_keys_is_in_both_indexes(table: Table, pk: str) -> None:
    keys = {"gsi1pk": f"{pk}1", "gsi1sk": "a", "gsi2pk": f"{pk}2", "gsi2sk": "b"}
    table.write(Put(Key(pk, "META"), {**keys, "text": "long"}))
    (first,) = table.query(Query(f"{pk}1", index="gsi1", limit=1)).items
    (second,) = table.query(Query(f"{pk}2", index="gsi2", limit=1)).items
    assert first == {"pk": pk, "sk": "META", "gsi1pk": f"{pk}1", "gsi1sk": "a"}
    assert second == {"pk": pk, "sk": "META", "gsi2pk": f"{pk}2", "gsi2sk": "b"}


@pytest.mark.parametrize("newest_first", [False, True])
def test_an_index_is_read_in_order_within_bounds_and_by_pages(
    table: Table, pk: str, newest_first: bool
) -> None:
    for n in (5, 3, 1, 4, 2, 6):
        table.write(Put(Key(f"{pk}#{n}", "META"), {"gsi2pk": pk, "gsi2sk": f"{n}#x"}))
    pages = all_pages(
        lambda start: table.query(
            Query(
                pk,
                index="gsi2",
                first="2",
                last="5#x",
                limit=3,
                newest_first=newest_first,
                start=start,
            )
        )
    )
    seen = [item["gsi2sk"] for items in pages for item in items]
    assert seen == sorted(["2#x", "3#x", "4#x", "5#x"], reverse=newest_first)


@pytest.mark.parametrize("newest_first", [False, True])
def test_items_at_the_same_place_of_an_index_are_paged_without_gap_or_repeat(
    exact_table: Table, pk: str, newest_first: bool
) -> None:
    for n in range(7):
        exact_table.write(Put(Key(f"{pk}#{n}", "META"), {"gsi1pk": pk, "gsi1sk": "same"}))
    pages = all_pages(
        lambda start: exact_table.query(
            Query(pk, index="gsi1", limit=2, newest_first=newest_first, start=start)
        )
    )
    seen = [item["pk"] for items in pages for item in items]
    assert sorted(seen) == [f"{pk}#{n}" for n in range(7)]
