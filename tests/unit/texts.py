"""Any text at all."""

from hypothesis import strategies as st

# What UTF-8 can hold, as `st.text()` by itself; asked this way, it is found without trying every character there is.
CHARACTERS = st.characters(exclude_categories=["Cs"])


def any_text(max_size: int | None = None) -> st.SearchStrategy[str]:
    return st.text(CHARACTERS, max_size=max_size)
