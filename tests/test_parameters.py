"""Every parameter of every public name has a description, which `help` and the reference show."""

import ast
import inspect
import re
import textwrap
from importlib import import_module

import pytest

from innervoice.canon.request import Request, RequestFields
from innervoice.client.conversation import AsyncConversation, Conversation
from innervoice.client.settings import (
    CallFields,
    ClientOptions,
    ConversationOptions,
    UnlimitedCallFields,
)

MODULES = ["innervoice", "innervoice.show", "innervoice.emulator", "innervoice.pricing"]


def public():
    """Each public class and function by its name, and each public method of the classes."""
    listed = [
        (f"{module.__name__}.{name}", getattr(module, name))
        for module in map(import_module, MODULES)
        for name in module.__all__
    ]
    returned = [(one.__name__, one) for one in (Conversation, AsyncConversation)]
    for where, value in [*listed, *returned]:
        if inspect.isclass(value) or inspect.isfunction(value):
            yield pytest.param(value, id=where)
        if not inspect.isclass(value):
            continue
        for method, function in inspect.getmembers(value, inspect.isroutine):
            ours = getattr(function, "__module__", None) or ""
            if not method.startswith("_") and ours.startswith("innervoice"):
                yield pytest.param(function, id=f"{where}.{method}")


def described(value):
    """The names that a docstring describes: with `:param`, or below a field of the class or of its bases."""
    found = set()
    for one in value.__mro__ if inspect.isclass(value) else [value]:
        if one.__module__.startswith("innervoice"):
            found |= set(
                re.findall(r"^:param (\w+): \S.*\.", inspect.getdoc(one) or "", re.MULTILINE)
            )
            found |= fields_described(one) if inspect.isclass(one) else set()
    return found


def fields_described(cls):
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    pairs = zip(definition.body, definition.body[1:], strict=False)
    return {
        field.target.id
        for field, words in pairs
        if isinstance(field, ast.AnnAssign)
        and isinstance(words, ast.Expr)
        and isinstance(words.value, ast.Constant)
        and str(words.value.value).endswith(".")
    }  # fmt: skip


def parameters(value):
    try:
        names = inspect.signature(value).parameters
    except ValueError:  # a class made in C
        return set()
    inherited = inspect.isclass(value) and issubclass(value, Exception) and "args" in names
    return set() if inherited else set(names) - {"self", "cls"}


@pytest.mark.parametrize("value", list(public()))
def test_every_parameter_is_described(value):
    assert set() == parameters(value) - described(value)


@pytest.mark.parametrize("value", list(public()))
def test_every_description_has_its_parameter(value):
    """A renamed parameter takes its description along."""
    if inspect.isclass(value):
        return
    assert set() == described(value) - parameters(value)


@pytest.mark.parametrize("options", [ClientOptions, CallFields, ConversationOptions])
def test_every_keyword_is_described(options):
    """A keyword that is a field of the request is described there."""
    keywords = set(options.__annotations__)
    of_the_request = set(RequestFields.__annotations__) & described(Request)
    own = set().union(
        *(
            fields_described(one)
            for one in (ClientOptions, UnlimitedCallFields, CallFields, options)
        )
    )

    assert set() == keywords - own - of_the_request
