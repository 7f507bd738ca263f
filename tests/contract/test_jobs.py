"""Jobs: what is asked for stays until it is done, and is done again where it was asked for meanwhile."""

from __future__ import annotations

from storage.jobs import Job


def kinds_and_keys(jobs: list[Job]) -> list[tuple[str, str]]:
    return [(job.kind, job.key) for job in jobs]


def test_jobs_wait_in_the_order_of_their_urgency_and_then_of_their_requests(store):
    for kind, key in (("archive", ""), ("extract", "s2"), ("extract", "s1"), ("compact", "s1")):
        store.jobs.request(kind, key)
    kinds = ["compact", "extract", "archive"]
    assert kinds_and_keys(store.jobs.waiting(kinds)) == [
        ("compact", "s1"), ("extract", "s2"), ("extract", "s1"), ("archive", ""),
    ]  # fmt: skip
    assert store.jobs.next(["archive"], 0.0).kind == "archive"
    assert store.jobs.next(["chapters"], 0.0) is None
    assert store.jobs.find("extract", "s1").key == "s1"
    assert store.jobs.find("extract", "s3") is None


def test_a_job_that_was_asked_for_again_is_not_finished_by_an_older_try(store):
    store.jobs.request("extract", "s1", "first")
    older = store.jobs.find("extract", "s1")
    store.jobs.request("extract", "s1", "second")
    assert not store.jobs.finish(older)
    again = store.jobs.find("extract", "s1")
    assert (again.payload, again.generation > older.generation) == ("second", True)
    assert store.jobs.finish(again)
    assert store.jobs.find("extract", "s1") is None


def test_a_job_that_failed_waits_unless_it_is_wanted_at_once_or_what_it_is_made_from_has_changed(store):
    store.jobs.request("extract", "s1", "m1")
    store.jobs.postpone(store.jobs.find("extract", "s1"), "model.refused", 100.0)
    store.jobs.request("extract", "s1", "m1")
    assert store.jobs.next(["extract"], 99.0) is None
    assert [(job.key, job.reason) for job in store.jobs.failed()] == [("s1", "model.refused")]
    assert store.jobs.next(["extract"], 100.0).attempts == 1
    store.jobs.request("extract", "s1", "m1", at_once=True)
    assert store.jobs.next(["extract"], 0.0).attempts == 1
    store.jobs.postpone(store.jobs.find("extract", "s1"), "model.refused", 100.0)
    store.jobs.request("extract", "s1", "m2")
    assert store.jobs.next(["extract"], 0.0).attempts == 2
    store.jobs.postpone(store.jobs.find("extract", "s1"), "model.refused", 100.0)
    store.jobs.retry_all()
    assert store.jobs.next(["extract"], 0.0).attempts == 3


def test_a_job_that_failed_is_named_with_its_reason_until_it_is_done(store):
    store.jobs.request("chapters")
    store.jobs.request("extract", "s1", "m1")
    assert store.jobs.failed() == []
    store.jobs.postpone(store.jobs.find("extract", "s1"), "model.refused", 100.0)
    assert [(job.kind, job.key, job.reason) for job in store.jobs.failed()] == [("extract", "s1", "model.refused")]
    assert store.jobs.finish(store.jobs.find("extract", "s1"))
    assert store.jobs.failed() == []


def test_a_step_that_is_too_old_is_forgotten_and_an_erasure_forgets_what_waits_for_tools(store):
    for hour in ("08", "10"):
        store.steps.store("tools", hour, "", "a text", f"2026-03-01T{hour}:00:00+00:00")
    store.steps.drop_before("tools", "2026-03-01T09:00:00+00:00")
    assert (store.steps.of("tools", "08"), store.steps.of("tools", "10")) == ({}, {"": ("a text", "")})
    assert store.steps.of("tools", "10", "2026-03-01T10:00:01+00:00") == {}
    assert store.steps.oldest("tools") == "2026-03-01T10:00:00+00:00"
    store.start("s9", "2026-03-01T09:00:00+00:00")
    store.rounds.store("s9", "My cat is Douban.", "Lovely!", "2026-03-01T09:00:00+00:00", "stop")
    store.erasure.remove(store.erasure.scope_of_words("Douban"))
    assert store.steps.of("tools", "10") == {}
    assert store.steps.oldest("tools") is None


def test_hiding_forgets_what_waits_for_tools_and_raises_a_number_that_showing_again_does_not(store):
    store.start("s9", "2026-03-01T09:00:00+00:00")
    said = store.rounds.store("s9", "My cat is Douban.", "Lovely!", "2026-03-01T09:00:00+00:00", "stop")
    store.steps.store("tools", "10", "", "a text", "2026-03-01T10:00:00+00:00")
    before = store.messages.hidings()
    store.rounds.hide([said.user.text_id])
    assert (store.steps.of("tools", "10"), store.messages.hidings()) == ({}, before + 1)
    store.rounds.unhide([said.user.text_id])
    assert store.messages.hidings() == before + 1
