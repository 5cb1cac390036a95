"""Results as people see them: tables, charts and bars, on a terminal and as HTML that needs nothing else.

    numbers.py   how a number is written, everywhere
    tables.py    rows under names; in colours where a table is a map
    bars.py      names with bars
    charts.py    curves over two axes, as SVG
    page.py      sections with all of these, as a page of its own or as a piece of a notebook
"""
