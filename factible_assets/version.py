"""The version of the package. Modules read it here, because the package itself imports them."""

VERSION = "0.1.0"
