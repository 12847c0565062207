"""One person's answers from the file that a vote file's page made, in the terms of the run.

The file comes from a stranger and names pairs by ids that mean nothing without the run's key. So it is believed in nothing that
the key says better: what a pair is, how it was presented, how often it was drawn. A pair that the key does not have, or another
presentation than the page's, shows that the file was changed, and then none of it is taken. Consent is checked here, because
here is the last place where answers without it can be left out.
"""

import json
from pathlib import Path
from typing import Any, Final

from harness.errors import UserError
from harness.store.paths import VOTE_FILES
from harness.store.run_store import RunStore
from harness.tables.json_rows import validated, value_of
from harness.tables.lines import content_of
from harness.votes.vote import Vote
from harness.votes.vote_file import KEY_KIND, SCHEMA, VOTES_KIND, OneVote, VoteFileKey, VotesOfOne
from harness.wording import command, counted

MOST_BYTES: Final = 8 * 2**20
"""Of one person's file: the most votes with the longest reasons are under six million characters."""


def votes_from_vote_file(store: RunStore, path: Path) -> tuple[list[tuple[Vote, str]], list[str]]:
    """The answers of one person with their places in the file, and notes on those that were left out.

    Raises:
        UserError: no such file, a bad value, another run's vote file, no consent, or an answer that its page cannot have given.
    """
    sent = validated(VotesOfOne, _object_in(path), str(path))
    key = _key_of(store, sent.file, path)
    if sent.consent != key.consent_version:
        raise UserError(f"{path}: does not say that this person agreed to the text on the first page of the vote file")
    here = [(vote, f"{path}: votes.{n}") for n, vote in enumerate(sent.votes) if vote.pair not in key.withdrawn]
    if not here:
        raise UserError(f"{path}: holds no votes on replies of this run")
    gone = len(sent.votes) - len(here)
    notes = [f"{path}: {counted(gone, 'answer')} on replies that were withdrawn left out."] if gone else []
    found = [(_in_terms_of_the_run(vote, sent, key, where), where) for vote, where in here]
    first, where = found[0]
    return [(first.model_copy(update={"about": _about(sent, key)}), where), *found[1:]], notes


def _object_in(path: Path) -> dict[str, Any]:
    content = content_of(path)
    if len(content) > MOST_BYTES:
        raise UserError(f"{path}: is larger than {MOST_BYTES // 2**20} MiB, which no person's votes are")
    try:
        value = value_of(content.decode("utf-8-sig"), str(path))
    except UnicodeDecodeError:
        raise UserError(f"{path}: is not UTF-8; add the file as it was sent") from None
    kind = value.get("kind") if isinstance(value, dict) else None
    if kind == KEY_KIND:
        raise UserError(f"{path}: is the key of a vote file, which stays in the run; add the files that people sent back")
    if kind != VOTES_KIND:
        raise UserError(f"{path}: is JSON, but not from a vote file (no kind {VOTES_KIND!r})")
    assert isinstance(value, dict)
    if value.get("schema") != SCHEMA:
        raise UserError(f"{path}: schema {str(value.get('schema'))[:20]}, where this version of the harness reads {SCHEMA}")
    return value


def _key_of(store: RunStore, file: str, path: Path) -> VoteFileKey:
    place = store.folder / VOTE_FILES / f"{file}.json"
    if place.is_file():
        return validated(VoteFileKey, value_of(content_of(place).decode("utf-8", "replace"), str(place)), str(place))
    owner = next((other.parents[1] for other in store.folder.absolute().parent.glob(f"*/{VOTE_FILES}/{file}.json")), None)
    way = f"it is of {owner}: {command('add-votes', owner, path)}" if owner else "add them to the run that it was made from"
    raise UserError(f"{path}: votes from the vote file {file}, which was not made from {store.folder}; {way}")


def _about(sent: VotesOfOne, key: VoteFileKey) -> str:
    """What this person said of themselves, as JSON; empty for somebody who said nothing."""
    answers = {question.label: question.answered(sent.about.get(question.label)) for question in key.questions}
    given = {label: answer for label, answer in answers.items() if answer is not None}
    return json.dumps(given, ensure_ascii=False) if given else ""


def _in_terms_of_the_run(given: OneVote, sent: VotesOfOne, key: VoteFileKey, where: str) -> Vote:
    pair = key.pairs.get(given.pair)
    if pair is None:
        raise UserError(
            f"{where}: pair {given.pair!r} is not in this vote file, so the file was changed after its page wrote it"
        )
    if given.presentation != pair.presentation:
        raise UserError(f"{where}: presentation {given.presentation!r}, where the vote file has {pair.presentation!r}")
    turned = given.in_terms_of_the_key
    return Vote(
        **pair.model_dump(),
        rater=sent.participant,
        vote="skip" if given.vote == "skip" else turned(given.vote),
        check=None if given.check is None else turned(given.check),
        shown_first=given.shown_first,
        seconds=given.seconds,
        reason=given.reason,
        run=key.run,
        consent=sent.consent,
    )
