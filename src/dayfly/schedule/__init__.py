"""THE LIVE DECISION: when to look where, within a budget."""

from dayfly.schedule.clock import Clock, ManualClock, SystemClock
from dayfly.schedule.forecast import Explanation
from dayfly.schedule.gain import keep_new
from dayfly.schedule.loop import Choice, Loop
from dayfly.schedule.resume import resume
from dayfly.schedule.scheduler import Scheduler

__all__ = [
    "Choice",
    "Clock",
    "Explanation",
    "Loop",
    "ManualClock",
    "Scheduler",
    "SystemClock",
    "keep_new",
    "resume",
]
