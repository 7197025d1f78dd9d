"""The turns of a conversation -> the turns that go along to another program, with a note for each thing that does not.

A part keeps its block only if the model that the program goes on with can read it (`catalog/home.py`), or for a turn of the user if the source is a
session of the same program. Every other part is written anew, so no seal of another provider can be in the new file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeAlias

from innervoice.canon.messages import Message, tool_result
from innervoice.canon.notes import Note, Notebook
from innervoice.canon.parts import Media, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from innervoice.canon.target import Target
from innervoice.catalog.home import is_home
from innervoice.catalog.lookup import dialect_at, host_of
from innervoice.catalog.targets import split_id
from innervoice.errors import UsageError
from innervoice.memory.envelopes import is_envelope
from innervoice.planning.compactions import compaction_of, readable_compaction, summary_message
from innervoice.planning.pairs import at_calls, late_results, pairs_of
from innervoice.planning.parts import labelled_text, text_refusal
from innervoice.planning.turns import UNANSWERED, with_taken_ids
from innervoice.sources.conversation import UNSENT, Conversation, Turn
from innervoice.sources.injected import is_injected
from innervoice.sources.native_turns import UNSEALED, Author, author_of, seals_of
from innervoice.sources.writers.writer import CarriedTurn, SessionWriter
from innervoice.wire.dialects import dialect_named
from innervoice.wire.free_form import as_function_call, is_free_form
from innervoice.wire.media import kind_of, way_of

__all__ = ["COUNTS", "Fitting", "Thoughts", "author_of_turn"]

Thoughts: TypeAlias = Literal["keep", "text", "none"]
"""What happens to reasoning without a seal: the form that the program has for it, a labelled text, or nothing. With "none" sealed reasoning stays as well."""
COUNTS = ("questions", "answers", "calls", "results", "thoughts", "seals", "seals_left")


class Fitting:
    """Fits the turns of one conversation; `notes` and `counts` say what went along and what did not."""

    def __init__(
        self, writer: SessionWriter, target: Target, thoughts: Thoughts, *, source: str
    ) -> None:
        self._writer, self._target, self._thoughts = writer, target, thoughts
        self._is_same = source == writer.kind
        self._dialect = dialect_named(target.dialect)
        self._notebook = Notebook()
        self._left = 0
        self._item: str | None = None
        """The last item of reasoning that goes along."""
        if thoughts == "text" and (refusal := text_refusal(target.model)):
            raise UsageError(f"reasoning as text to {target.model}: {refusal}")

    @property
    def notes(self) -> tuple[Note, ...]:
        """What stays in the source, or is changed."""
        return self._notebook.notes()

    def counts(self, turns: Iterable[CarriedTurn]) -> dict[str, int]:
        """How much goes along, and how many seals do not."""
        counts: Counter[str] = Counter(seals_left=self._left)
        for turn in turns:
            role = turn.message.role
            parts = turn.message.parts
            says = any(isinstance(part, (Text, Media)) for part in parts)
            counts["questions"] += role == "user" and says
            counts["answers"] += role == "assistant" and says
            counts["calls"] += sum(isinstance(part, ToolCall) for part in parts)
            counts["results"] += sum(isinstance(part, ToolResult) for part in parts)
            counts["thoughts"] += sum(isinstance(part, Thinking) for part in parts)
            counts["seals"] += sum(seals_of(part) != UNSEALED for part in parts)
        return {name: counts[name] for name in COUNTS}

    def turns(self, conversation: Conversation, at: float) -> tuple[CarriedTurn, ...]:
        """The turns; those without a time get the time of the one before, or `at`."""
        carried: list[CarriedTurn] = []
        for turn in self._chosen(conversation):
            author = author_of_turn(turn, as_named=self._is_same)
            message = self._fitted(_as_user(turn), author)
            if not message.parts:
                continue
            at = turn.at or (carried[-1].at if carried else at)
            carried.append(CarriedTurn(message, at, author))
        return self._paired(carried)

    # ---- turns ---------------------------------------------------------------------------------------

    def _chosen(self, conversation: Conversation) -> list[Turn]:
        """The turns that the next request of the source would contain, without what its program wrote."""
        turns = conversation.sent
        if any(self._is_unreadable(part) for turn in turns for part in turn.message.parts):
            self._notebook.add("compaction_left")
            lines = {turn.line for turn in conversation.turns if "compaction" in turn.marks}
            turns = tuple(
                turn
                for turn in conversation.turns
                if not UNSENT & {*turn.marks} and (turn.line is None or turn.line not in lines)
            )
        else:
            before = sum(not UNSENT & {*turn.marks} for turn in conversation.turns) - len(turns)
            self._leave("before the last compaction", before)
        for turn in conversation.turns:
            for mark in UNSENT & {*turn.marks}:
                self._leave(mark.replace("_", " "))
        summaries = {turn.line for turn in turns if "compaction" in turn.marks} - {None}
        return [turn for turn in turns if not self._is_programs(turn, summaries)]

    def _is_unreadable(self, part: Part) -> bool:
        block = compaction_of(part)
        is_ours = self._is_same and self._keeps(part)
        return block is not None and not is_ours and readable_compaction(block) is None

    def _is_programs(self, turn: Turn, summaries: set[int | None]) -> bool:
        """Whether the source's program wrote the turn, for itself: the new one writes its own."""
        if turn.message.role == "system":
            self._leave("system prompt")
            return True
        if self._is_same or "injected" not in turn.marks or turn.line in summaries:
            return False
        self._leave("written by the program")
        return True

    def _leave(self, what: str, count: int = 1) -> None:
        if count:
            self._notebook.add("turn_left", what, count)

    # ---- parts ---------------------------------------------------------------------------------------

    def _fitted(self, message: Message, author: Author) -> Message:
        parts: list[Part] = []
        for part in message.parts:
            is_answer = message.role == "assistant"
            fitted = self._of_model(part, author) if is_answer else self._of_others(part)
            if fitted is not None:
                parts.append(fitted)
        return message.replace(
            parts=tuple(parts), origin=message.origin if self._is_same else None, effort=None
        )

    def _keeps(self, part: Part) -> bool:
        """Whether a part keeps its block: its model is at home at the target, and the source says who that was.

        What the gateway sealed goes along to the same program alone, which goes on through the gateway.
        """
        origin, seals = part.origin, seals_of(part)
        if any(isinstance(seal, str) and is_envelope(seal) for seal in seals):
            return self._is_same
        if origin is None or not is_home(origin, self._target):
            return False
        is_known = bool(origin.provider or origin.model)
        if self._writer.home and origin.dialect != dialect_at_home(self._writer):
            return False
        # Without a seal there is nothing in a block of another program that the part does not say.
        is_needed = seals != UNSEALED or origin.item is not None
        return self._is_same or (is_known and is_needed)

    def _of_model(self, part: Part, author: Author) -> Part | None:
        keeps = self._keeps(part)
        if isinstance(part, Thinking):
            return self._thought(part, author, keeps=keeps)
        if not keeps:
            self._leave_seal(part)
        match part:
            case ToolCall() if not part.complete:
                self._notebook.add("call_omitted", part.name)
                return None
            case ToolCall() if is_free_form(part) and not keeps:
                return as_function_call(part)
            case Media() if not (self._dialect.files_in_turns and self._writer.files_in_answers):
                return self._without_place(part)
            case Opaque() if not keeps:
                return self._opaque(part)
        is_blank = isinstance(part, Text) and not part.text.strip()
        return part if keeps else None if is_blank else part.replace(origin=None)

    def _leave_seal(self, part: Part) -> None:
        if part.origin is not None and part.origin.seals:
            self._left += 1
            self._notebook.add("seal_left", _maker(part))

    def _thought(self, part: Thinking, author: Author, *, keeps: bool) -> Part | None:
        """Sealed reasoning that the target can read as it is; any other in the form that was asked for."""
        if keeps and part.complete and self._is_whole(part) and self._thoughts != "none":
            self._item = part.origin.item if part.origin else None
            model = part.origin.model if part.origin else None
            if not self._writer.mixes_models and model not in (None, self._target.model):
                self._notebook.add(self._writer.unsent, self._writer.program)
            return part
        self._leave_seal(part)
        if self._thoughts == "none" or not part.text.strip():
            why = "requested" if self._thoughts == "none" else "hidden"
            self._notebook.add("thinking_left", why)
            return None
        if self._thoughts == "text":
            self._notebook.add("thinking_as_text")
            return labelled_text(part)
        is_own = (author.provider, author.model) == (self._target.provider, self._target.model)
        notes = self._writer.own_unsealed if is_own else {}
        if code := notes.get(self._target.dialect, self._writer.unsent):
            self._notebook.add(code, self._writer.program)
        return part.replace(origin=None, complete=True)

    def _is_whole(self, part: Thinking) -> bool:
        """Whether the provider needs nothing but the block: an id alone refers to what it stores for another program.

        Several summaries may be one item, whose block only the first of them has.
        """
        seals = seals_of(part)
        item = part.origin.item if part.origin else None
        if item is not None and item == self._item:
            return True
        return bool(seals.signature or seals.encrypted or seals.redacted)

    def _of_others(self, part: Part) -> Part | None:
        """A part of the user or of a tool."""
        if self._is_same:
            return part
        match part:
            case Text() if is_injected(part.text):
                self._leave("written by the program")
                return None
            case Media():
                return self._file(part)
            case Opaque():
                return self._opaque(part)
            case ToolResult():
                return self._result(part)
        return part.replace(origin=None)

    def _result(self, part: ToolResult) -> ToolResult:
        if part.error and not self._writer.flags_errors:
            self._notebook.add("error_flag_dropped")
        if isinstance(part.content, str):
            return part.replace(origin=None)
        writer = self._writer
        takes_files = writer.files_in_results and (writer.files_in_failures or not part.error)
        content: list[Any] = []
        for inner in part.content:
            if isinstance(inner, Media) and not takes_files:
                self._without_place(inner)
            elif (fitted := self._of_others(inner)) is not None:
                content.append(fitted)
        if all(isinstance(inner, Text) for inner in content):
            words = "\n".join(inner.text for inner in content)
            return part.replace(content=words, origin=None)
        return part.replace(content=tuple(content), origin=None)

    def _file(self, part: Media) -> Part | None:
        kind, way = kind_of(part), way_of(part)
        accepted = [self._dialect.files.ACCEPTS]
        if self._writer.files is not None:
            accepted.append(self._writer.files)
        there = part.data if way == "data" else part.url
        if there and all(way in accepts.get(kind, ()) for accepts in accepted):
            return part.replace(origin=None)
        if there and way == "url" and there.startswith(("https://", "http://")):
            self._notebook.add("file_as_url", part.mime or "a file")
            return Text(there)
        return self._without_place(part)

    def _opaque(self, part: Opaque) -> Part | None:
        block = compaction_of(part)
        if block is not None and (summary := readable_compaction(block)):
            self._notebook.add("compaction_as_text")
            return summary
        kind = part.value.get("type") if isinstance(part.value, dict) else None
        self._notebook.add("opaque_dropped", kind if isinstance(kind, str) else None)
        return None

    def _without_place(self, part: Media) -> Part | None:
        self._notebook.add("part_without_place", part.mime or "a file")
        return None

    # ---- calls and results ---------------------------------------------------------------------------

    def _paired(self, turns: list[CarriedTurn]) -> tuple[CarriedTurn, ...]:
        """The turns with one result for each call, right after it, and with ids that the target accepts."""
        pairs = pairs_of(turn.message for turn in turns)
        for code, places in (("result_left", pairs.strays), ("result_repeated", pairs.repeats)):
            turns = _without(turns, places)
            if places:
                self._notebook.add(code, count=len(places))
        turns = self._answered(turns)
        messages = [turn.message for turn in turns]
        late = late_results(messages)
        if late:
            self._notebook.add("result_moved", count=len(late))
        rows = at_calls([message.parts for message in messages], late, _is_result)
        messages = [
            message.replace(parts=tuple(row)) for message, row in zip(messages, rows, strict=True)
        ]
        messages, renamed = with_taken_ids(messages, self._dialect)
        if renamed:
            self._notebook.add("id_mapped", count=len(renamed))
        return tuple(
            turn._replace(message=message)
            for turn, message in zip(turns, messages, strict=True)
            if message.parts
        )

    def _answered(self, turns: list[CarriedTurn]) -> list[CarriedTurn]:
        """The turns with a result for each call that has none: every API refuses such a call."""
        waiting: dict[int, list[ToolCall]] = {}
        for number, position in pairs_of(turn.message for turn in turns).unanswered:
            call = turns[number].message.parts[position]
            if isinstance(call, ToolCall):
                waiting.setdefault(number, []).append(call)
                self._notebook.add("result_filled", call.name)
        answered: list[CarriedTurn] = []
        for number, turn in enumerate(turns):
            answered.append(turn)
            answered += [
                CarriedTurn(tool_result(call.id, UNANSWERED, error=True), turn.at)
                for call in waiting.get(number, ())
            ]
        return answered


def author_of_turn(turn: Turn, *, as_named: bool = False) -> Author:
    """Who wrote a turn of the model, as the source says of the answer, or of its parts.

    A model has the name of its provider; `as_named` keeps the one that the source's program knows it by, such as that of a gateway.
    """
    answer = turn.answer
    origins = [part.origin for part in turn.message.parts if part.origin]
    providers = [origin.provider for origin in origins if origin.provider]
    models = [origin.model for origin in origins if origin.model]
    provider = (answer and answer.provider) or next(iter(providers), None)
    model = (answer and answer.model) or next(iter(models), None)
    dialect = next((origin.dialect for origin in origins if origin.dialect), None)
    parsed = split_id(model or "")
    if parsed and parsed.is_known and not as_named and provider in (None, parsed.provider):
        provider, model = parsed.provider, parsed.model
    return author_of(provider, model, dialect)


def dialect_at_home(writer: SessionWriter) -> str | None:
    """The dialect of a program that is made for one host."""
    host = host_of(writer.home) if writer.home else None
    return dialect_at(host, writer.model.partition("/")[2]) if host else None


def _without(turns: list[CarriedTurn], places: Sequence[tuple[int, int]]) -> list[CarriedTurn]:
    """The turns without the parts at these places."""
    gone = set(places)
    return [
        turn._replace(
            message=turn.message.replace(
                parts=tuple(
                    part
                    for position, part in enumerate(turn.message.parts)
                    if (number, position) not in gone
                )
            )
        )
        for number, turn in enumerate(turns)
    ]


def _is_result(part: Part) -> bool:
    return isinstance(part, ToolResult)


def _maker(part: Part) -> str | None:
    """Who made a seal, as far as the source says."""
    origin = part.origin
    return (origin.provider or origin.model or origin.dialect) if origin else None


def _as_user(turn: Turn) -> Message:
    """The message of a turn; a summary that a model wrote stands in the place of the user's first message."""
    message = turn.message
    if "compaction" in turn.marks and message.role == "assistant" and message.text:
        return summary_message(message.text)
    return message
