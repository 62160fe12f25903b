"""Scripts that measure the project on published data and print figures with their targets."""
