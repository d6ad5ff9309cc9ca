"""Plans of the three scales, for tests of what a job reads."""

import pytest
from plans import flickr8k_plan, paper_plan, plan_of

from pipeline.plan.plan import Plan


@pytest.fixture(scope="session")
def paper(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    """For a user who has the data on request."""
    return paper_plan(tmp_path_factory.mktemp("on-request"))


@pytest.fixture(scope="session")
def demo() -> Plan:
    return plan_of()


@pytest.fixture(scope="session")
def flickr8k() -> Plan:
    return flickr8k_plan()
