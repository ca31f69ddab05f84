"""The league of policies: every rule in every scenario at equal budget, beside what is possible."""

from dayfly.lab.league.cache import Cache, default_folder
from dayfly.lab.league.play import League, play_league
from dayfly.lab.league.scenarios import SCENARIOS, Cell, Scenario, find_scenario

__all__ = [
    "SCENARIOS",
    "Cache",
    "Cell",
    "League",
    "Scenario",
    "default_folder",
    "find_scenario",
    "play_league",
]
