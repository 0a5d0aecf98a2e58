"""`bot` and `runner` are common names: no other distribution may claim them in the environment."""

import importlib.util
from importlib.metadata import packages_distributions

import pytest

from tests.house.tree import TOP


def test_no_other_distribution_claims_a_name_of_ours() -> None:
    claims = packages_distributions()
    assert [claims.get(name, ["pointsman"]) for name in ("bot", "runner", "patches")] == [["pointsman"]] * 3


@pytest.mark.parametrize("name", ["bot", "runner"])
def test_the_name_means_this_checkout(name: str) -> None:
    spec = importlib.util.find_spec(name)
    assert spec is not None and spec.origin == str(TOP / name / "__init__.py")
