"""The breaks of everything above ``storage/``: what is said, sent, shown and saved."""

from __future__ import annotations

from tests.mutate.breaks import Break

SURVIVORS = "tests/test_survivors.py::"
PROMISES = "tests/test_promises.py::"

OF_TALK: tuple[Break, ...] = (
    Break(
        "what was typed is not written down",
        "P2",
        "conversation.py",
        "            self.memory.note_in_flight(self.session.session_id, text)\n",
        "            pass\n",
        (PROMISES + "test_p4_a_failed_model_call_changes_nothing",),
    ),
    Break(
        "a stopped reply counts as whole",
        "P3",
        "models/chat.py",
        '            return "interrupted"\n',
        '            return "stop"\n',
        (PROMISES + "test_p3_a_reply_that_was_cut_off_is_never_presented_as_complete",),
    ),
    Break(
        "a reply without an end counts as whole",
        "P3",
        "models/replies.py",
        "        if how is None and not self.finish:\n",
        "        if False:\n",
        ("tests/test_faults.py::test_every_fault_ends_as_the_table_says",),
    ),
    Break(
        "a retry takes the round away before it has another",
        "P4",
        "conversation.py",
        "        replaced = rounds[-1] if again and rounds else None\n",
        "        replaced = rounds[-1] if again and rounds else None\n"
        "        if replaced:\n            self.memory.undo(self.session.session_id, 1)\n",
        (SURVIVORS + "test_p4_a_retry_that_fails_leaves_the_round_that_was_to_be_replaced",),
    ),
    Break(
        "a stage that is done is made again",
        "P5",
        "jobs/saving.py",
        '        return str(kept["text"]) if kept["base"] == base else None\n',
        "        return None\n",
        (PROMISES + "test_p5_a_save_that_failed_goes_on_and_ends_as_an_undisturbed_one",),
    ),
    Break(
        "a rewrite that loses the image is taken",
        "P6",
        "jobs/saving.py",
        "    if reason := refusal(current, text, pins):\n",
        "    if (reason := refusal(current, text, pins)) and not text:\n",
        (PROMISES + "test_p6_a_rewrite_that_loses_the_image_is_not_taken",),
    ),
    Break(
        "a save writes over an edit made since its stage",
        "P7",
        "jobs/saving.py",
        '            if kept["base"] == _digest(before, summary) and kept["text"] != before:\n',
        '            if kept["text"] != before:\n',
        (
            PROMISES + "test_p5_a_hand_edit_between_two_tries_of_a_save_wins",
            SURVIVORS + "test_p7_an_edit_that_is_made_while_a_save_archives_wins",
        ),
    ),
    Break(
        "trouble with embeddings stops the turn",
        "P9",
        "recall/finder.py",
        "            except errors.EmbeddingError:\n",
        "            except errors.UsageError:\n",
        (PROMISES + "test_p9_words_serve_while_the_embedding_server_is_away",),
    ),
    Break(
        "trouble with embeddings is told at every turn",
        "P9",
        "conversation.py",
        "        if new := missing - self._known_degraded:\n",
        "        if new := missing:\n",
        (PROMISES + "test_p9_words_serve_while_the_embedding_server_is_away",),
    ),
    Break(
        "undo leaves the vectors in the index",
        "P10",
        "memory.py",
        "        self._tell_index([turn.text_id for spoken in rounds for turn in spoken.turns])\n",
        "",
        (SURVIVORS + "test_p10_the_vectors_of_a_round_that_was_taken_back_leave_the_index",),
    ),
    Break(
        "undo brings back what was erased after a reset",
        "P10",
        "conversation.py",
        "        self.last = self._removed = None\n",
        "        self.last = None\n",
        (SURVIVORS + "test_p10_what_was_erased_after_a_reset_is_not_brought_back_by_undo",),
    ),
    Break(
        "the program hands over nobody to scrub the history",
        "P11",
        "main.py",
        '    scrubbers = [scrubber(settings.data_dir / "history"), ',
        "    scrubbers = [",
        (SURVIVORS + "test_p11_forget_takes_what_was_erased_out_of_the_history_and_the_logs",),
    ),
    Break(
        "text is shown as it came",
        "P17",
        "domain/text.py",
        "    return text.translate(_INERT)\n",
        "    return text\n",
        ("tests/test_text.py::test_hidden_and_controlling_characters_are_not_shown",),
    ),
    Break(
        "what was typed is stored as it came",
        "P17",
        "domain/text.py",
        ".translate(_CLEAN)\n",
        "\n",
        ("tests/test_text.py::test_what_no_store_can_take_is_cleaned_at_the_door",),
    ),
    Break(
        "a redirect to another port keeps the key",
        "P18",
        "models/client.py",
        "    same = (here.scheme, here.host, here.port) == (there.scheme, there.host, there.port)\n",
        "    same = (here.scheme, here.host) == (there.scheme, there.host)\n",
        (SURVIVORS + "test_p18_no_key_is_sent_to_another_port_of_the_same_host",),
    ),
    Break(
        "logs are not masked",
        "P18",
        "interfaces/debug_log.py",
        "        written = mask(super().format(record), self._secrets)\n",
        "        written = super().format(record)\n",
        ("tests/test_secrets.py::test_a_traceback_is_masked_too",),
    ),
    Break(
        "a partial reply is written while incognito",
        "incognito",
        "conversation.py",
        "        if self._unwritten is None:\n            self.memory.keep_partial(self.session.session_id, shown)\n",
        "        self.memory.keep_partial(self.session.session_id, shown)\n",
        (SURVIVORS + "test_nothing_of_a_reply_is_written_while_nothing_may_be_written",),
    ),
    Break(
        "a round is written while incognito",
        "incognito",
        "conversation.py",
        "            self._unwritten = _Unwritten() if on else None\n",
        "            self._unwritten = None\n",
        (SURVIVORS + "test_nothing_of_a_reply_is_written_while_nothing_may_be_written",),
    ),
)
