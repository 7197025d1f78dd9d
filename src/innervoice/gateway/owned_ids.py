"""Ids of what a provider keeps (responses, items, conversations, files, batches, containers, caches) -> the owner that got them.

Several owners may share one account of a provider, which then serves each of them whatever any of them names. So an id belongs to the owner in
whose answer it came first; a request with another one's, or with one that nobody got here, is refused before it is sent. A gateway with one
owner, without keys, or with callers' own credentials needs none of this; what an owner gets is recorded all the same, for the day when there
are two.

A record never changes hands: an id that stood in the request that it came back from is not learned.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypeVar
from urllib.parse import parse_qsl

from innervoice.canon.jsontext import Members, dump_json, load_every_member, load_json
from innervoice.gateway.errors import NO_STORE
from innervoice.gateway.limits import LIMITS
from innervoice.gateway.passing.forms import FormReader
from innervoice.gateway.passing.passed_json import PassedJson
from innervoice.memory.sealed_store import SealedStore
from innervoice.memory.store_calls import StoreCalls
from innervoice.memory.stores.store import StoreError
from innervoice.wire.dialects import dialect_named
from innervoice.wire.json_access import as_dict, as_list, as_text
from innervoice.wire.paths import folded
from innervoice.wire.refusals import Refusal, Refused

if TYPE_CHECKING:
    from innervoice.gateway.passing.named_models import ModelCheck
    from innervoice.gateway.report import Report

__all__ = [
    "OwnedIds",
    "OwnedPath",
    "UnknownIds",
    "ids_in_answer",
    "ids_in_path",
    "ids_in_request",
    "is_list",
    "kept_by",
    "unreadable",
]

UnknownIds: TypeAlias = Literal["refuse", "allow"]
Result = TypeVar("Result")

_OWNER = "/ids"
"""The tenant under which the records are stored; no owner's name contains a slash."""
_KIND = "owned id"
_REFERENCE = "item_reference"
_FORM = "multipart/form-data"
_UPLOAD = "upload"
"""The first segment of paths whose bodies are files."""
_NAMING = frozenset(
    {
        "previous_response_id", "previous_interaction_id", "comparison_response_id", "conversation", "thread", "container", "container_id", "file_id",
        "file_ids", "input_file_id", "input_files", "training_file", "validation_file", "vector_store_ids", "vector_store_id", "cached_content", "cachedcontent",
        "file_uri", "fileuri", "file_name", "filename", "batch_id", "upload_id", "audio", "voice", "handle", "file_search_store_names",
        "filesearchstorenames", "library_ids", "agent_id", "collection_ids", "dataset_id", "vault_ids", "environment_id", "memory_store_id",
    }
)  # fmt: skip
"""Members of requests, in lower case, whose value is an id, a list of ids, or an object with an `id`."""
_NO_IDS = frozenset({"auto", "none"})
"""Words that stand in the place of an id: no conversation, or a new one."""
_OBJECTS = frozenset({"audio", "voice"})
"""Those that hold an id only in an object; as a text they are the sound itself, or the name of a voice for everybody."""
_MADE = frozenset({"skill_id", "agent"})
"""Members that name something of a provider's own, for everybody, or what somebody has made there: that has the form of an id."""
_MADE_ID = re.compile(r"[a-z]+_(?=.*[0-9])[A-Za-z0-9]{8,}")
_IN_QUERIES = frozenset({"call_id"})
"""Further members that name such an id in a query: a call that is being made."""
_BARE = {"reasoning": "encrypted_content", "image_generation_call": "result"}
"""Items that a request may name by their id alone, each with the member that has its content otherwise."""
_CALLS = frozenset({"tool_use", "server_tool_use"})
_RESOURCES = frozenset({"file_uri", "fileuri", "file_name", "filename"})
"""Those whose value names something at the provider only in the form `files/ID`; others are names of the user's own files."""
_BATCHED = ("input_file_id", "input_files", "input_files", "file_name", "fileName")
"""Members of a batch that name its lines."""
_GIVING = frozenset({"container", "container_id", "file_id", "output_file_id", "error_file_id", "audio", "upload_id", "newHandle"})  # fmt: skip
"""Members of answers, at any depth, that give an id."""
_UNREAD = frozenset(
    {"arguments", "args", "metadata", "json", "parameters", "input_schema", "schema"}
)
"""Members whose content is that of the user, of tools or of the model."""
_COLLECTIONS = frozenset(
    {
        "responses", "conversations", "files", "batches", "containers", "cachedcontents", "uploads", "vector_stores", "completions", "interactions",
        "threads", "jobs", "operations", "videos", "assistants", "skills", "evals", "runs", "filesearchstores", "documents", "libraries", "agents",
        "datasets", "corpora", "collections", "sessions", "environments", "vaults", "memory_stores",
    }
)  # fmt: skip
"""Segments of paths, in lower case, behind which an id stands."""
_WORDS = _COLLECTIONS | {"characters", "compact", "count", "edits", "extensions", "images", "import", "input_tokens", "search", "upload", "usage"}  # fmt: skip
"""What stands there besides: Google's ids may have letters alone, and users may choose them."""
_NOT_BEFORE_IDS = ("models", "model", "tunedmodels", "projects", "locations", "publishers")
_LIKE_AN_ID = re.compile(r"(?=.*[0-9])[A-Za-z0-9_.-]{12,}")
_VERB = re.compile(r":[A-Za-z]+$")
_MENTION = re.compile(
    rb'\\u00[2-7]|item_reference|"(?:%b)"'
    % b"|".join(sorted(name.encode() for name in (*_NAMING, *_MADE, *_BARE))),
    re.IGNORECASE,
)
"""Without any of these, a body names no id. A name may be written with escapes."""
_MARKS = (b'"container', b'"file_id"', b'"audio"')
_MARKS_OF_STORED = (*_MARKS, b'"output"', b'"outputs"')
"""Without any of these, an object of an answer gives no id."""
_NEW_HANDLE = "newHandle"
"""With it, a later connection goes on from this one (Gemini's live API)."""


class _Record(NamedTuple):
    owner: str
    models: list[str] | None
    """The models that were named where it came from; None if they were not looked at."""


# ---- where ids stand -----------------------------------------------------------------------------


def _mentions_ids(data: bytes) -> bool:
    """True if a body may name an id: it is worth reading."""
    return _MENTION.search(data) is not None


def ids_in_request(value: Any, *, apart: Iterable[str] = ()) -> set[str]:
    """Returns the ids of stored state that a request names.

    :param value: The body, as `load_every_member` reads it: of repeated members each may count.
    :param apart: Members at its top that somebody else looks after; references to items belong to them.
    """
    if not isinstance(value, Members):
        return set(_named(value))
    counts, apart = Counter(name for name, _ in value), tuple(apart)
    names = {name for name in apart if counts[name] == 1}
    found = set(_named(Members((name, member) for name, member in value if name not in names)))
    if apart and counts["input"] == 1:
        items = [dict(item) for item in as_list(dict(value)["input"]) if isinstance(item, Members)]
        found -= {str(item.get("id")) for item in items if item.get("type") == _REFERENCE}
    return found


def _named(value: Any, *, items: bool = True) -> Iterator[str]:
    if isinstance(value, Members):
        yield from _named_by(value, items=items)
    elif isinstance(value, list):
        for item in value:
            yield from _named(item, items=items)


def _named_by(members: Members, *, items: bool) -> Iterator[str]:
    """The ids that an object names; `items`: also those of items that stand there as ids alone."""
    kinds = {member for name, member in members if name == "type" and isinstance(member, str)}
    is_bare = any(_is_bare(members, _BARE[kind]) for kind in kinds & _BARE.keys())
    if items and (is_bare or _REFERENCE in kinds):
        yield from _texts(members)
    for name, member in members:
        lowered = name.lower()
        if lowered in _UNREAD or (lowered == "input" and kinds and kinds <= _CALLS):
            continue
        if lowered in _RESOURCES:
            yield from (text for text in _texts(member) if "files/" in folded((text,)))
        elif lowered in _MADE:
            yield from (text for text in _texts(member) if _MADE_ID.fullmatch(text))
        elif lowered in _NAMING and not (lowered in _OBJECTS and isinstance(member, str)):
            yield from (text for text in _texts(member) if text not in _NO_IDS)
        yield from _named(member, items=items)


def _is_bare(members: Members, content: str) -> bool:
    """True for an item that is only an id: the provider puts the rest in its place."""
    contents = [member for name, member in members if name == content]
    return not contents or not all(contents)


def _texts(value: Any) -> Iterator[str]:
    """The ids in a member: itself, those of a list, or that of an object."""
    values = value if isinstance(value, list) else [value]
    if isinstance(value, Members):
        values = [member for name, member in value if name == "id"]
    elif isinstance(value, dict):
        values = [value.get("id")]
    for item in values:
        if isinstance(item, str) and item:
            yield item


def _files_of_batches(value: Any) -> set[str]:
    """The files whose lines are requests."""
    if isinstance(value, Members):
        own = {text for name, member in value if name in _BATCHED for text in _texts(member)}
        return own.union(*(_files_of_batches(member) for _, member in value))
    return {name for item in as_list(value) for name in _files_of_batches(item)}


def _ids_in_field(name: str, text: str | None) -> set[str]:
    """The ids in a field of a form; raises `ValueError` for one that is a file."""
    name = name.removesuffix("[]")
    if text is None:
        if name.lower() in _NAMING - _RESOURCES - _OBJECTS:
            raise ValueError(f"{name} is a file")
        return set()
    is_json = text.lstrip()[:1] in ("{", "[")
    value = load_every_member(text) if is_json else text
    return set(_named(Members([(name, value)])))


def _from_query(query: str) -> Members:
    """A query, or a form of that kind, as an object."""
    pairs = parse_qsl(query.replace(";", "&"), keep_blank_values=True)
    return Members((name.removesuffix("[]"), value) for name, value in pairs)


def ids_in_answer(value: Mapping[str, Any]) -> set[str]:
    """Returns the ids of stored state that an answer gives."""
    body = as_dict(value.get("response")) or value
    items = [as_dict(item) for item in as_list(body.get("output"))]
    places = [body, as_dict(body.get("file")), as_dict(value.get("message")), *items]
    own = {text for place in places for text in _names_of(place)}
    return own | set(_given(value))


def _given(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _given(item)
    elif isinstance(value, dict):
        for name, member in value.items():
            if name in _UNREAD or (name == "input" and value.get("type") in _CALLS):
                continue
            if name in _GIVING:
                yield from _texts(member)
            yield from _given(member)


def ids_in_path(segments: Sequence[str]) -> set[str]:
    """Returns the outermost id in a path: what is inside of something belongs to the same owner."""
    words = [word for segment in segments for word in segment.split("/") if word]
    for before, word in zip(["", *words], words, strict=False):
        name, kind = _VERB.sub("", word), folded((before,))
        if kind in _NOT_BEFORE_IDS:
            continue
        is_behind = kind in _COLLECTIONS and name.lower() not in _WORDS
        if is_behind or _LIKE_AN_ID.fullmatch(name):
            return {name}
    return set()


def ids_in_query(query: str) -> set[str]:
    """Returns the ids of stored state that a query names."""
    pairs = _from_query(query)
    return {*_named(pairs), *(text for name, text in pairs if name.lower() in _IN_QUERIES and text)}


def is_list(segments: Sequence[str]) -> bool:
    """True for the path of a collection as a whole."""
    words = [word for word in segments if word]
    return bool(words) and words[-1].lower() in _COLLECTIONS


def kept_by(value: Any, owned: Callable[[str], bool]) -> Any:
    """Returns a list of a provider, or an object with lists, with those items alone whose ids are owned."""
    if isinstance(value, list):
        return [item for item in value if any(map(owned, _names_of(item)))]
    members = as_dict(value).items()
    return {
        name: kept_by(member, owned) if isinstance(member, list) else member
        for name, member in members
    }


def _names_of(item: Any) -> Iterator[str]:
    """The id of something, or its name in APIs whose names have a collection before them."""
    yield from _texts(as_dict(item).get("id"))
    yield from (text for text in _texts(as_dict(item).get("name")) if "/" in text)


def _plain(name: str) -> str:
    """An id without the collection or the address before it."""
    return name.rstrip("/").rpartition("/")[2]


def unreadable(what: str) -> Refused:
    """The refusal of a body that could name what belongs to another owner."""
    text = (
        f"several owners share an account here, and what this request names cannot be read: {what}"
    )
    return Refused(Refusal(text=text))


# ---- whose they are ------------------------------------------------------------------------------


class OwnedIds:
    """The records of one process, which share its store with others."""

    def __init__(
        self,
        sealed: SealedStore,
        calls: StoreCalls,
        are_several: Callable[[], Coroutine[Any, Any, bool]],
    ) -> None:
        """`are_several` says whether the gateway has several owners."""
        self._sealed, self._calls, self._are_several = sealed, calls, are_several
        self.unknown: UnknownIds = "refuse"
        """What becomes of ids that nobody got here."""

    async def is_enforced(self, report: Report) -> bool:
        """True if the caller of a request shares its upstream with others."""
        return report.is_shared and await self._are_several()

    async def check(self, report: Report, ids: Iterable[str]) -> None:
        """Raises `Refused` for an id that the caller of a request did not get, where several owners share an account."""
        names = sorted(set(ids))
        if not names or not await self.is_enforced(report):
            return
        owned = await self.owned(report, names)
        for name in names:
            if not owned(name):
                text = f"{name[: LIMITS.name_characters]!r} does not exist, or is not yours: this gateway has no record that you got it"
                raise Refused(Refusal(text=text, status=404, code="unknown_id"))

    async def owned(self, report: Report, ids: Iterable[str]) -> Callable[[str], bool]:
        """Returns the condition under which an id of these may be used by the caller; raises `Refused` while the store is away."""
        records = await self._records(ids)

        def may_use(name: str) -> bool:
            record = records.get(_plain(name))
            return self.unknown == "allow" if record is None else record.owner == report.tenant

        return may_use

    async def check_answer(self, report: Report, dialect: str, body: bytes) -> None:
        """The same for a request for an answer; what it goes on from, and items that it only refers to, are looked up where they are stored."""
        if not _mentions_ids(body) or not await self.is_enforced(report):
            return
        try:
            value = load_every_member(body)
        except ValueError:
            return  # it is refused for this
        api = dialect_named(dialect).stored_answers
        apart = (api.previous, api.conversation or "") if api else ()
        await self.check(report, ids_in_request(value, apart=apart))

    async def check_one(self, report: Report, name: str, refusal: Callable[[str], Refusal]) -> None:
        """The same for one id, in the words of its API."""
        if await self.is_enforced(report) and not (await self.owned(report, [name]))(name):
            raise Refused(refusal(name))

    async def models_of(self, name: str) -> list[str] | None:
        """Returns the models that were named where an id came from; None if they were not looked at."""
        record = (await self._records([name])).get(_plain(name))
        return record.models if record else None

    async def learn(
        self,
        report: Report,
        ids: Iterable[str],
        models: Sequence[str] | None = None,
        *,
        kept: bool = False,
    ) -> None:
        """Records that the caller of a request got ids; one that has an owner keeps it.

        :param report: The request.
        :param ids: The ids in its answer that were not in the request.
        :param models: The models that were named beside them.
        :param kept: They may be used for as long as the provider has them, not only as long as turns.
        """
        names = {_plain(name) for name in ids}
        if not names or not report.is_shared:
            return
        try:
            names -= (await self._records(names)).keys()
            if names:
                data = dump_json([report.tenant, None if models is None else list(models)])
                keys = [self._keys(name)[0] for name in sorted(names)]
                await self._within(
                    lambda: self._sealed.put(
                        _OWNER, _KIND, data, keys, created=time.time(), kept=kept
                    )
                )
        except Refused:
            report.store = "degraded"

    async def _records(self, ids: Iterable[str]) -> dict[str, _Record]:
        by_key = {key: name for name in map(_plain, ids) for key in self._keys(name)}
        found = await self._within(lambda: self._sealed.get(_OWNER, _KIND, list(by_key)))
        records: dict[str, _Record] = {}
        for item in sorted(
            found, key=lambda one: one.created, reverse=True
        ):  # the first one counts
            owner, models = (*as_list(load_json(item.data or b"null")), None, None)[:2]
            records[by_key[item.key]] = _Record(as_text(owner) or "", models)
        return records

    def _keys(self, name: str) -> list[bytes]:
        return self._sealed.keys(_OWNER, _KIND, name)

    async def _within(self, work: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
        try:
            return await self._calls.wait(work, LIMITS.store_seconds)
        except StoreError:
            raise Refused(NO_STORE) from None


class OwnedPath:
    """The ids of one request that is only passed on."""

    def __init__(self, ids: OwnedIds, report: Report, segments: Sequence[str], query: str) -> None:
        self._ids, self._report, self._segments, self._query = ids, report, segments, query
        self._named: set[str] = set()

    async def is_enforced(self) -> bool:
        """True if the caller shares the upstream with other owners."""
        return await self._ids.is_enforced(self._report)

    async def check_address(self) -> None:
        """Raises `Refused` for an id in the path or the query that is not the caller's."""
        await self._check(ids_in_path(self._segments) | ids_in_query(self._query))

    async def check_body(self, body: bytes, check: ModelCheck, *, is_form: bool = False) -> None:
        """Raises `Refused` for an id in a body that is not the caller's, and for a batch of lines that name models which it may not use.

        :param body: JSON, or with `is_form` an encoded form.
        :param check: The models that the caller may use.
        """
        if not body.strip():
            return
        try:
            value = _from_query(body.decode("latin-1")) if is_form else load_every_member(body)
        except ValueError as error:
            if self._segments[0] == _UPLOAD:
                return  # a file, whatever it looks like
            raise unreadable(str(error)) from None
        await self._check(ids_in_request(value))
        if check.is_needed:
            for name in sorted(_files_of_batches(value)):
                check.batch(name, await self._ids.models_of(name))

    def form_check(self, content_type: str) -> Callable[[bytes | None], Coroutine[Any, Any, None]]:
        """Returns what checks the pieces of a form before they are sent; None is its end."""
        kind = content_type.partition(";")[0].strip().lower()
        reader: FormReader | None = None

        async def check(piece: bytes | None) -> None:
            nonlocal reader
            if not await self.is_enforced() or (kind != _FORM and self._segments[0] == _UPLOAD):
                return
            try:
                reader = reader or FormReader(content_type)
                if piece is None:
                    reader.end()
                fields = reader.feed(piece or b"")
                names = {name for field in fields for name in _ids_in_field(*field)}
            except ValueError as error:
                raise unreadable(str(error)) from None
            await self._check(names)

        return check

    async def check_message(self, message: str | bytes) -> None:
        """The same for a message of a WebSocket; the items that it refers to are those of the connection."""
        if isinstance(message, str) and not _mentions_ids(message.encode("utf-8", "surrogatepass")):
            return
        if not await self.is_enforced():
            return
        try:
            value = load_every_member(message)
        except ValueError as error:
            if isinstance(message, bytes):
                return  # sound
            raise unreadable(str(error)) from None
        await self._check(set(_named(value, items=False)))

    async def _check(self, names: set[str]) -> None:
        self._named |= names
        await self._ids.check(self._report, names)

    async def is_filtered(self, method: str) -> bool:
        """True for a list, of which the caller sees its part."""
        return method == "GET" and is_list(self._segments) and await self.is_enforced()

    async def own_part(self, value: Any) -> Any:
        """Returns a list of the provider with what belongs to the caller."""
        lists = [value, *as_dict(value).values()]
        names = [name for one in lists for item in as_list(one) for name in _names_of(item)]
        return kept_by(value, await self._ids.owned(self._report, names))

    async def learn_message(self, message: str) -> None:
        """Records the ids with which later connections go on from this one."""
        if _NEW_HANDLE in message:
            with suppress(ValueError):
                await self._ids.learn(self._report, set(_given(load_json(message))))

    async def learn(self, ids: set[str], check: ModelCheck) -> None:
        """Records the ids of the answer."""
        named = {_plain(name) for name in self._named}
        new = {name for name in ids if _plain(name) not in named}
        await self._ids.learn(self._report, new, check.lines, kept=True)


class OwnedAnswer:
    """The ids in one answer that the gateway reads."""

    def __init__(self, ids: OwnedIds, report: Report, request: bytes, *, is_stored: bool) -> None:
        """`is_stored`: the provider keeps the answer and its items, too."""
        self._ids, self._report, self._request = ids, report, request
        self._found: set[str] = set()
        marks = _MARKS_OF_STORED if is_stored else _MARKS
        find = ids_in_answer if is_stored else lambda value: set(_given(value))
        self._json = PassedJson(
            lambda data: any(mark in data for mark in marks),
            lambda value: self._found.update(find(value)),
            LIMITS.stored_bytes,
        )
        self.add = self._json.add

    async def learn(self) -> None:
        """Records them; one that stood in the request is not new."""
        self._json.end()
        new = [name for name in self._found if name.encode() not in self._request]
        await self._ids.learn(self._report, new)
