"""Forms that were begun and not answered, counted by the address of the browser."""

from __future__ import annotations

from random import Random

import pytest

from humaneval import open_forms
from humaneval.open_forms import OpenForms

HALL, HOME, CAFE = "192.0.2.1", "198.51.100.1", "203.0.113.1"


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def counted(most: int = 100) -> tuple[OpenForms, Clock]:
    clock = Clock()
    return OpenForms(most, clock), clock


def begin(forms: OpenForms, address: str, *numbers: int, shown: bool = True) -> None:
    for number in numbers:
        forms.begun(address, number, seconds=3000, expected=240)
        if shown:
            forms.shown(number)


def test_an_address_has_so_many_forms_open_and_sent_ones_do_not_count() -> None:
    forms, _ = counted(3)
    begin(forms, HALL, 1, 2, 3)
    begin(forms, HALL, 3)  # the same once more
    assert (forms.is_crowded(HALL), forms.is_crowded(HOME)) == (True, False)
    forms.answered(2)
    assert not forms.is_crowded(HALL)
    forms.answered(2)
    forms.answered(77)


def test_forms_whose_time_is_over_do_not_count() -> None:
    forms, clock = counted(2)
    begin(forms, HALL, 1, 2)
    clock.now += 3001
    assert not forms.is_crowded(HALL)


def test_a_form_whose_page_nobody_asked_for_gives_way_first() -> None:
    forms, clock = counted()
    begin(forms, HALL, 1, 2)
    begin(forms, HALL, 3, 4, shown=False)
    begin(forms, CAFE, 5)
    assert forms.that_give_way(HOME) == ()
    clock.now += 16
    assert forms.that_give_way(HOME) == (3, 4)
    clock.now += 480
    assert forms.that_give_way(HOME) == (3, 4, 1, 2)


def test_an_address_with_as_many_forms_does_not_give_way() -> None:
    forms, clock = counted()
    begin(forms, HALL, 1, 2, 3, shown=False)
    begin(forms, CAFE, 4, shown=False)
    begin(forms, HOME, 5)
    clock.now += 600
    assert forms.that_give_way(HALL) == ()
    assert forms.that_give_way(HOME) == (1, 2, 3)
    begin(forms, HOME, 6)
    assert forms.that_give_way(HOME) == ()


def test_the_addresses_of_one_household_are_one() -> None:
    forms, _ = counted(2)
    begin(forms, "2001:db8:0:1::1", 1)
    begin(forms, "2001:db8:0:1:ffff::2", 2)
    assert forms.is_crowded("2001:db8:0:1::3")
    assert not forms.is_crowded("2001:db8:0:2::3")


def test_the_memory_for_addresses_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_forms, "MOST_ADDRESSES", 100)
    forms, _ = counted()
    for number in range(105):
        forms.begun(f"a{number}", number, seconds=10, expected=1)
    assert len(forms._at) == len(forms._where) == 100


EXPECTED, ROWS = 240.0, 60


class Link:
    """A link with few rows, people who come to it, and how long each waited for a row."""

    def __init__(self) -> None:
        self.forms, self.clock = counted()
        self.held: set[int] = set()
        self.ends: dict[int, float] = {}
        self.gave_way: set[int] = set()

    def begins(self, address: str, number: int, takes: float = 1e9) -> bool:
        """Whether this person gets a row now; they answer after `takes` seconds."""
        if len(self.held) >= ROWS:
            giving = [each for each in self.forms.that_give_way(address) if each in self.held]
            if not giving:
                return False
            self.held.remove(giving[0])
            self.gave_way.add(giving[0])
        self.held.add(number)
        self.ends[number] = self.clock.now + takes
        begin(self.forms, address, number)
        return True

    def passes(self, seconds: float) -> None:
        self.clock.now += seconds
        for number in [each for each, end in self.ends.items() if end <= self.clock.now]:
            del self.ends[number]
            self.forms.answered(number)


def reads(rng: Random) -> float:
    """How long a person takes: half of them longer than expected, one in ten nearly twice as long."""
    return EXPECTED * rng.lognormvariate(0, 0.5)


def test_a_flood_of_sixty_keeps_people_waiting_for_the_expected_time_and_no_longer() -> None:
    link, rng = Link(), Random(1)
    for number in range(ROWS):
        assert link.begins(HALL, number)
    waits = []
    for person in range(1000, 1030):  # one every twenty seconds, who looks again after ten
        came = link.clock.now
        while not link.begins(f"198.51.100.{person - 1000}", person, reads(rng)):
            link.passes(10)
        waits.append(link.clock.now - came)
        link.begins(HALL, person + 5000)  # the flood goes on
        link.passes(20)
    assert waits[0] <= EXPECTED + 10
    assert waits[1:] == [0] * 29
    assert link.gave_way <= {*range(ROWS), *range(5000, 7000)}


def test_a_class_of_slow_readers_behind_one_address_keeps_twice_the_expected_time() -> None:
    for seed in range(20):
        link, rng = Link(), Random(seed)
        for number in range(ROWS):
            assert link.begins(HALL, number, reads(rng))
        for person in range(int(2 * EXPECTED / 10) - 1):  # others wait all the time
            link.passes(10)
            link.begins(HOME, 1000 + person, reads(rng))
        assert link.gave_way == set(), seed
