"""The page in a real browser: type, look, press. Skipped where there is no Chromium."""

import pytest
from browser import CHROMIUM, Browser
from serve.conftest import LABEL

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium: Debian's package is called chromium")
ANSWERED = "document.querySelector('#answer:not(.old)')?.dataset.took"
TYPED = {
    "films": "good plot", "numbers": "[0.5, 1]", "named": '{"long": 1}', "parts": "the dog barks", "attributes": "w\nw",
    "animals": "the ", "typing": "さとうとしお", "choice": "-1\tthe dig\n-1.2\tthe dog", "trees": "the dog barks",
}  # fmt: skip


@pytest.fixture(scope="module")
def browser():
    with Browser() as running:
        yield running


def open_model(browser, server, name):
    browser.go("about:blank")
    browser.go(f"{server.address}#{name}")
    browser.wait(f"document.getElementById('tab-{name}')?.getAttribute('aria-selected') === 'true'")


def type_text(browser, text):
    browser.run("document.getElementById('input').select()")
    browser.run("document.getElementById('answer').dataset.took = ''")
    browser.type(text)
    browser.wait(ANSWERED)


@pytest.mark.parametrize("name", TYPED)
def test_every_model_answers_what_is_typed(browser, server, name):
    open_model(browser, server, name)
    type_text(browser, TYPED[name])
    assert browser.run("document.getElementById('problem').hidden")
    shown = browser.run("document.getElementById('answer').textContent")
    expected = {"films": "pos", "numbers": "a", "named": "a", "parts": "N", "attributes": "y", "animals": "dog",
                "typing": "砂糖と塩", "choice": "the dog", "trees": "S"}[name]  # fmt: skip
    assert expected in shown


def test_names_are_text_and_nothing_else(browser, server):
    open_model(browser, server, "films")
    type_text(browser, "bad acting")
    assert LABEL in browser.run("document.getElementById('answer').textContent")
    assert browser.run("document.querySelectorAll('img').length") == 0


def test_pressing_a_word_goes_on_typing(browser, server):
    open_model(browser, server, "animals")
    type_text(browser, "the d")
    browser.run("document.getElementById('answer').dataset.took = ''")
    browser.run("[...document.querySelectorAll('.rows button')].find((one) => one.textContent === 'dog').click()")
    browser.wait(ANSWERED)
    assert browser.run("document.getElementById('input').value") == "the dog "


def test_a_next_word_is_explained_when_its_share_is_pressed(browser, server):
    open_model(browser, server, "animals")
    type_text(browser, "the ")
    browser.run("[...document.querySelectorAll('button.share')].find((one) => one.ariaLabel === 'Why cat?').click()")
    answer = browser.run("document.getElementById('answer').textContent")
    assert "Why “cat”?" in answer
    assert "the cat" in answer


def test_a_problem_is_told_and_goes_away(browser, server):
    open_model(browser, server, "numbers")
    browser.type("[1")
    browser.wait("!document.getElementById('problem').hidden")
    assert "Type JSON" in browser.run("document.getElementById('problem').textContent")
    type_text(browser, "[1, 2]")
    assert browser.run("document.getElementById('problem').hidden")


@pytest.mark.parametrize("width", [360, 1400])
def test_nothing_is_wider_than_the_screen_and_nothing_comes_from_elsewhere(browser, server, width):
    browser.size(width, 800)
    for name in TYPED:
        open_model(browser, server, name)
        type_text(browser, TYPED[name])
        assert browser.run("document.documentElement.scrollWidth <= innerWidth"), name
    loaded = browser.run("performance.getEntriesByType('resource').map((one) => one.name)")
    assert loaded
    assert all(one.startswith((server.address, "data:")) for one in loaded)
