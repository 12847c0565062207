"""`harness report RUN --vote-file`: the page with nothing in it but the vote, and what to do with it."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, get_args

from harness.commands.recorded import refuse_recorded
from harness.commands.screen import screen
from harness.errors import UserError
from harness.progress import RunProgress
from harness.wording import command, counted

if TYPE_CHECKING:
    from harness.study.study import Study

_MB: Final = 1e6


def print_vote_file(
    runs: Sequence[Path], out: Path, medium: str | None, study: "Study | None", post_to: str | None, *, as_json: bool
) -> None:
    """Write the vote file of one run to `out`, and print what is in it and the next step.

    Raises:
        UserError: several runs, a wrong option, nothing to vote on, or it cannot be written.
    """
    from harness.figures.summarise import summarise
    from harness.reports.listening.results import human_rows
    from harness.reports.vote_file.contents import Medium, vote_file
    from harness.reports.vote_file.page import post_address, write_vote_file
    from harness.store.run_store import RunStore, is_load

    if len(runs) != 1 or is_load(runs[0]):
        why = "is a load test, which has no replies to compare" if len(runs) == 1 else "takes one run; write one for each"
        raise UserError(f"{f'{runs[0]}: ' if len(runs) == 1 else '--vote-file: '}{why}")
    chosen: Medium | None = next((known for known in get_args(Medium) if known == medium), None)
    if medium is not None and chosen is None:
        raise UserError(f"--medium {medium}: is none; choose sound or text")
    address = post_address(post_to) if post_to is not None else None
    with RunProgress() as progress:
        progress.phase("Reading")
        store = RunStore.open(runs[0])
        refuse_recorded(store)
        summary = summarise(store, human_rows(store))
        progress.phase("Writing the vote file")
        file = vote_file(store, summary, medium=chosen, study=study, post_to=address)
        written = write_vote_file(store, file, out)
    asked = list(file.key.pairs.values())
    heard = asked[0].presentation == "audio"
    if as_json:
        found = {
            "schema": 1,
            "vote_file": str(written.page),
            "key": str(written.key),
            "file": file.key.file,
            "bytes": written.size_bytes,
            "pairs": len(asked),
            "conversations": len({pair.context for pair in asked}),
            "conversations_to_read": file.to_read,
            "left_out": file.left_out,
            "presentation": asked[0].presentation,
            "condition": asked[0].condition,
            "votes_of_one": file.asked,
            "minutes": file.minutes,
            "completion_code": file.key.completion_code,
            "consent": file.key.consent_version,
            "language": file.notice.study.language,
            "names_said": list(file.names_said),
        }
        print(json.dumps(found, indent=2))
        return
    console = screen()

    def say(words: str) -> None:
        console.print(words, soft_wrap=True, markup=False, highlight=False)

    several = len(store.manifest.conditions) > 1
    where = f", line {asked[0].condition}" if several else ""
    pairs = f"{counted(len(asked), 'pair')} to {'hear' if heard else 'read'}"
    conversations = len({pair.context for pair in asked})
    of = counted(conversations, "conversation")
    say(f"votes   {written.page} ({written.size_bytes / _MB:.1f} MB): {pairs} from {of}{where}")
    if heard and file.to_read > conversations:
        say(f"        others have a reply that cannot be heard alone: with --medium text {file.to_read} can be read")
    say(f"        one person gives {counted(file.asked, 'vote')}, about {counted(file.minutes, 'minute')}")
    say(f"code    {file.key.completion_code}, which everybody sees who gave them")
    say(f"key     {written.key}: says what the pairs are; keep the run, and send the page alone")
    if file.left_out:
        say(f"        {counted(file.left_out, 'conversation')} with a crisis or an illness left out: they are asked of nobody")
    for name in file.names_said:
        say(f"        {name} says its own name in a reply, which no page can take out")
    say(f"then    {command('add-votes', runs[0])} votes-*.json")
