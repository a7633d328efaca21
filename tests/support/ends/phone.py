"""Phone numbers."""

from tests.support.ends import Ends

ENDS = Ends(
    "+15005550006",
    "+15005550100",
    ("+1 (500) 555-0100", " tel:+1-500-555-0100"),
    ("", "15005550100", "Ann", "72345", "whatsapp:+15005550100", "pgr-001"),
)
