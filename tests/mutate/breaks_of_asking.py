"""The breaks of planned search, of its looks whether it is enough, of answers from memory, and of what a forget request names."""

from __future__ import annotations

from tests.mutate.breaks import Break

ASKING = "tests/test_asking.py::"
SHOWN = "tests/interfaces/terminal/test_answers_shown.py::"
FORGET_REQUESTS = "tests/language/test_forget_requests.py::"
HEARD = "tests/test_forget_requests_detected.py::"
HIDDEN = "tests/interfaces/terminal/test_hidden_shown.py::"
UNDO = "tests/test_undo_save.py::"
KNOWING = "tests/contract/test_knowing.py::"
JOB = "jobs/asking.py"

OF_ASKING: tuple[Break, ...] = (
    Break(
        "every question is planned",
        "planning",
        "recall/questions.py",
        "        return bool(found) or of_us\n",
        "        return True\n",
        (ASKING + "test_only_a_question_that_seeks_several_things_or_found_nothing_is_worth_a_plan",),
    ),
    Break(
        "a question that found nothing is not planned",
        "planning",
        "recall/questions.py",
        "    return not found and of_us and bool(_SEEKS.search(text)) and not _NO_FACT.search(text)\n",
        "    return False\n",
        (ASKING + "test_only_a_question_that_seeks_several_things_or_found_nothing_is_worth_a_plan",),
    ),
    Break(
        "planning that is off plans what is asked of memory",
        "planning",
        JOB,
        '        if worth and self._settings.recall_planning != "off":\n',
        "        if worth:\n",
        (ASKING + "test_planning_can_be_switched_off",),
    ),
    Break(
        "a plan is asked for while nothing is remembered",
        "planning",
        "conversation.py",
        "if planned and self.memory.sessions.counts()[1] > len(self.memory.messages.context(session_id)):\n",
        "if planned:\n",
        (ASKING + "test_nothing_is_planned_while_nothing_is_remembered",),
    ),
    Break(
        "a plan is asked for and not followed",
        "planning",
        JOB,
        "        queries = (search.question, *_drop_known(plan.queries, (search.question,)))\n",
        "        queries: tuple[str, ...] = (search.question,)\n",
        (ASKING + "test_all_queries_of_a_plan_take_one_call_of_the_embedder",),
    ),
    Break(
        "the queries of a plan follow one another instead of standing side by side",
        "planning",
        "recall/retriever.py",
        "replace(each, ranked=ranking.level(each.ranked)) if apart else each",
        "each",
        (ASKING + "test_the_best_of_each_query_counts_as_much_whatever_the_others_found",),
    ),
    Break(
        "a plan that fails ends the message",
        "planning",
        JOB,
        "        except (errors.ModelError, errors.Interrupted) as fault:\n            search.cancel.check()\n",
        "        except (errors.ModelError, errors.Interrupted) as fault:\n            raise\n",
        (ASKING + "test_a_call_that_fails_leaves_everything_as_if_there_were_no_plan",),
    ),
    Break(
        "a plan is waited for however long it takes",
        "planning",
        JOB,
        "        timer.start()\n        try:\n            yield hurried\n",
        "        try:\n            yield hurried\n",
        (ASKING + "test_a_call_that_takes_too_long_is_not_waited_for",),
    ),
    Break(
        "what a plan found is told without its steps",
        "planning",
        JOB,
        "            return replace(found, steps=tuple(steps_taken))\n",
        "            return found\n",
        (ASKING + "test_a_plan_finds_what_one_search_misses_and_tells_its_steps",),
    ),
    Break(
        "no look is taken whether it is enough",
        "reflection",
        JOB,
        "        for _ in range(self._settings.reflection_rounds if found and plan.needs else 0):\n",
        "        for _ in range(0):\n",
        (ASKING + "test_what_is_missing_is_asked_for_so_often_as_the_settings_say",),
    ),
    Break(
        "one look more is taken than the settings allow",
        "reflection",
        JOB,
        "        for _ in range(self._settings.reflection_rounds if found and plan.needs else 0):\n",
        "        for _ in range(self._settings.reflection_rounds + 1 if found and plan.needs else 0):\n",
        (
            ASKING + "test_what_is_missing_is_asked_for_so_often_as_the_settings_say",
            ASKING + "test_no_look_is_taken_where_none_is_allowed",
        ),
    ),
    Break(
        "what is missing is named and not searched for",
        "reflection",
        JOB,
        "            queries += reflected.queries\n            found = yield from self._search_all(queries, search, found)\n",
        "            queries += reflected.queries\n",
        (ASKING + "test_what_is_missing_is_asked_for_so_often_as_the_settings_say",),
    ),
    Break(
        "a look forgets what was searched for before",
        "reflection",
        JOB,
        "            queries += reflected.queries\n",
        "            queries = reflected.queries\n",
        (ASKING + "test_what_is_missing_is_asked_for_so_often_as_the_settings_say",),
    ),
    Break(
        "a look that names nothing new is followed by another",
        "reflection",
        JOB,
        "    return tuple(query for query in queries if query.casefold().strip() not in known)\n",
        "    return tuple(queries)\n",
        (ASKING + "test_a_look_that_names_nothing_new_is_the_last",),
    ),
    Break(
        "enough is not enough",
        "reflection",
        JOB,
        "            if not reflected.queries:\n                break\n",
        "",
        (ASKING + "test_a_plan_finds_what_one_search_misses_and_tells_its_steps",),
    ),
    Break(
        "a look that fails loses what was found",
        "reflection",
        JOB,
        "            if reflected is None:\n                break\n",
        "            if reflected is None:\n                return Recollection()\n",
        (ASKING + "test_a_look_that_fails_leaves_what_was_found_so_far",),
    ),
    Break(
        "a search that finds nothing loses what was found before",
        "reflection",
        JOB,
        "        found = found or before\n",
        "",
        (ASKING + "test_a_look_that_finds_nothing_leaves_what_was_found_before",),
    ),
    Break(
        "an answer is asked for where nothing was found",
        "answers",
        JOB,
        "        reply = (yield from self._write_answer(search, found)) if found else None\n",
        "        reply = yield from self._write_answer(search, found)\n",
        (ASKING + "test_with_nothing_remembered_or_nothing_found_no_model_is_asked_for_an_answer",),
    ),
    Break(
        "an answer that knows nothing counts as one that does",
        "answers",
        JOB,
        "        knows = reply is not None and (not unknown or bool(check_quotations(reply.text, found)))\n",
        "        knows = reply is not None\n",
        (ASKING + "test_an_answer_says_whether_it_knows",),
    ),
    Break(
        "what stands in the context cannot be asked for",
        "answers",
        JOB,
        "            besides_context=not search.apart,\n",
        "            besides_context=True,\n",
        (ASKING + "test_what_was_said_in_the_present_session_can_be_asked_for",),
    ),
    Break(
        "a quotation that was not handed over is called unfounded",
        "answers",
        "interfaces/terminal/commands/memory_view.py",
        "        whole=whole, said=lambda quotation: said_anywhere(context, quotation, here),\n",
        "        whole=whole, said=lambda quotation: False,\n",
        (SHOWN + "test_a_quotation_that_was_not_handed_over_is_looked_for_in_the_whole_memory",),
    ),
    Break(
        "a quotation that nobody said is let pass",
        "answers",
        "interfaces/terminal/commands/memory_view.py",
        "        whole=whole, said=lambda quotation: said_anywhere(context, quotation, here),\n",
        "        whole=whole, said=lambda quotation: True,\n",
        (SHOWN + "test_ask_prints_the_answer_alone_on_stdout",),
    ),
    Break(
        "a forget request hides the round before it whatever it names",
        "P22",
        "language/forget_requests.py",
        "    return tuple(sorted(going_on))\n",
        "    return before\n",
        (
            FORGET_REQUESTS
            + "test_a_forget_request_speaks_of_what_holds_its_matter_and_of_no_unrelated_round_before_it",
            HEARD + "test_a_forget_request_that_names_its_matter_hides_what_holds_it_and_leaves_the_round_before",
        ),
    ),
    Break(
        "a message that tells the matter itself takes the round before it along",
        "P22",
        "language/forget_requests.py",
        "    before = (len(said) - 1,) if said and request.alone and request.points else ()\n",
        "    before = (len(said) - 1,) if said and request.points else ()\n",
        ("tests/jobs/test_forgetting.py::test_a_message_that_tells_the_matter_itself_is_hidden_alone",),
    ),
    Break(
        "the next message does not wait for a model that reads a forget request",
        "P22",
        "jobs/scheduler.py",
        '_AWAITED: tuple[JobKind, ...] = ("forget_request", "compact")\n',
        '_AWAITED: tuple[JobKind, ...] = ("compact",)\n',
        ("tests/jobs/test_forgetting.py::test_the_next_message_waits_until_the_model_has_read_the_request",),
    ),
    Break(
        "an external memory retells what is hidden to whoever asks about something else",
        "P22",
        "recall/external.py",
        "[one for one in self._best_first(hits) if not hidden or not retells_hidden(one.text, hidden, question)]",
        "[one for one in self._best_first(hits) if not hidden or hidden]",
        ("tests/recall/test_external.py::test_what_retells_something_hidden_is_found_only_by_a_question_about_it",),
    ),
    Break(
        "an older persona brings back what is hidden",
        "P22",
        "storage/personas.py",
        '        return "\\n".join(line for line in version.text.split("\\n") if line.strip() not in gone)\n',
        "        return version.text\n",
        (
            "tests/test_hidden_everywhere.py::"
            "test_a_secret_that_was_summarised_noted_and_put_into_chapters_is_in_none_of_it_afterwards",
        ),
    ),
    Break(
        "a summary outlives what it was made from when that is hidden",
        "P22",
        "storage/rounds.py",
        (
            "                self._of.summaries.remove(tx, summary)\n"
            '                self._of.rebuilds.request(tx, "summary", summary.session_id, summary.timestamp)\n'
            "            for session_id in summarised"
        ),
        (
            '                self._of.rebuilds.request(tx, "summary", summary.session_id, summary.timestamp)\n'
            "            for session_id in summarised"
        ),
        (HEARD + "test_what_is_released_is_told_again_in_the_summary_and_the_chapter_that_were_made_without_it",),
    ),
    Break(
        "a title shows what is hidden",
        "P22",
        "interfaces/terminal/session_view.py",
        'next((message.words for message in said if not message.hidden), "")',
        'next((message.words for message in said), "")',
        (HIDDEN + "test_a_title_never_shows_what_is_hidden",),
    ),
    Break(
        "a save is taken back by the next run after a person decided about a fact",
        "undo",
        "storage/fact_log.py",
        "            self.saves.drop(tx)\n            self._settle_states(tx, {number, by or number})\n",
        "            self._settle_states(tx, {number, by or number})\n",
        (UNDO + "test_a_save_is_not_taken_back_by_the_next_run_when_something_else_was_done",),
    ),
    Break(
        "a decision is taken back and what was put in its place stays",
        "undo",
        "storage/fact_log.py",
        '                self._remove_numbered(tx, (), [row["by_fact"]] if row["by_fact"] else [], [row["seq"]])\n',
        '                self._remove_numbered(tx, (), [], [row["seq"]])\n',
        (KNOWING + "test_a_decision_that_is_taken_back_never_was",),
    ),
)
