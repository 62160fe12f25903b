"""What ends work because a person set something up that cannot be used.

What belongs here: that one error, which the files, keys and addresses of any room can be wrong
with. What does not: the failures of a service (http.py), which may pass.
"""

from __future__ import annotations


class SetupError(Exception):
    """What was set up cannot be used: a sentence that names the setting or file, and the remedy."""
