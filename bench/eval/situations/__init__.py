"""The situations by ability."""

from bench.eval.situations import (
    borrowing,
    memory,
    resets,
    secrets,
    silence,
    sms,
    threads,
    waiting,
    where,
    who,
)

SITUATIONS = (
    *who.SITUATIONS,
    *where.SITUATIONS,
    *borrowing.SITUATIONS,
    *waiting.SITUATIONS,
    *silence.SITUATIONS,
    *threads.SITUATIONS,
    *secrets.SITUATIONS,
    *memory.SITUATIONS,
    *resets.SITUATIONS,
    *sms.SITUATIONS,
)
