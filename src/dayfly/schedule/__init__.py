"""THE LIVE DECISION: when to look where, within a budget."""

from dayfly.schedule.clock import Clock, FastClock, ManualClock, SystemClock
from dayfly.schedule.forecast import Explanation
from dayfly.schedule.gain import keep_new
from dayfly.schedule.limits import Limits
from dayfly.schedule.loop import Loop
from dayfly.schedule.manners import Rules
from dayfly.schedule.news import Chosen, Counts, News, Notice, Recorded, RobotsRead
from dayfly.schedule.pressure import Pressure
from dayfly.schedule.promise import Promise
from dayfly.schedule.resume import resume
from dayfly.schedule.scheduler import Scheduler
from dayfly.schedule.snapshot import load, save
from dayfly.schedule.tally import Tally

__all__ = [
    "Chosen",
    "Clock",
    "Counts",
    "Explanation",
    "FastClock",
    "Limits",
    "Loop",
    "ManualClock",
    "News",
    "Notice",
    "Pressure",
    "Promise",
    "Recorded",
    "RobotsRead",
    "Rules",
    "Scheduler",
    "SystemClock",
    "Tally",
    "keep_new",
    "load",
    "resume",
    "save",
]
