"""The checker of transactions: exact ones pass, each damage is found as what it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.ledger.exactly_once import violations
from apps.ledger.history import Ending, History, Output, Read, Reader, Transaction, value_of
from apps.ledger.verdict import as_text, judge
from tests.unit.apps.ledger.ledger_draft import PARTITIONS, drafted

COMMITTED = ("output-live", "output-final-1", "output-final-2")
ALL = "output-uncommitted"
KINDS = {"output-live": "assign", ALL: "uncommitted"}
STEP = 0.1
"""Seconds of one transaction."""


@dataclass
class Made:
    """A history, and what transactions made of it, to be damaged before it is judged."""

    history: History
    transactions: list[Transaction]
    logs: dict[str, list[tuple[Read, float]]]
    """Reader -> what it reads of the output, and when."""
    not_done: set[str] = field(default_factory=set)
    done: bool = True

    def judged(self) -> History:
        readers = [
            Reader(
                name,
                KINDS.get(name, "final"),  # type: ignore[arg-type]  # one of the names of a kind
                [read for read, _ in rows],
                done=name not in self.not_done,
                moments=[moment for _, moment in rows],
            )
            for name, rows in self.logs.items()
        ]
        run = replace(self.history.run, topic="t-out")
        return replace(self.history, output=Output(run, self.transactions, readers, self.done))

    def ended(self, ending: Ending, rank: int = 0) -> Transaction:
        """A transaction, by its rank among those that ended so."""
        return [transaction for transaction in self.transactions if transaction.ending == ending][
            rank
        ]

    def place(self, transaction: Transaction) -> int:
        return self.transactions.index(transaction)

    def values(self, transaction: Transaction) -> list[str]:
        return transaction.values("r")


def made(random: Random, records: int = 240) -> Made:
    """Each input once, in transactions of which some are aborted and some end unknown."""
    history = drafted(random, records).history()
    inputs = [(read.partition, read.offset) for read in history.finals()[0].reads]
    draft = Made(history, [], {name: [] for name in (*COMMITTED, ALL)})
    ends = dict.fromkeys(range(PARTITIONS), 0)
    number, at = 0, 0
    while at < len(inputs):
        number += 1
        taken = inputs[at : at + random.randint(1, 6)]
        begun = number * STEP
        luck = random.random() if number > 2 else number * 0.5 - 0.4
        ending: Ending = "aborted" if luck < 0.2 else "unknown" if luck < 0.35 else "committed"
        visible = ending == "committed" or (ending == "unknown" and random.random() < 0.5)
        commit_begun = None if ending == "aborted" else begun + 0.05
        draft.transactions.append(Transaction(number, taken, ending, commit_begun))
        for partition in range(PARTITIONS):
            for value in draft.transactions[-1].values("r"):
                read = Read(partition, ends[partition], value)
                ends[partition] += 1
                draft.logs[ALL].append((read, begun + 1000))
                for name in COMMITTED if visible else ():
                    draft.logs[name].append((read, begun + 0.06))
            ends[partition] += 1  # the marker
        at += len(taken) if visible else 0
    return draft


@pytest.fixture
def draft() -> Made:
    return made(Random(5))


def test_exact_transactions_pass(draft: Made) -> None:
    report = judge(draft.judged())
    assert (report.state, list(report.violations), list(report.reasons)) == ("PASS", [], [])
    counts = report.counts
    assert min(counts["committed"], counts["aborted"], counts["unknown"]) > 3
    text = as_text(report)
    assert f"transactions: {counts['committed']} committed, {counts['aborted']} aborted, " in text
    assert "each transaction" in text
    plain = as_text(judge(draft.history))
    assert "(I10)" not in plain
    assert "transactions:" not in plain


def show(draft: Made, name: str, transaction: Transaction, *, partitions: int = PARTITIONS) -> None:
    """Let a reader of what is committed get what it must not."""
    values = set(draft.values(transaction))
    for read, _ in draft.logs[ALL]:
        if read.value in values and read.partition < partitions:
            draft.logs[name].append((read, 5000.0))


def hide(draft: Made, name: str, value: str, partition: int | None = None) -> None:
    draft.logs[name] = [
        (read, moment)
        for read, moment in draft.logs[name]
        if read.value != value or partition not in (None, read.partition)
    ]


def unseen_unknown(draft: Made) -> Transaction:
    seen = {read.value for read, _ in draft.logs["output-final-1"]}
    return next(
        transaction
        for transaction in draft.transactions
        if transaction.ending == "unknown" and not seen & set(draft.values(transaction))
    )


def lose_a_committed_one(draft: Made) -> None:
    for name in COMMITTED:
        for value in draft.values(draft.ended("committed", 3)):
            hide(draft, name, value)


def tear_a_committed_one(draft: Made) -> None:
    """It is there in all partitions but one, for one reader."""
    value = draft.values(draft.ended("committed", 3))[0]
    hide(draft, "output-final-2", value, partition=1)


def tear_for_the_live_reader(draft: Made) -> None:
    hide(draft, "output-live", draft.values(draft.ended("committed", 3))[0], partition=1)


def tear_an_unknown_one(draft: Made) -> None:
    show(draft, "output-final-1", unseen_unknown(draft), partitions=1)


def show_an_aborted_one(draft: Made) -> None:
    show(draft, "output-live", draft.ended("aborted", 1))


def show_a_part_of_an_aborted_one(draft: Made) -> None:
    show(draft, "output-final-2", draft.ended("aborted", 1), partitions=1)


def make_twice(draft: Made) -> None:
    """A second transaction of the same input, as if the first had not committed its offsets."""
    old = draft.ended("committed", 3)
    again = replace(old, number=900)
    draft.transactions.append(again)
    for rows in draft.logs.values():
        for partition in range(PARTITIONS):
            for rank, value in enumerate(draft.values(again)):
                rows.append((Read(partition, 9000 + rank, value), 5000.0))


def append_twice(draft: Made) -> None:
    """The same record at two offsets, as if its batch had been sent twice."""
    value = draft.values(draft.ended("committed", 3))[0]
    for rows in draft.logs.values():
        rows.append((Read(0, 9000, value), 5000.0))


def forget_an_input(draft: Made) -> None:
    """Its offset was committed, and nothing made of it."""
    old = draft.ended("committed", 3)
    gone = draft.values(old)[-1]
    draft.transactions[draft.place(old)] = replace(old, inputs=old.inputs[:-1])
    for name in draft.logs:
        hide(draft, name, gone)


def make_of_nothing(draft: Made) -> None:
    """Of an input that no other reader got, although its offset is below the end."""
    gone = draft.history.finals()[0].reads[7]
    finals = [
        replace(r, reads=[read for read in r.reads if read != gone]) if r.kind == "final" else r
        for r in draft.history.readers
    ]
    draft.history = replace(draft.history, readers=finals)


def read_a_stranger(draft: Made) -> None:
    for rows in draft.logs.values():
        rows.append((Read(0, 9000, "another program's"), 5000.0))


def read_too_early(draft: Made) -> None:
    transaction = draft.ended("committed", 3)
    assert transaction.asked is not None
    value = draft.values(transaction)[0]
    draft.logs["output-live"] = [
        (read, transaction.asked - 0.001 if read.value == value else moment)
        for read, moment in draft.logs["output-live"]
    ]


def read_another_value(draft: Made) -> None:
    """Two records of one transaction, each in the other's place, for one reader."""
    transaction = next(
        candidate
        for candidate in draft.transactions
        if candidate.ending == "committed" and len(candidate.inputs) > 1
    )
    first, second = draft.values(transaction)[:2]
    swapped = {first: second, second: first}
    draft.logs["output-final-2"] = [
        (read._replace(value=swapped.get(read.value, read.value)), moment)
        for read, moment in draft.logs["output-final-2"]
    ]


MUTATIONS: list[tuple[Callable[[Made], None], set[str]]] = [
    (lose_a_committed_one, {"not all or nothing", "not once"}),
    (tear_a_committed_one, {"not all or nothing", "not once"}),
    (tear_for_the_live_reader, {"not all or nothing"}),
    # What is there of it was made again by the next one.
    (tear_an_unknown_one, {"not all or nothing", "not once"}),
    (show_an_aborted_one, {"aborted"}),
    (show_a_part_of_an_aborted_one, {"aborted", "not once"}),
    (make_twice, {"not once"}),
    (append_twice, {"not once"}),
    (forget_an_input, {"not once"}),
    (make_of_nothing, {"not once"}),
    (read_a_stranger, {"from nowhere"}),
    (read_too_early, {"too early"}),
    (read_another_value, {"not one value"}),
]
SAYS = {
    "records of transaction": "not all or nothing",
    ", aborted": "aborted",
    "records of input": "not once",
    "what no transaction wrote": "from nowhere",
    "s before its commit": "too early",
    "holds": "not one value",
}


def reported(history: History) -> set[str]:
    problems = violations(history)
    assert {violation.invariant for violation in problems} <= {"I10"}
    return {
        next(kind for text, kind in SAYS.items() if text in violation.what)
        for violation in problems
    }


@pytest.mark.parametrize(
    ("damage", "expected"), MUTATIONS, ids=lambda value: getattr(value, "__name__", "")
)
def test_each_damage_breaks_its_statement(
    draft: Made, damage: Callable[[Made], None], expected: set[str]
) -> None:
    damage(draft)
    history = draft.judged()
    assert reported(history) == expected
    assert judge(history).state == "FAIL"


def test_every_statement_is_broken_by_some_damage() -> None:
    assert {name for _, names in MUTATIONS for name in names} == set(SAYS.values())


def test_what_the_log_holds_uncommitted_breaks_nothing(draft: Made) -> None:
    """Aborted records lie in the log for ever; whoever reads it as it is gets them at any time."""
    aborted = {
        value for t in draft.transactions if t.ending == "aborted" for value in draft.values(t)
    }
    assert aborted & {read.value for read, _ in draft.logs[ALL]}
    draft.logs[ALL] = [(read, 0.0) for read, _ in draft.logs[ALL]]
    assert not violations(draft.judged())


@pytest.mark.parametrize("behind", [0, 3])
def test_inputs_after_the_end_belong_to_no_transaction(draft: Made, behind: int) -> None:
    """A record that came in after the end was asked for may be worked off or not."""
    number = draft.history.finals()[0].ends[0] + behind  # type: ignore[index]  # it has read to an end
    late = Transaction(900, [(0, number)], "committed", 4000.0)
    draft.transactions.append(late)
    for rows in draft.logs.values():
        rows += [(Read(p, 9000, draft.values(late)[0]), 5000.0) for p in range(PARTITIONS)]
    assert not violations(draft.judged())


# What proves nothing


def cut_short(draft: Made) -> None:
    """The worker ended in the middle, at its deadline; the rest of the input is not due."""
    last = next(
        transaction
        for transaction in draft.transactions
        if transaction.ending == "committed" and transaction.number > 20
    )
    gone = {
        value for t in draft.transactions if t.number > last.number for value in draft.values(t)
    }
    draft.transactions = draft.transactions[: draft.place(last) + 1]
    for name in draft.logs:
        draft.logs[name] = [row for row in draft.logs[name] if row[0].value not in gone]
    draft.done = False


def stop_a_reader(draft: Made) -> None:
    draft.logs["output-final-2"] = draft.logs["output-final-2"][: len(draft.logs[ALL]) // 4]
    draft.not_done = {"output-final-2"}


def without_a_reader(draft: Made) -> None:
    del draft.logs["output-final-2"]


def nothing_live(draft: Made) -> None:
    draft.logs["output-live"] = []
    draft.not_done = {"output-live"}


def without_aborts(draft: Made) -> None:
    aborted = {
        value for t in draft.transactions if t.ending == "aborted" for value in draft.values(t)
    }
    draft.logs[ALL] = [row for row in draft.logs[ALL] if row[0].value not in aborted]


def nothing_at_all(draft: Made) -> None:
    draft.transactions, draft.done = [], False
    draft.logs = {name: [] for name in draft.logs}


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (cut_short, "the transactions did not reach the end of their input"),
        (stop_a_reader, "output: output-final-2 did not read to the end"),
        (without_a_reader, "output: 1 readers of kind final, 2 needed"),
        (nothing_live, "output: output-live read nothing"),
        (without_aborts, "no aborted record was seen in the output's log"),
        (nothing_at_all, "no transaction was committed"),
    ],
)
def test_what_proves_nothing_is_unknown(
    draft: Made, damage: Callable[[Made], None], reason: str
) -> None:
    damage(draft)
    report = judge(draft.judged())
    assert (report.state, list(report.violations)) == ("UNKNOWN", [])
    assert reason in report.reasons


# Any transactions


def any_made() -> st.SearchStrategy[Made]:
    # Seeds: drawn numbers shrink towards a run in which everything is aborted for ever.
    return st.builds(made, st.integers(0, 10_000).map(Random), st.integers(12, 60))


@given(any_made())
def test_any_exact_transactions_pass(draft: Made) -> None:
    assert violations(draft.judged()) == []


@given(any_made(), st.data())
def test_any_record_that_a_reader_lacks_is_found(draft: Made, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(COMMITTED))
    lost, _ = data.draw(st.sampled_from(draft.logs[name]))
    hide(draft, name, lost.value, lost.partition)
    assert violations(draft.judged())


@given(any_made(), st.data())
def test_any_aborted_record_that_is_read_is_found(draft: Made, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(COMMITTED))
    aborted = {
        value for t in draft.transactions if t.ending == "aborted" for value in draft.values(t)
    }
    rows = [row for row in draft.logs[ALL] if row[0].value in aborted]
    draft.logs[name].append(data.draw(st.sampled_from(rows)))
    assert "aborted" in reported(draft.judged())


def test_a_transaction_names_its_records() -> None:
    assert Transaction(7, [(1, 5)]).values("r") == [value_of("r", "t7", 1, 5)] == ["r/t7/1/5"]


@pytest.mark.parametrize("name", ["output-live", ALL])
def test_without_a_reader_of_each_kind_nothing_is_proven(draft: Made, name: str) -> None:
    del draft.logs[name]
    report = judge(draft.judged())
    assert any(KINDS[name] in reason for reason in report.reasons), report.reasons


# At the edges


def texts(draft: Made) -> list[str]:
    return [violation.what for violation in violations(draft.judged())]


def forget(draft: Made, transaction: Transaction, readers: Iterable[str]) -> None:
    """Let readers get nothing of a transaction."""
    gone = {*draft.values(transaction)}
    for name in readers:
        draft.logs[name] = [row for row in draft.logs[name] if row[0].value not in gone]


def test_an_input_that_was_left_out_is_found_though_the_worker_was_cut_short(draft: Made) -> None:
    cut_short(draft)
    left_out = draft.ended("committed")
    forget(draft, left_out, [*draft.logs])
    draft.transactions.remove(left_out)
    assert reported(draft.judged()) == {"not once"}
    places = [f" {partition}:{offset} " for partition, offset in left_out.inputs]
    assert all(any(place in text for text in texts(draft)) for place in places)


def test_the_last_committed_input_is_due_though_the_worker_was_cut_short(draft: Made) -> None:
    cut_short(draft)
    last = draft.transactions[-1]
    forget(draft, last, ["output-final-1"])
    problems = [text for text in texts(draft) if "records of input" in text]
    assert all(
        any(f" {partition}:{offset} " in text for text in problems)
        for partition, offset in last.inputs
    )


def test_a_reader_that_did_not_finish_hides_no_damage_of_the_next(draft: Made) -> None:
    draft.not_done = {"output-live"}
    lost = draft.ended("committed", 3)
    hide(draft, "output-final-2", draft.values(lost)[-1])
    problems = violations(draft.judged())
    assert draft.values(lost)[0] in {value for violation in problems for value in violation.records}
    assert "not all or nothing" in reported(draft.judged())


def test_what_was_read_at_its_commit_is_not_too_early_and_what_was_before_says_by_how_much(
    draft: Made,
) -> None:
    transaction = draft.ended("committed")
    commit_begun = transaction.asked
    assert commit_begun is not None
    values = {*draft.values(transaction)}
    for moment, expected in ((commit_begun, []), (commit_begun - 0.25, ["0.250000"])):
        draft.logs["output-live"] = [
            (read, moment if read.value in values else at) for read, at in draft.logs["output-live"]
        ]
        early = {text.rpartition(" s ")[0].rpartition(" ")[2] for text in texts(draft)}
        assert sorted(early) == expected


def test_a_reader_whose_moments_were_not_recorded_is_never_too_early(draft: Made) -> None:
    history = draft.judged()
    assert history.output
    readers = [replace(reader, moments=()) for reader in history.output.readers]
    without = replace(history, output=replace(history.output, readers=readers))
    assert violations(without) == []
