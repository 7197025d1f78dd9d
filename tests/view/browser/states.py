"""States of the page, for what is checked in each of them."""

from view.browser.driving import expect

STATES = ("timeline", "open", "source", "filters", "plan", "compare", "search", "help")


def reach(page, url, state):
    """Brings the page into a state."""
    places = {
        "plan": "#c=s1.main&for=openai/gpt-5.6",
        "compare": "#c=s1.main&a=s1.main:1&b=s2.main:1",
        "search": "#c=s1.main&q=changed",
    }
    page.goto("about:blank")
    page.goto(url + places.get(state, ""))
    expect(page.locator("#n1")).to_be_visible()
    match state:
        case "open":
            page.locator("input[value=full]").check()
            for summary in page.locator("#head summary, .row > .foot > summary").all():
                summary.click()
            page.get_by_text("Export", exact=True).click()
            page.locator("#n3 > summary").focus()
        case "source":
            page.get_by_role("button", name="Source", exact=True).click()
        case "filters":
            page.locator("#filters > summary").click()
        case "plan":
            expect(page.locator(".mark.stays").first).to_be_visible()
        case "compare":
            expect(page.locator("ins.line").first).to_be_visible()
        case "search":
            page.locator(".hit").first.click()
        case "help":
            page.keyboard.press("?")
