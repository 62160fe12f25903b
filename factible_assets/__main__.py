"""Makes `python -m factible_assets` the command `factible`; nothing else belongs here."""

from factible_assets.cli.main import main

if __name__ == "__main__":
    main()
