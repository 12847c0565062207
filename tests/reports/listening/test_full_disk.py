"""A disk that is full, for a listening test: it is said in words, and nothing that was acknowledged is lost."""

from collections.abc import Callable

from harness.reports.invited.entry import DISK_FULL_STATUS
from harness.study.texts import texts
from tests.reports.listening.conftest import Served
from tests.small_disk import SmallDisk, small_disk

__all__ = ["small_disk"]


def test_what_is_refused_is_said_and_what_is_acknowledged_stays(small_disk: SmallDisk, serve: Callable[..., Served]) -> None:
    served = serve(medium="text", contexts=2)
    rater = served.begun()
    small_disk.fill()
    kept, refused = 0, 0
    for _ in range(12):  # The journal has room for a row or two.
        step = rater.get("/step")
        if step.status_code == DISK_FULL_STATUS:
            refused += step.json() == {"error": texts()("invited.disk_full")}
            continue
        answer = {"choice": 1, "reason": "It listens. " * 3_000}
        reply = rater.post("/answer", json={"position": step.json()["position"], "answer": answer})
        kept += reply.status_code == 200
        refused += reply.status_code == DISK_FULL_STATUS and reply.json() == {"error": texts()("invited.disk_full")}
        assert reply.status_code in (200, 409, DISK_FULL_STATUS)
    assert refused
    stranger = served.client().post("/begin", json={"consent": True, "purpose": "collect"})
    assert stranger.status_code in (200, DISK_FULL_STATUS)
    small_disk.make_room()
    assert rater.get("/step").status_code == 200
    assert len(served.votes.answers()) == kept
