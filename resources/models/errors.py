"""What may go wrong when a model is fetched.

What belongs here: the errors, each a sentence that names the file and the remedy. What does not:
what is done about them.
"""

from __future__ import annotations


class ModelPullError(Exception):
    """A model could not be fetched. The message is a sentence for a person."""


class HubUnreachableError(ModelPullError):
    """The hub failed, and may answer another time. What was fetched so far is kept."""


class NotOnHubError(ModelPullError):
    """The hub has no such file, or gives it only to those who have an account."""


class UnverifiedFileError(ModelPullError):
    """A file is not the one that was announced, or nothing says what it should be."""


class ModelStoreError(ModelPullError):
    """The models' folder cannot be used: it is full, closed, or in use by another pull."""
