"""The four escalation profiles as target curves: the intended hostility of each seeker turn of a conversation.

The paper names them (HEART, section 9.2); the numbers are ours. Every profile ends high, because the last turn is the one
that is answered.
"""

import math
from typing import get_args

from harness.scenarios.context import EscalationProfile

PROFILES: tuple[EscalationProfile, ...] = get_args(EscalationProfile)
LOW, HIGH = 1.0, 9.0


def target_curve(profile: EscalationProfile, seeker_turns: int) -> tuple[float, ...]:
    """The target hostility (0 to 10) of each seeker turn, first to last.

    `always-10` is high throughout; `linear-ramp` climbs evenly; `mid-spike` is calm until just past the middle and then
    high at once; `mid-ramp` is calm for the first half and climbs from there. Raises ValueError below two seeker turns.
    """
    if seeker_turns < 2:
        raise ValueError("an escalation needs at least two seeker turns")
    last = seeker_turns - 1
    if profile == "always-10":
        return (HIGH,) * seeker_turns
    if profile == "linear-ramp":
        return tuple(LOW + (HIGH - LOW) * k / last for k in range(seeker_turns))
    if profile == "mid-spike":
        onset = min(last, math.ceil((seeker_turns + 1) / 2))
        return tuple(HIGH if k >= onset else LOW for k in range(seeker_turns))
    onset = min(last - 1, math.floor(last / 2))
    return tuple(LOW + (HIGH - LOW) * max(0, k - onset) / (last - onset) for k in range(seeker_turns))
