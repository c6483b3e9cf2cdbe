"""The HTML report in a real browser: keyboard, pointer, filters, both themes, and hostile text that stays text."""

import os
import shutil
from datetime import UTC, datetime
from typing import Any

import pytest

from groundwire.jobs.report import ReportEntry, write_html
from groundwire.scorer import Block, Check, Citation, Claim, Limits, Row, fit

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (--group browser)")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on the PATH")

HOSTILE = "</pre></div></script><script>window.broken = 1</script><img src=x onerror='window.broken = 2'>"
ANSWER = "The coach leaves at 08:15 and costs €420. It has 60 seats. Lunch is included."


def claim(text: str, **fields: Any) -> Claim:
    start = ANSWER.index(text)
    return Claim(text=text, start=start, end=start + len(text), **fields)


def row(number: int, **changes: Any) -> Row:
    fields: dict[str, Any] = {
        "row_id": f"r{number}",
        "partition_id": f"p{number}",
        "partition_type": "trace",
        "trace_id": f"trace-{number}",
        "metric": "agent.hallucination",
        "metric_version": "1.0.0",
        "status": "scored",
        "score": 0.5,
        "direction": "higher_is_better",
        "judge": {"kind": "offline", "model": "offline-1"},
        "config_fingerprint": "f00d",
        "groundwire_version": "0.1.0",
        "created_at": datetime(2026, 11, 30, 9, tzinfo=UTC),
    }
    return Row(**{**fields, **changes})


def entries() -> list[ReportEntry]:
    coach = Block(name="E1", kind="tool", tool_name="find_coach", text='{"departs": "08:15", "eur": 420, "seats": 20}')
    claims = (
        claim(
            "The coach leaves at 08:15 and costs €420.",
            label="supported",
            evidence=Citation(block="E1", quote='"departs": "08:15", "eur": 420', verified=True),
        ),
        claim(
            "It has 60 seats.",
            label="hallucinated",
            type="contradiction",
            reason="The coach has 20 seats.",
            evidence=Citation(block="E1", quote='"seats": 20', verified=True),
            checks=(Check(check="number", text="60", start=7, end=9, outcome="contradicted", block="E1", quote="20"),),
        ),
        claim("Lunch is included.", reason="undecided"),
    )
    view = fit((coach,), Limits())
    hostile = Block(name="E1", kind="tool", tool_name=HOSTILE, text=HOSTILE, arguments=HOSTILE)
    lie = Claim(
        text=HOSTILE,
        start=0,
        end=len(HOSTILE),
        label="hallucinated",
        reason=HOSTILE,
        evidence=Citation(block="E1", quote=HOSTILE, verified=True),
    )
    return [
        ReportEntry(row=row(1, claims=claims, coverage=view.coverage), question="Q?", answer=ANSWER, blocks=view.shown),
        ReportEntry(
            row=row(2, claims=(lie,), trace_id=HOSTILE, explanation=HOSTILE),
            question=HOSTILE,
            answer=HOSTILE,
            blocks=fit((hostile,), Limits()).shown,
        ),
        ReportEntry(row=row(3, status="unknown", reason="no_answer", score=None, judge={})),
    ]


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as started:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium refuses its sandbox to root
        launched = started.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_html(entries(), path, title=f"Traces {HOSTILE}")
    return path.as_uri()


@pytest.fixture
def opened(browser, address):
    """Opens the report; afterwards nothing may have gone wrong in it, and nothing may have been asked of a network."""
    pages, troubles = [], []

    def open_page(at: str = address, **options: Any):
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        page = context.new_page()
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("console", lambda message: troubles.append(message.text) if message.type == "error" else None)
        page.on("request", lambda sent: troubles.append(sent.url) if not sent.url.startswith("file:") else None)
        page.goto(at)
        pages.append(page)
        return page

    yield open_page
    for page in pages:
        page.context.close()
    assert troubles == []


SAID = (
    "Electronics go back within 90 days.\n\n| item | fee |\n|---|---|\n| tv | €7 |\n\n"
    "الإرجاع مجاني e\u0301! <script>window.broken = 3</script>"
)


@pytest.fixture(scope="module")
def spans_address(tmp_path_factory):
    """A report of unsupported spans: in prose, in a table, right to left with an accent, and around a script."""
    policy = Block(name="E1", kind="tool", tool_name="get_policy", text='{"returns": "within 30 days"}')

    def span(text: str, **fields: Any) -> Claim:
        start = SAID.index(text)
        return Claim(text=text, start=start, end=start + len(text), label="hallucinated", **fields)

    spans = (
        span(
            "90 days",
            type="contradiction",
            subtype="unit",
            reason="The policy says 30 days.",
            evidence=Citation(block="E1", quote="30 days", verified=True),
            probability=0.97,
        ),
        span("€7", type="unsupported_addition", reason="No fee is known.", probability=0.8),
        span("الإرجاع مجاني e\u0301", type="unsupported_addition", reason="لا ذكر لذلك", probability=0.7),
        span("<script>window.broken = 3</script>", type="fabricated_reference", reason=HOSTILE, probability=0.6),
    )
    view = fit((policy,), Limits())
    matched = row(1, metric="unsupported_spans", claims=spans, score=1.0, label="matched", direction="lower_is_better")
    path = tmp_path_factory.mktemp("spans") / "report.html"
    write_html([ReportEntry(row=matched, question="Q?", answer=SAID, blocks=view.shown)], path, title="Spans")
    return path.as_uri()


def background(page) -> tuple[int, ...]:
    """Red, green and blue of the page's background."""
    style = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    return tuple(int(part) for part in style.removeprefix("rgb(").removesuffix(")").split(","))


def test_hostile_text_is_shown_as_text_and_never_runs(opened):
    page = opened()
    assert page.locator("#t2 .answer").inner_text().startswith(HOSTILE)
    assert page.locator("#t2 h2").inner_text() == HOSTILE
    page.locator("#t2 .answer a.claim").hover()
    assert HOSTILE in page.locator("#peek").inner_text()
    assert page.locator("img").count() == 0
    assert page.evaluate("window.broken") is None


def test_a_mark_shows_its_claim_on_keyboard_focus_and_escape_puts_it_away(opened):
    page = opened()
    peek = page.locator("#peek")
    page.locator("#traces").focus()
    page.keyboard.press("Tab")  # the first mark
    page.keyboard.press("Tab")  # the second
    focused = page.locator(":focus")
    assert focused.inner_text() == "It has 60 seats."
    assert focused.get_attribute("aria-describedby") == "peek"
    shown = peek.inner_text()
    assert "hallucinated" in shown
    assert "The coach has 20 seats." in shown
    assert '"seats": 20' in shown
    assert "the evidence says otherwise" in shown
    page.keyboard.press("Escape")
    assert peek.is_hidden()
    assert focused.get_attribute("aria-describedby") == "t1c2w"


def test_enter_on_a_mark_moves_to_its_card_and_from_there_to_the_quote(opened):
    page = opened()
    page.locator("#t1 a.claim.supported").focus()
    page.keyboard.press("Enter")
    page.locator("#t1c1[open]").wait_for(timeout=5_000)
    assert page.evaluate("document.activeElement.closest('details').id") == "t1c1"
    quote = page.locator("#t1 .evidence mark").first
    assert not quote.is_visible()
    page.keyboard.press("Tab")
    assert page.locator(":focus").inner_text() == "E1 · find_coach"
    page.keyboard.press("Enter")
    quote.wait_for(timeout=5_000)
    page.locator("mark:focus").wait_for(timeout=5_000)
    assert page.locator(":focus").inner_text() == '"departs": "08:15", "eur": 420'


def test_the_same_link_twice_works_twice(opened):
    page = opened()
    mark = page.locator("#t1 a.claim.supported")
    mark.click()
    page.locator("#t1c1[open]").wait_for(timeout=5_000)
    page.locator("#t1c1 > summary").click()
    page.locator("#t1c1:not([open])").wait_for(timeout=5_000)
    mark.click()
    page.locator("#t1c1[open]").wait_for(timeout=5_000)


def test_hovering_shows_the_claim_and_leaving_hides_it(opened):
    page = opened()
    page.locator("#t1 a.claim.hallucinated").hover()
    assert "The coach has 20 seats." in page.locator("#peek").inner_text()
    page.mouse.move(2, 2)
    page.locator("#peek").wait_for(state="hidden", timeout=5_000)


@pytest.mark.parametrize("scripted", [True, False])
def test_the_filters_work_from_the_keyboard_with_and_without_a_script(opened, scripted):
    page = opened(java_script_enabled=scripted)
    assert page.locator("article.entry:visible").count() == 3
    page.locator("#show-all").focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("#show-hallucinated").is_checked()
    assert page.locator("article.entry:visible").count() == 2
    page.locator("#show-unknown").focus()
    page.keyboard.press("Space")
    assert page.locator("article.entry:visible").count() == 1
    assert page.locator("#t3").is_visible()


def test_without_a_script_everything_is_there_to_read(opened):
    page = opened(java_script_enabled=False)
    assert page.locator("#theme").is_hidden()
    assert page.locator("#t1 .answer").inner_text() == ANSWER
    page.locator("#t1 .evidence > summary").click()
    assert page.locator("#t1 .evidence pre").inner_text().startswith('{"departs"')


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_follows_the_system_and_the_button_overrules_it(opened, scheme):
    page = opened(color_scheme=scheme)
    dark = max(background(page)) < 60
    assert dark == (scheme == "dark")
    button = page.locator("#theme")
    assert button.inner_text() == "Theme: auto"
    button.focus()
    page.keyboard.press("Enter")
    assert button.inner_text() == "Theme: light"
    assert min(background(page)) > 200
    page.keyboard.press("Enter")
    assert button.inner_text() == "Theme: dark"
    assert max(background(page)) < 60
    page.reload()
    assert button.inner_text() == "Theme: dark"
    assert max(background(page)) < 60


CONTRAST = """
() => {
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const parse = (color) => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => {
    const linear = (part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    const [x, y, z] = [r, g, b].map((part) => linear(part / 255));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const behind = (element) => {
    for (let node = element; node; node = node.parentElement) {
      const color = parse(getComputedStyle(node).backgroundColor);
      if (color[3] === 255) return color;
    }
    return [255, 255, 255, 255];
  };
  const low = [];
  for (const element of document.body.querySelectorAll(':not(script, svg *)')) {
    if (![...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim())) continue;
    if (!element.checkVisibility()) continue;
    const [a, b] = [light(parse(getComputedStyle(element).color)), light(behind(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) low.push(`${element.tagName}.${element.className} ${ratio.toFixed(2)}`);
  }
  return low;
}
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_the_contrast_that_wcag_asks_for(opened, scheme):
    page = opened(color_scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach((details) => { details.open = true; })")
    assert page.evaluate(CONTRAST) == []


@pytest.mark.parametrize("width", [360, 820, 1280])
def test_nothing_runs_over_the_side(opened, width):
    page = opened(viewport={"width": width, "height": 800})
    page.evaluate("document.querySelectorAll('details').forEach((details) => { details.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_spans_are_marked_in_place_in_any_script_and_in_tables(opened, spans_address):
    page = opened(spans_address)
    answer = page.locator("#t1 .answer")
    assert answer.inner_text().split() == SAID.split()
    marks = [mark.inner_text() for mark in page.locator("#t1 a.claim").all()]
    assert marks == ["90 days", "€7", "الإرجاع مجاني e\u0301", "<script>window.broken = 3</script>"]
    assert page.evaluate("window.broken") is None
    assert page.locator("#t1 .claims").get_attribute("aria-label") == "Unsupported spans"


def test_hovering_a_span_shows_its_reason_and_evidence(opened, spans_address):
    page = opened(spans_address)
    page.locator("#t1 a.claim").first.hover()
    shown = page.locator("#peek").inner_text()
    assert "unsupported" in shown
    assert "Contradiction · unit" in shown or "contradiction · unit" in shown
    assert "The policy says 30 days." in shown
    assert "30 days" in shown
    assert "0.97" in shown
    page.mouse.move(2, 2)
    page.locator("#peek").wait_for(state="hidden", timeout=5_000)


def test_every_span_is_reached_by_keyboard_and_leads_to_its_evidence(opened, spans_address):
    page = opened(spans_address)
    page.locator("#traces").focus()
    reached = []
    for _ in range(4):
        page.keyboard.press("Tab")
        reached.append(page.locator(":focus").inner_text())
        assert page.locator("#peek").is_visible()
    assert reached[0] == "90 days"
    assert reached[3] == "<script>window.broken = 3</script>"
    assert HOSTILE in page.locator("#peek").inner_text()
    page.locator("#t1 a.claim").first.focus()
    page.keyboard.press("Enter")
    page.locator("#t1c1[open]").wait_for(timeout=5_000)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.locator("mark:focus").wait_for(timeout=5_000)
    assert page.locator(":focus").inner_text() == "30 days"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_spans_have_the_contrast_that_wcag_asks_for(opened, spans_address, scheme):
    page = opened(spans_address, color_scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach((details) => { details.open = true; })")
    assert page.evaluate(CONTRAST) == []
