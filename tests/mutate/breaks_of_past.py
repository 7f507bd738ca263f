"""The breaks of what is brought along from other programs: stored once, in its place, evidence for nobody else."""

from __future__ import annotations

from tests.mutate.breaks import Break

IMPORTING = "tests/jobs/test_importing.py::"
READING = "tests/jobs/test_import_backlog.py::"
CHAPTERS = "tests/jobs/test_chapters.py::"
FADING = "tests/jobs/test_archiving.py::"
KILLED = "tests/jobs/test_archiving_kills.py::"

OF_PAST: tuple[Break, ...] = (
    Break(
        "what was erased comes back",
        "P-past",
        "storage/imports.py",
        "        fresh = [message for message in piece.messages if message.key not in known]\n",
        (
            "        known = {key: seq for key, seq in known.items() if seq in standing}\n"
            "        fresh = [message for message in piece.messages if message.key not in known]\n"
        ),
        (IMPORTING + "test_what_was_erased_does_not_come_back_with_the_next_import",),
    ),
    Break(
        "a newer export begins a session of its own",
        "P-past",
        "storage/imports.py",
        "            after = standing[near.key] if near and near.stretch == message.stretch else 0\n",
        "            after = 0\n",
        (IMPORTING + "test_the_same_file_twice_adds_nothing_and_a_newer_export_only_what_is_new",),
    ),
    Break(
        "no pause ends a session",
        "P-past",
        "jobs/importing.py",
        "        found.append(found[-1] + (after - before > PAUSE))\n",
        "        found.append(found[-1])\n",
        (IMPORTING + "test_sessions_end_at_long_pauses_and_stand_where_they_happened",),
    ),
    Break(
        "a time that nobody knows passes for known",
        "P-past",
        "jobs/importing.py",
        "        times.append((one or before, one is not None))\n",
        "        times.append((one or before, True))\n",
        (IMPORTING + "test_a_time_that_nobody_knows_is_that_of_the_neighbours_and_is_marked",),
    ),
    Break(
        "what was said in a role is read",
        "P-past",
        "storage/messages.py",
        " WHERE role_play = 1)",
        " WHERE 1 = 0)",
        (IMPORTING + "test_what_was_said_in_a_role_is_found_and_never_read_for_what_is_known",),
    ),
    Break(
        "what others say is evidence for the person",
        "P-past",
        "facts/evidence.py",
        "        own = (source for source in sources if not source.message.speaker)\n",
        "        own = sources\n        of_companion = True\n",
        (READING + "test_what_the_others_say_in_a_talk_of_people_is_evidence_for_nobody_but_them",),
    ),
    Break(
        "another program's assistant speaks for the companion",
        "P-past",
        "jobs/extraction.py",
        '    facts = tuple(fact for fact in checked.facts if fact.about != "companion")\n',
        "    facts = checked.facts\n",
        (READING + "test_what_another_program_says_of_itself_is_not_known_of_the_companion",),
    ),
    Break(
        "calls are not counted",
        "P-past",
        "storage/imports.py",
        '            set_meta(self._database, _CALLS, f"{today} {max(0, self._calls_on(today) + calls)}")\n',
        "            pass\n",
        (READING + "test_no_day_has_more_calls_than_the_settings_allow_also_after_a_new_start",),
    ),
    Break(
        "what was taken back stays known",
        "P-past",
        "storage/imports.py",
        '(("stored_message", "message"), ("imported_message", "seq"))',
        '(("stored_message", "message"),)',
        (IMPORTING + "test_a_whole_import_is_taken_back_and_may_come_again",),
    ),
    Break(
        "a persona of before keeps what an import taught",
        "P-past",
        "storage/personas.py",
        "                self.versions.remove_lines(tx, persona, lines)\n",
        "                pass\n",
        (IMPORTING + "test_what_an_import_taught_goes_with_it_out_of_the_persona_and_of_all_that_it_was_before",),
    ),
    Break(
        "a log is known only by the cut of its conversations",
        "P-past",
        "storage/imports.py",
        "        names = [piece.conversation, *([piece.log] if piece.log else [])]\n",
        "        names = [piece.conversation]\n",
        (IMPORTING + "test_a_log_that_lost_its_oldest_entries_brings_only_what_is_new",),
    ),
    Break(
        "a chapter of the past costs no call",
        "P-past",
        "jobs/chapters.py",
        "            self._memory.imports.count_calls(1)\n",
        "            pass\n",
        (CHAPTERS + "test_chapters_of_the_past_are_among_the_calls_of_the_day_and_those_of_today_wait_for_nothing",),
    ),
    Break(
        "a line that one deletion took comes back with the next",
        "P-past",
        "storage/erasure.py",
        '            self.commit(self.refresh_scope(chosen), "limit")\n',
        '            self.commit(chosen, "limit")\n',
        (FADING + "test_what_one_deletion_takes_from_a_persona_the_next_does_not_put_back",),
    ),
    Break(
        "of several deletions only the last is cleaned",
        "P-past",
        "storage/erasure.py",
        "        before = self._read_note() or ErasureNote((), ())\n",
        "        before = ErasureNote((), ())\n",
        (FADING + "test_several_steps_of_deleting_are_cleaned_and_proven_together",),
    ),
    Break(
        "the words of what faded go in a commit of their own",
        "P-past",
        "storage/messages.py",
        '            tx.many(f"INSERT INTO archived_memory {columns}", rows)\n',
        (
            '            tx.many(f"INSERT INTO archived_memory {columns}", rows)\n        with self._database.write() as tx:\n'
        ),
        (KILLED + "test_a_kill_leaves_whole_steps_and_the_next_look_goes_on",),
    ),
    Break(
        "what is let back stays missing in its summary",
        "P-past",
        "storage/rounds.py",
        "                self._ask_with(tx, message)\n",
        "                pass\n",
        (
            "tests/test_forget_requests_detected.py::"
            "test_what_is_released_is_told_again_in_the_summary_and_the_chapter_that_were_made_without_it",
        ),
    ),
)
