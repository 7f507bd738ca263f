"""What one program alone uses or does: a claim, void once its program has ended."""

from __future__ import annotations

from copy import copy

import pytest

from domain.errors import UsageError
from storage.jobs import Claims, Jobs
from storage.messages import Sessions
from tests.contract.stores import Store, Teller, at


class TwoPrograms:
    """Another program with the same memory, until it has ended."""

    def __init__(self, store: Store) -> None:
        self.living = {"this", "other"}
        database, lives = store.database, self.living.__contains__
        self.claims, self.theirs = Claims(database, "this", lives), Claims(database, "other", lives)
        self.jobs, self.their_jobs = Jobs(database, self.claims), Jobs(database, self.theirs)
        self.sessions = Sessions(database, store.of.stamp, self.claims)
        self.their_sessions = Sessions(database, store.of.stamp, self.theirs)


@pytest.fixture
def two(store: Store) -> TwoPrograms:
    return TwoPrograms(store)


def test_of_two_programs_one_has_a_claim_until_it_lets_go_or_ends(two: TwoPrograms) -> None:
    assert two.claims.take("erasure")
    assert two.claims.take("erasure")
    assert not two.theirs.take("erasure")
    assert two.theirs.taken_elsewhere("erasure") == {"": "this"}
    two.theirs.release("erasure", "")
    assert not two.theirs.take("erasure")
    two.claims.release("erasure", "")
    assert two.theirs.take("erasure")
    two.living.discard("other")
    assert two.claims.taken("erasure") == {}
    assert two.claims.take("erasure", "another")
    two.living.add("other")
    assert two.claims.taken("erasure") == {"another": "this"}, "what was void is gone"
    assert two.claims.take("erasure")


def test_a_program_goes_on_in_the_newest_session_that_no_living_one_has(two: TwoPrograms) -> None:
    first, _ = two.sessions.resume_or_start()
    other, resumed = two.their_sessions.resume_or_start()
    assert (first.session_id != other.session_id, resumed) == (True, False)
    assert two.sessions.resume_or_start() == (first, True)
    assert two.their_sessions.resume_or_start() == (other, True)
    two.living.discard("other")
    assert two.sessions.resume_or_start() == (other, True)


def test_a_session_that_another_program_has_is_not_resumed(store: Store, two: TwoPrograms, teller: Teller) -> None:
    for name in ("one", "two"):
        store.start(name, at(0))
    teller.say("one", "Hello.")
    store.rounds.save("one", "They met.", {}, open_next=False)
    assert two.theirs.take("session", "one")
    of = copy(store.of)
    of.claims = two.claims
    rounds = type(store.rounds)(of)
    with pytest.raises(UsageError, match="in_use"):
        rounds.resume("one", "two")
    two.living.discard("other")
    assert rounds.resume("one", "two").status == "active"


def test_of_two_programs_one_does_a_job_and_the_other_takes_it_over_when_that_one_ends(two: TwoPrograms) -> None:
    two.jobs.request("chapters")
    job = two.jobs.next(["chapters"], 0.0)
    assert job
    assert two.jobs.claim(job)
    assert two.their_jobs.next(["chapters"], 0.0) is None
    assert not two.their_jobs.claim(job)
    two.their_jobs.request("chapters")
    assert not two.jobs.finish(job), "it was asked for again meanwhile"
    two.living.discard("this")
    again = two.their_jobs.next(["chapters"], 0.0)
    assert again
    assert two.their_jobs.claim(again)
    two.their_jobs.postpone(again, "", 0.0)
    two.living.add("this")
    assert two.jobs.next(["chapters"], 0.0)
    assert two.their_jobs.finish(again)
    assert not two.jobs.claim(again)


def test_a_program_that_lets_go_of_everything_leaves_the_rest_to_others(two: TwoPrograms) -> None:
    two.jobs.request("autosave", "one")
    job = two.jobs.find("autosave", "one")
    assert job
    assert two.claims.take("session", "one")
    assert two.theirs.take("session", "two")
    assert two.jobs.claim(job)
    two.claims.release_all()
    assert two.claims.taken("session") == {"two": "other"}
    assert two.their_jobs.claim(job)
