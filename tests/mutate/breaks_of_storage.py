"""The breaks of the rooms below ``storage/``."""

from __future__ import annotations

from tests.mutate.breaks import Break

SYNCING = "tests/storage/test_syncing.py::"
SURVIVORS = "tests/test_survivors.py::"
PROMISES = "tests/test_promises.py::"
DATABASE = "tests/storage/sqlite/test_database.py::"
PERSONAS = "tests/storage/test_personas.py::"
PROGRAMS = "tests/storage/test_programs.py::"
TOGETHER = "tests/test_together.py::"

OF_STORAGE: tuple[Break, ...] = (
    Break(
        "a commit need not reach the disk",
        "P1",
        "storage/sqlite/database.py",
        'run("PRAGMA synchronous=FULL")',
        'run("PRAGMA synchronous=NORMAL")',
        (DATABASE + "test_a_commit_survives_a_power_cut_by_the_settings_that_were_measured",),
    ),
    Break(
        "folder not synced after a database gets its name",
        "P1",
        "domain/files.py",
        "        os.replace(made, path)\n        sync_folder(path.parent)\n",
        "        os.replace(made, path)\n",
        (SYNCING + "test_p1_the_folder_is_synced_after_a_new_database_gets_its_name",),
    ),
    Break(
        "a restored database not synced",
        "P1",
        "storage/backup.py",
        "    os.fsync(descriptor)\n",
        "",
        (SYNCING + "test_p1_a_restored_database_is_synced_before_it_gets_its_name_and_the_folder_after",),
    ),
    Break(
        "in flight cleared in a transaction of its own",
        "P2",
        "storage/rounds.py",
        (
            '            tx.do("DELETE FROM in_flight WHERE session_id = ?", session_id)\n'
            "            self._forget_steps(tx, session_id)\n"
            "        return pair_messages(added)[0]\n"
        ),
        (
            "            self._forget_steps(tx, session_id)\n"
            "        with self._database.write() as tx:\n"
            '            tx.do("DELETE FROM in_flight WHERE session_id = ?", session_id)\n'
            "        return pair_messages(added)[0]\n"
        ),
        (SYNCING + "test_p2_a_round_is_stored_or_in_flight_and_never_both_wherever_a_kill_falls",),
    ),
    Break(
        "a round is replaced in two commits",
        "P4",
        "storage/rounds.py",
        (
            "        with self._database.write() as tx:\n"
            "            if instead_of:\n"
            "                self.remove(tx, instead_of.messages)\n"
        ),
        (
            "        if instead_of:\n"
            "            with self._database.write() as tx:\n"
            "                self.remove(tx, instead_of.messages)\n"
            "        with self._database.write() as tx:\n"
        ),
        (SYNCING + "test_p4_a_round_that_is_asked_again_is_the_old_one_or_the_new_one_wherever_a_kill_falls",),
    ),
    Break(
        "a round does not void the stages of a save",
        "P5",
        "storage/rounds.py",
        (
            '            tx.do("DELETE FROM in_flight WHERE session_id = ?", session_id)\n'
            "            self._forget_steps(tx, session_id)\n"
            "        return pair_messages(added)[0]\n"
        ),
        (
            '            tx.do("DELETE FROM in_flight WHERE session_id = ?", session_id)\n'
            "        return pair_messages(added)[0]\n"
        ),
        (SURVIVORS + "test_p5_a_round_that_is_said_after_a_save_failed_voids_its_stages_and_is_in_the_summary",),
    ),
    Break(
        "a persona not synced before it gets its name",
        "P6",
        "domain/files.py",
        "                os.fsync(file.fileno())\n",
        "",
        (SYNCING + "test_p6_a_persona_is_synced_before_it_gets_its_name_and_the_folder_after",),
    ),
    Break(
        "folder not synced after a persona gets its name",
        "P6",
        "domain/files.py",
        "            os.replace(temporary, path)\n            sync_folder(path.parent)\n",
        "            os.replace(temporary, path)\n",
        (SYNCING + "test_p6_a_persona_is_synced_before_it_gets_its_name_and_the_folder_after",),
    ),
    Break(
        "a hand edit is written over",
        "P7",
        "storage/personas.py",
        'self.versions.add(tx, persona, said, "hand", self._stamp.now())',
        'self.versions.add(tx, persona, latest.text if latest else "", "hand", self._stamp.now())',
        (PERSONAS + "test_a_hand_edit_wins_and_becomes_a_version",),
    ),
    Break(
        "a flipped byte in the index is believed",
        "P8",
        "storage/vectors/indexing.py",
        "            if path not in present or not wanted() or self._file_checksum(path) != checksum:\n",
        "            if path not in present or not wanted():\n",
        ("tests/storage/vectors/test_indexing_damage.py::test_damage_to_any_file_changes_nothing_that_is_found",),
    ),
    Break(
        "rows that are missing from the index stay away",
        "P8",
        "storage/vectors/indexing.py",
        "        self._apply_repair(model, missing, np.setdiff1d(here, wanted, assume_unique=True))\n",
        "",
        ("tests/storage/vectors/test_indexing_damage.py::test_rows_that_are_missing_from_a_whole_index_are_added",),
    ),
    Break(
        "the word index is not optimised",
        "P11",
        "storage/erasure.py",
        "            self.of.index.words.optimize(tx)\n",
        "",
        (SURVIVORS + "test_p11_the_word_index_keeps_no_word_that_was_erased",),
    ),
    Break(
        "no vacuum",
        "P11",
        "storage/erasure.py",
        "        self.of.database.vacuum()\n",
        "",
        (SURVIVORS + "test_p11_no_page_of_what_was_erased_is_left_in_the_file",),
    ),
    Break(
        "what was stored goes into a log that others can take away",
        "P1",
        "storage/sqlite/database.py",
        '    run("PRAGMA journal_mode=TRUNCATE")',
        '    run("PRAGMA journal_mode=WAL")',
        (DATABASE + "test_another_program_that_looks_into_the_database_sees_all_and_takes_nothing_away",),
    ),
    Break(
        "the memories of others are searched too",
        "P11",
        "storage/erasure.py",
        "        files, found = find_bytes(self.folders, sought, self.besides)\n",
        "        files, found = find_bytes(self.folders, sought)\n",
        ("tests/test_people.py::test_erasing_in_the_memory_of_me_neither_searches_nor_touches_those_of_others",),
    ),
    Break(
        "history and logs not scrubbed",
        "P11",
        "storage/erasure.py",
        "            scrub(needles)\n",
        "            pass\n",
        (SURVIVORS + "test_p11_forget_takes_what_was_erased_out_of_the_history_and_the_logs",),
    ),
    Break(
        "what is deleted is not overwritten",
        "P11",
        "storage/sqlite/database.py",
        'run("PRAGMA secure_delete=ON")',
        'run("PRAGMA secure_delete=OFF")',
        (DATABASE + "test_a_commit_survives_a_power_cut_by_the_settings_that_were_measured",),
    ),
    Break(
        "a lock on an unlinked file is accepted",
        "P12",
        "storage/programs.py",
        "lock_now(descriptor, self._mode) and _is_at(descriptor, self.path)\n",
        "lock_now(descriptor, self._mode)\n",
        (SURVIVORS + "test_p12_a_lock_on_a_file_that_was_removed_meanwhile_holds_nothing_and_is_not_taken_for_one",),
    ),
    Break(
        "a restore shares the folder",
        "P12",
        "storage/programs.py",
        "fcntl.LOCK_SH if shared else fcntl.LOCK_EX",
        "fcntl.LOCK_SH",
        (PROGRAMS + "test_a_second_program_is_told_who_holds_the_data",),
    ),
    Break(
        "a program that has just written writes again before those who wait",
        "P12",
        "storage/sqlite/database.py",
        "            if not (_is_locked(queue) and _is_locked(gate)):\n                self._wait()\n",
        "            while not _is_locked(gate):\n                time.sleep(_LOOK)\n",
        (PROGRAMS + "test_whoever_waits_to_write_goes_before_a_program_that_has_just_written",),
    ),
    Break(
        "what was read stays although another program has written",
        "P12",
        "storage/sqlite/database.py",
        "        if passed and passed != self._read_at:\n",
        "        if passed and not self._read_at:\n",
        (PROGRAMS + "test_what_another_program_wrote_is_found_however_often_it_was_read_before",),
    ),
    Break(
        "a killed program has its claims for ever",
        "P12",
        "storage/jobs.py",
        "if program == self.program or self._lives(program)}",
        "}",
        ("tests/contract/test_claims.py",),
    ),
    Break(
        "a save stores the summary of what was said before it",
        "P12",
        "jobs/saving.py",
        "if unchanged := self._read_session(session_id) == said:",
        "if unchanged := True:",
        (TOGETHER + "test_p12_a_round_that_another_program_stores_during_a_save_is_in_its_summary",),
    ),
    Break(
        "a round goes into an archived session",
        "P12",
        "conversation.py",
        "if not self.memory.sessions.is_open(session_id):",
        "if not self.memory.sessions.find(session_id):",
        (TOGETHER + "test_p12_a_round_never_goes_into_a_session_that_another_program_has_archived",),
    ),
    Break(
        "a reply is stored although its prompt held what was erased",
        "P10",
        "conversation.py",
        "            self.memory.epoch.require(request.epoch)\n            place = None\n",
        "            place = None\n",
        ("tests/test_erased_meanwhile.py::test_a_reply_whose_last_words_came_before_an_erasure_is_not_kept_after_it",),
    ),
    Break(
        "what is derived is stored although something was erased meanwhile",
        "P20",
        "storage/jobs.py",
        "        if since and (since[1] != elsewhere or elsewhere < 0):\n",
        "        if since and elsewhere < 0:\n",
        ("tests/test_erased_meanwhile.py::test_what_was_made_before_an_erasure_is_refused_in_its_commit",),
    ),
    Break(
        "every program writes the vector index",
        "P12",
        "storage/vectors/indexing.py",
        "            if self._writer.take():\n",
        "            if self._writer.take() or True:\n",
        ("tests/storage/vectors/test_several_programs.py::test_one_program_writes_the_index_and_all_find_everything",),
    ),
    Break(
        "a persona file is judged before the write",
        "P7",
        "storage/personas.py",
        '            if "personas" not in tx.commit.follows:',
        "            if True:",
        ("tests/storage/test_personas.py::test_a_write_that_is_taken_back_leaves_the_file_as_it_was",),
    ),
    Break(
        "rounds in the context follow the clock",
        "P13",
        "storage/messages.py",
        'AND c.compacted = 0 ORDER BY c.position"',
        'AND c.compacted = 0 ORDER BY c.timestamp"',
        (PROMISES + "test_p13_the_clock_may_jump",),
    ),
    Break(
        "sessions follow the clock",
        "P13",
        "storage/messages.py",
        "WHERE status = 'active' AND client = '' ORDER BY position DESC LIMIT ?",
        "WHERE status = 'active' AND client = '' ORDER BY start_timestamp DESC LIMIT ?",
        (SURVIVORS + "test_p13_sessions_stand_in_the_order_in_which_they_were_begun_whatever_the_clock_said",),
    ),
    Break(
        "a write that fails is kept in part",
        "P14",
        "storage/sqlite/database.py",
        "        self._connection.rollback()\n        if self._waiting:\n",
        "        self._connection.commit()\n        if self._waiting:\n",
        (DATABASE + "test_a_write_that_fails_is_taken_back_whole",),
    ),
    Break(
        "a full disk of the index is not known for one",
        "P14",
        "storage/vectors/lance.py",
        '    if "No space left" in said or "os error 28" in said or "os error 122" in said:\n',
        "    if False:\n",
        ("tests/storage/vectors/test_table.py::test_any_fault_comes_out_as_one_of_ours",),
    ),
    Break(
        "a database of another shape is taken",
        "P15",
        "storage/sqlite/database.py",
        "                    schema.refuse_unknown(connection, self.path)\n",
        "                    pass\n",
        ("tests/storage/test_tampered.py::test_p15_a_tampered_database_is_refused_at_start_and_left_as_it_is",),
    ),
    Break(
        "a backup of another shape is taken",
        "P15",
        "storage/sqlite/copies.py",
        "        refuse_unknown(connection, path)\n",
        "",
        ("tests/storage/test_tampered.py::test_p15_a_tampered_backup_is_refused_and_the_memory_stays",),
    ),
    Break(
        "a date is any text",
        "P15",
        "storage/sqlite/schema.py",
        '    return f"(CASE WHEN {form} THEN {calendar} ELSE 0 END)"\n',
        '    return "1"\n',
        ("tests/storage/test_tampered.py::test_p15_a_tampered_backup_is_refused_and_the_memory_stays",),
    ),
    Break(
        "a newer schema is taken",
        "P16",
        "storage/sqlite/schema.py",
        "    if version > VERSION:\n",
        "    if version > VERSION + 1:\n",
        (DATABASE + "test_a_newer_schema_is_refused_and_not_touched",),
    ),
    Break(
        "a document of a newer program is taken",
        "P16",
        "storage/backup.py",
        "    if version != schema.VERSION:\n",
        "    if version < schema.VERSION:\n",
        ("tests/storage/test_portable.py::test_a_document_of_a_newer_program_is_refused",),
    ),
    Break(
        "a fact outlives the messages it was drawn from",
        "P20",
        "storage/fact_log.py",
        '        tx.many("DELETE FROM fact WHERE seq = ?", [(one,) for one in facts])\n',
        "",
        ("tests/contract/test_finding.py::test_a_fact_finds_its_turns_and_goes_with_any_of_them",),
    ),
    Break(
        "personas outlive the messages they were made from",
        "P20",
        "storage/personas.py",
        "if not gone.isdisjoint(messages))\n        return resting - {",
        "if gone.isdisjoint(messages))\n        return resting - {",
        (SURVIVORS + "test_p20_a_line_of_a_persona_goes_with_the_messages_it_was_made_from",),
    ),
    Break(
        "lines of which nobody knows what they rest on outlive it",
        "P20",
        "storage/personas.py",
        '            suspect = at >= since and writer.origin == "model" and not spared\n',
        "            suspect = False\n",
        (
            "tests/storage/test_persona_lines.py::"
            "test_a_line_without_evidence_goes_with_the_message_that_it_was_drawn_from_unless_a_person_wrote_it",
        ),
    ),
    Break(
        "an erasure that was cut short is not finished",
        "P21",
        "storage/erasure.py",
        "        return self._read_note() is not None\n",
        "        return False\n",
        ("tests/jobs/test_erasing.py::test_an_erasure_that_was_cut_short_is_finished_at_the_next_start",),
    ),
    Break(
        "a save that archived leaves its stages",
        "P21",
        "storage/rounds.py",
        (
            "            self._forget_steps(tx, session_id)\n"
            '            tx.do("DELETE FROM in_flight WHERE session_id = ?", session_id)\n'
            "            if not self._of.sessions.close(tx, session_id, now):\n"
        ),
        (
            '            tx.do("DELETE FROM in_flight WHERE session_id = ?", session_id)\n'
            "            if not self._of.sessions.close(tx, session_id, now):\n"
        ),
        (SURVIVORS + "test_p21_a_save_that_archived_leaves_no_stage_behind",),
    ),
    Break(
        "what can never succeed is tried for ever",
        "ends",
        "storage/vectors/indexing.py",
        "            self._index.give_up()\n",
        "            self._index.failed()\n",
        (
            "tests/storage/vectors/test_index_without_end.py::test_what_can_never_succeed_is_tried_once_and_again_when_it_is_asked_for",
        ),
    ),
    Break(
        "work without progress is waited for",
        "ends",
        "storage/vectors/indexing.py",
        "        if time.monotonic() - moved > self.patience and self._has_work():\n",
        "        if False:\n",
        (
            "tests/storage/vectors/test_index_without_end.py::"
            "test_work_that_comes_no_further_is_told_after_the_limit_and_ends_the_waiting",
        ),
    ),
)
