"""The breaks of what is known: notes, facts, and what the lines of the personas rest on."""

from __future__ import annotations

from tests.mutate.breaks import Break

KNOWING = "tests/contract/test_knowing.py::"
LINES = "tests/contract/test_lines.py::"
ERASED = "tests/test_known_erased.py::"
TREE = "tests/contract/test_tree.py::"
NAMES = "tests/contract/test_corrected_names.py::"
SHOWN = "tests/contract/test_shown_texts.py::"
NAMING = "tests/language/test_naming.py::"
REFUTED = "tests/facts/test_refuting.py::"
SPANS = "tests/facts/test_spans.py::"
KILLS = "tests/test_knowing_kills.py::"
VERIFIED = "tests/jobs/test_verification.py::"

OF_KNOWING: tuple[Break, ...] = (
    Break(
        "whatever the model answers, a fact is verified",
        "P23",
        "facts/believing.py",
        'Basis = "verified" if answer == "yes" and may_be_verified(fact) else "quoted"',
        'Basis = "verified"',
        (VERIFIED + "test_what_is_not_answered_with_yes_is_quoted_and_costs_its_neighbours_nothing",),
    ),
    Break(
        "what a person called wrong is learned again from the same words",
        "P23",
        "facts/believing.py",
        " and fact.said <= rejected_at[one.text_id]",
        " and False",
        (VERIFIED + "test_what_a_person_called_wrong_comes_back_only_by_new_words",),
    ),
    Break(
        "a quoted fact is found by its unverified statement",
        "P23",
        "storage/fact_log.py",
        "    if not fact.verified:\n        return fact.believed\n",
        "",
        (KNOWING + "test_a_quoted_fact_is_found_by_its_words_alone_until_it_is_verified",),
    ),
    Break(
        "a quotation in a summary is shown under another name than was said",
        "P23",
        "storage/shown.py",
        ", apart=_quotations(text))",
        ")",
        (SHOWN + "test_what_the_program_wrote_is_shown_under_a_name_that_was_corrected_later_but_for_quotations",),
    ),
    Break(
        "a name is put right inside another word of Chinese",
        "P23",
        "language/naming.py",
        " and not before.endswith(_ZH_BEFORE)",
        " and False",
        (NAMING + "test_a_name_is_found_where_it_is_certainly_one",),
    ),
    Break(
        "a word that is also a name is put right where a sentence begins",
        "P23",
        "language/naming.py",
        "    if _SENTENCE_BEGINS.search(before):\n",
        "    if False:\n",
        (NAMING + "test_a_name_is_found_where_it_is_certainly_one",),
    ),
    Break(
        "a name is put right in that of another person that begins with it",
        "P23",
        "storage/facts.py",
        "if not is_other and not any(",
        "if not any(",
        (SHOWN + "test_a_longer_name_of_somebody_known_is_another_name",),
    ),
    Break(
        "each persona reads the corrected names again",
        "P23",
        "storage/shown.py",
        "self._draft(found, self.personas.pins(one), names) if names and found.lines else found",
        "self.draft(found, self.personas.pins(one))",
        (SHOWN + "test_a_prompt_reads_the_corrected_names_once",),
    ),
    Break(
        "a summary of somebody who has the name that was wrong is shown under the other's",
        "P23",
        "storage/shown.py",
        "[one for one in names if written <= one.said]",
        "names",
        (SHOWN + "test_what_was_written_after_the_correction_may_be_about_somebody_of_that_name",),
    ),
    Break(
        "a line that a person pinned is shown in other words",
        "P7",
        "storage/shown.py",
        " or before.line.strip() in fixed",
        "",
        (SHOWN + "test_a_line_that_a_person_wrote_or_pinned_is_shown_as_it_is",),
    ),
    Break(
        "what was told under a wrong name is not found by it any more, and so not forgotten",
        "P10",
        "domain/facts.py",
        "            self.first_statement,\n",
        "",
        (NAMES + "test_what_was_called_by_a_wrong_name_is_found_by_it_so_that_it_can_be_forgotten",),
    ),
    Break(
        "a window is marked as read in a commit of its own",
        "P2",
        "storage/fact_log.py",
        (
            "            self.windows.mark_read(tx, learned.window, learned.rejected, now)\n"
            "            self._settle_states(tx, {*facts.values(), *changed})\n"
            "            self._index_renamed(tx, names)\n"
            "        return True\n"
        ),
        (
            "            self._settle_states(tx, {*facts.values(), *changed})\n"
            "            self._index_renamed(tx, names)\n"
            "        with self.facts.database.write() as tx:\n"
            "            self.windows.mark_read(tx, learned.window, learned.rejected, now)\n"
            "        return True\n"
        ),
        (KILLS + "test_a_kill_leaves_all_of_it_or_nothing",),
    ),
    Break(
        "a window is learned twice",
        "P21",
        "storage/fact_log.py",
        "        return there if whole and ours and not self.database.run(query, list(window.messages)) else None\n",
        "        return there if whole and ours else None\n",
        (KNOWING + "test_a_window_that_is_learned_twice_changes_nothing",),
    ),
    Break(
        "a window is learned though one of its messages is gone",
        "P20",
        "storage/fact_log.py",
        "        whole = bool(window.messages) and len(there) == len(named)\n",
        "        whole = bool(window.messages)\n",
        (KNOWING + "test_a_window_whose_messages_are_not_as_they_were_read_is_not_learned",),
    ),
    Break(
        "what names a message of elsewhere is stored",
        "P20",
        "storage/fact_log.py",
        "    return [messages[name] for name in names] if all(name in messages for name in names) else []\n",
        "    return [messages[name] for name in names if name in messages]\n",
        (KNOWING + "test_what_names_no_message_or_a_message_of_elsewhere_is_not_stored",),
    ),
    Break(
        "what a fact did to others outlives it",
        "P20",
        "storage/fact_log.py",
        "        self._settle_states(tx, touched, slots)\n",
        "",
        (KNOWING + "test_what_rests_on_a_message_goes_with_it_and_what_it_did_to_others_is_taken_back",),
    ),
    Break(
        "a reply that was kept outlives the messages it was made from",
        "P20",
        "storage/fact_log.py",
        "        self.windows.drop_replies(tx)\n",
        "",
        (
            KNOWING + "test_what_rests_on_a_message_goes_with_it_and_what_it_did_to_others_is_taken_back",
            ERASED + "test_with_a_message_goes_all_that_was_drawn_from_it_out_of_every_file",
        ),
    ),
    Break(
        "a model changes what a person put right",
        "P7",
        "storage/fact_log.py",
        '            if row["decided"] != "hand"\n',
        "",
        (
            KNOWING + "test_what_a_person_put_in_its_place_wins_for_good",
            KNOWING + "test_what_a_person_called_wrong_never_was_and_no_model_changes_that",
        ),
    ),
    Break(
        "a value that was said later gives way to one of before",
        "P13",
        "domain/fact_states.py",
        "        return by_hand, 0.0 if by_hand else _as_instant(_last_said(state)), one.number\n",
        "        return by_hand, 0.0, one.number\n",
        (KNOWING + "test_one_value_is_current_in_a_single_slot_whatever_the_order_of_arrival",),
    ),
    Break(
        "a persona outlives what it rests on when that is hidden",
        "P22",
        "storage/personas.py",
        "persona: self.versions.newest(persona) for persona, gone in lines.items() if gone",
        "persona: self.versions.newest(persona) for persona, gone in lines.items() if not gone",
        (ERASED + "test_lines_that_rest_on_what_is_hidden_or_cleared_leave_the_persona_and_an_edit_by_hand_stays",),
    ),
    Break(
        "a line in other words outlives the message it rests on",
        "P20",
        "storage/erasure.py",
        "                rests[one.line].update(one.messages)\n",
        "                pass\n",
        (ERASED + "test_with_a_message_goes_all_that_was_drawn_from_it_out_of_every_file",),
    ),
    Break(
        "what is known is no part of the proof",
        "P11",
        "domain/records.py",
        "        written = [*self.lines, *self.pins, *self.file_names, *self._known_texts()]\n",
        "        written = [*self.lines, *self.pins, *self.file_names]\n",
        (ERASED + "test_with_a_message_goes_all_that_was_drawn_from_it_out_of_every_file",),
    ),
    Break(
        "a save that is taken back leaves what its lines rested on",
        "P5",
        "storage/personas.py",
        "        self._write_evidence(tx, restored, changed)\n",
        "",
        (LINES + "test_a_save_that_is_taken_back_leaves_everything_as_it_was",),
    ),
    Break(
        "a save is taken back over what was said since",
        "P10",
        "storage/messages.py",
        "        rows = self._database.run(query, session_id, self._messages.highest_number())\n",
        '        rows = self._database.run(query.replace(" AND last_message = ?", ""), session_id)\n',
        (LINES + "test_a_save_is_not_taken_back_when_anything_was_said_or_went_since",),
    ),
    Break(
        "what a save that was given up had read goes with the next one",
        "P5",
        "storage/rounds.py",
        '        tx.do("UPDATE read_window SET saving = 0 WHERE session_id = ? AND saving = 1", session_id)\n',
        "        pass\n",
        (LINES + "test_what_a_save_that_was_given_up_had_read_stays_read_when_the_next_one_is_taken_back",),
    ),
    Break(
        "a chapter outlives the wording of a summary that it was made from",
        "P20",
        "storage/rounds.py",
        "            self._of.chapters.void_above(tx, sessions=[session_id])\n",
        "",
        (TREE + "test_other_words_for_a_summary_and_a_save_taken_back_ask_for_the_chapter_anew",),
    ),
    Break(
        "a chapter outlives a save that is taken back",
        "P20",
        "storage/messages.py",
        "            self._chapters.void_above(tx, sessions=[summary.session_id])\n",
        "",
        (TREE + "test_other_words_for_a_summary_and_a_save_taken_back_ask_for_the_chapter_anew",),
    ),
    Break(
        "a chapter is stored of what changed while it was written",
        "P21",
        "storage/chapters.py",
        " or not as_read:\n",
        ":\n",
        (TREE + "test_what_changed_since_it_was_read_is_not_put_into_a_chapter",),
    ),
    Break(
        "what was pasted counts as said",
        "P23",
        "facts/evidence.py",
        "        self.text = own_words(message.words if self.spoken_by_person else outside_quotations(message.words))\n",
        "        self.text = message.words\n",
        ("tests/facts/test_checking.py::test_an_old_memory_that_is_quoted_is_no_evidence",),
    ),
    Break(
        "what is quoted of a pasted text counts as said",
        "P23",
        "facts/checking.py",
        '            return "quoted text"\n',
        "            pass\n",
        (SPANS + "test_a_fact_that_quotes_a_pasted_text_is_not_borne_out_by_the_words_beside_it",),
    ),
    Break(
        "a quotation leaves out the question it answers",
        "P23",
        "facts/spans.py",
        "            bounds[before] = question\n",
        "            pass\n",
        (SPANS + "test_words_are_shown_with_what_governs_them",),
    ),
    Break(
        "a quotation leaves out the dream it is part of",
        "P23",
        "facts/spans.py",
        "        first -= 1\n",
        "        break\n",
        (SPANS + "test_words_are_shown_with_what_governs_them",),
    ),
    Break(
        "a wrong figure of a model costs the fact",
        "P23",
        "facts/figures.py",
        '            return corrected, ""\n',
        "            return text, wrong\n",
        (REFUTED + "test_a_figure_is_the_one_that_was_said_whatever_a_model_wrote",),
    ),
    Break(
        "what was only asked and answered with no is believed",
        "P23",
        "facts/evidence.py",
        "        return all(numbers.isdisjoint(forms) for forms in asserted_numbers(statement))\n",
        "        return False\n",
        (REFUTED + "test_what_was_only_asked_is_not_said_by_a_no",),
    ),
    Break(
        "a dream is told as it is",
        "P23",
        "facts/refuting.py",
        '        return "story"\n',
        '        return ""\n',
        (REFUTED + "test_an_english_sentence_that_does_not_say_it",),
    ),
    Break(
        "what is said of another is believed of the person",
        "P23",
        "facts/refuting.py",
        '    return "subject" if alone else ""\n',
        '    return ""\n',
        (REFUTED + "test_an_english_sentence_that_does_not_say_it",),
    ),
    Break(
        "any time of day supports any other",
        "P23",
        "facts/figures.py",
        '        return "time"\n',
        '        return ""\n',
        (REFUTED + "test_a_time_of_day_is_one_that_was_said",),
    ),
)
