"""Samples of faults cover a sweep evenly, and its parts cover it whole."""

from tests.faults.sampling import BLOCK, PARTS, FaultShare, pairs

FAULTS = list(range(3 * BLOCK + 5))


def test_parts_together_hold_each_fault_once() -> None:
    parts = [FaultShare(part=part, seed="").of(FAULTS) for part in range(PARTS)]
    assert sorted(fault for part in parts for fault in part) == FAULTS


def test_sample_has_one_fault_of_each_block_in_order() -> None:
    sample = FaultShare(part=None, seed="1 test").of(FAULTS)
    assert [fault // BLOCK for fault in sample] == list(range(4))


def test_sample_of_same_seed_is_the_same_and_of_another_seed_another() -> None:
    first, again, other = (FaultShare(part=None, seed=seed).of(FAULTS) for seed in "112")
    assert first == again != other


def test_samples_of_many_seeds_hold_each_fault() -> None:
    seeds = (str(seed) for seed in range(2_000))
    assert {
        fault for seed in seeds for fault in FaultShare(part=None, seed=seed).of(FAULTS)
    } == set(FAULTS)


def test_sample_of_few_faults_holds_one() -> None:
    assert len(FaultShare(part=None, seed="1 test").of([1, 2])) == 1


def test_pairs_draw_the_second_fault_from_those_given() -> None:
    drawn = pairs(FAULTS, 20, seed="test", then=[-1])
    assert len(drawn) == 20
    assert {second for _, second in drawn} == {-1}
    assert drawn == pairs(FAULTS, 20, seed="test", then=[-1])
