"""The check-worthy claims of a transcript, without a model server."""
