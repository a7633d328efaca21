"""Handles of pagers, which only tests have."""

from tests.support.ends import Ends

ENDS = Ends("pgr-006", "pgr-100", ("PGR-100", " pgr-100 "), ("", "pgr-1", "+15005550100"))
