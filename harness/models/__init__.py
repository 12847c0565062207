"""The model store: weight files pinned by version and SHA-256, fetched once, stored per user, usable offline afterwards.

`resolve` gives the path of a weight and fetches it on first use; `user_store` has all else that the store does. The store
decides where weights come from, so that agents and audio only ever receive paths.
"""

from harness.models.catalogue import Weight, Wheel, catalogue
from harness.models.store import ModelStore, Status, resolve, user_store

__all__ = ["ModelStore", "Status", "Weight", "Wheel", "catalogue", "resolve", "user_store"]
