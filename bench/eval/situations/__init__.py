"""The situations of the eval, grouped by the ability that they test."""

from bench.eval.situations import (
    borrowing,
    forgetting,
    memory,
    resets,
    seams,
    secrets,
    silence,
    sms,
    threads,
    told_alone,
    told_in_groups,
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
    *forgetting.SITUATIONS,
    *sms.SITUATIONS,
    *told_alone.SITUATIONS,
    *told_in_groups.SITUATIONS,
    *seams.SITUATIONS,
)
