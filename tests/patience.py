"""How long tests wait: as long as the pipeline does, unless waiting in vain is what they test.

On a busy machine everything can stand still for a second. A test that expects an answer therefore
has the pipeline's own limits; only one that is marked as waiting in vain has short ones.
"""

from __future__ import annotations

import pytest

from resources.http import HttpLimits

IN_VAIN = pytest.mark.waits_in_vain


def patience(request: pytest.FixtureRequest, impatient: HttpLimits) -> HttpLimits:
    """Return the pipeline's limits, or the short ones for a test that waits in vain."""
    in_vain = request.node.get_closest_marker(IN_VAIN.name) is not None
    return impatient if in_vain else HttpLimits(max_bytes=impatient.max_bytes)
