"""`render` for every form."""

import pytest

import innervoice as iv
from innervoice.show import render

SEALED = iv.Origin(block={"signature": "SEAL", "id": "SEAL"}, seals=("signature",), item="SEAL")
WHOLE = iv.Response(
    parts=(
        iv.Thinking("SECRET", origin=SEALED),
        iv.Thinking("", "hidden", origin=SEALED),
        iv.ToolCall("SEAL", "f", "{}", origin=SEALED),
        iv.Media("image/png", data="SEAL"),
        iv.Opaque({"type": "mcp_call", "id": "SEAL"}, origin=SEALED),
        iv.Text("ANSWER", origin=SEALED),
    ),
    id="SEAL",
    ended=True,
    origin=SEALED,
)
FORMS = ["plain", "markdown", "html", "discord"]


@pytest.mark.parametrize("show", ["full", "summary", "length", "none"])
@pytest.mark.parametrize("form", FORMS)
def test_no_form_shows_a_seal(form, show):
    assert "SEAL" not in str(render([WHOLE, WHOLE.message], form, show))


@pytest.mark.parametrize("form", FORMS)
def test_every_form_obeys_the_policy(form):
    shown = {show: str(render(WHOLE, form, show)) for show in ("full", "length", "none")}

    assert "SECRET" in shown["full"]
    assert "SECRET" not in shown["length"]
    assert "6 characters" in shown["length"]
    assert "Hidden reasoning" in shown["length"]
    assert not {"Thinking", "reasoning", "SECRET"} & set(shown["none"].replace("(", " ").split())
    assert all("ANSWER" in text for text in shown.values())


@pytest.mark.parametrize("form", FORMS)
def test_every_form_tells_why_there_is_no_answer(form):
    assert "no answer" in str(render(iv.Response(ended=True), form))


def test_an_unknown_form_is_refused():
    with pytest.raises(iv.UsageError, match="form must be one of"):
        render(WHOLE, "pdf")
