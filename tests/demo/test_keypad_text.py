"""Text for the keypad: parts that share no sentence of one source."""

from loglinear.demo.keypad import keypad_text


def test_parts():
    text = keypad_text(quick=True)
    assert all(len(part) > 20 for part in text)
    assert text == keypad_text(quick=True)
    assert len(text.background) > 3 * len(text.background_test)
    assert len(text.train) > len(text.dev)
    assert all(word.isalpha() for part in text for sentence in part for word in sentence.split())
