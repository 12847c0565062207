"""Adversarial items: the four escalation profiles, a measure of hostility, a rewriter that a model drives, and a validator.

The model rewrites seeker turns only; everything it returns is checked before it becomes an item.
"""

from harness.scenarios.adversarial.rewrite import Failure, Rewrite, rewrite, rewrite_set
from harness.scenarios.adversarial.validate import PROFILES, faults, hostility, target_curve

__all__ = ["PROFILES", "Failure", "Rewrite", "faults", "hostility", "rewrite", "rewrite_set", "target_curve"]
