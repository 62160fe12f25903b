"""Scripts that measure the project on published data and print figures beside their targets."""
