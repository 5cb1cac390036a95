"""Pages are held to what they show: the comparison of shown with printed output tells right from wrong."""

import pytest
from doc_examples import difference, examples

PAGE = """Text.

```python
print(1.5)
```

```text
1.5
```

```python
x = 1
```

Then, not as its output:

```text varies
abc 10
```

```bash
echo abc 10
```
```text varies
abc 10
```
"""


def test_an_example_has_the_output_right_beneath_it():
    one, two = examples(PAGE, "python")
    assert (one.code.strip(), one.shown, one.varies) == ("print(1.5)", "1.5\n", False)
    assert one.code.count("\n") == 4  # the code stands on the page's line 4
    assert two.shown == ""
    (shell,) = examples(PAGE, "bash")
    assert (shell.shown, shell.varies) == ("abc 10\n", True)


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("a 0.25 b", "a   0.251 b\n"), ("a 0.25", "a 0.26"), ("3 of 24", "3 of 24"), ("a\n...\nz", "a\nb\nc\nz"),
        ("1,234.5", "1,234.6"), ("0.3 s\nb", "0.3 s  \nb\n"), ("2e-05", "2.1e-05"), ("", "\n"),
    ],
)  # fmt: skip
def test_the_same_output(shown, printed):
    assert difference(shown, printed) is None


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("a 0.25", "a 0.27"), ("3 of 24", "3 of 25"), ("a ... z", "a b"), ("spam", "ham"), ("", "1"), ("1", ""),
        ("-0.25", "0.25"), ("2e-05", "2e-03"), ("a b", "a\nb"),
    ],
)  # fmt: skip
def test_other_output(shown, printed):
    assert difference(shown, printed) is not None


def test_output_that_varies():
    assert difference("perplexity 120", "perplexity 100", varies=True) is None
    assert difference("perplexity 120", "perplexity 50", varies=True) is not None
    assert difference("perplexity 120", "accuracy 120", varies=True) is not None
