"""Makes `python -m factible_assets` the command `factible`."""

from factible_assets.cli.main import main

if __name__ == "__main__":
    main()
