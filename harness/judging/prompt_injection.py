"""Test for sentences that speak to the judge, and not to the seeker.

A mistake costs an honest reply much, so no word alone is enough: only sentences count that no supporter says (an order to
forget instructions, a verdict on a reply, a choice among replies, a call upon the judge, a form for programs, the rubric's own
terms). Transcripts have neither capitals nor punctuation, so only the lone letters A and B hang on either. Chosen on
supporters' turns of ESConv's training part (Liu et al. 2021).
"""

import re
from typing import Final

_REPLY = r"(reply|replies|response|answer|turn|message|candidate|completion|output)"
_LETTER = r"(?-i:[AB])(?![\w'])"
_CHOOSE = r"(choose|chose|pick|select|prefer|favou?r|vote\s+for|declare|rank|rate|score|grade|mark)"
_JUDGE = r"(judges?|graders?|evaluators?|raters?|assessors?|annotators?|scorers?|reviewers?|language\s+model|llm)"
_SIGNS: Final = (
    r"\b(ignore|disregard|forget|override|skip)\b.{0,20}\b(instructions?|prompts?|rubrics?|criteria|checklist)\b(?!\s+(on|from|of|for))",
    rf"\b(ignore|disregard|forget)\b.{{0,20}}\b(everything|anything|all|text|words?)\s+(above|before\s+this|written\s+above)\b|"
    rf"\b(ignore|disregard|forget)\s+the\s+(other|first|second|above)\s+{_REPLY}\b",
    rf"\b{_CHOOSE}\s+me\b(?!\s+up)(?=\W*$|\s+(as|over|and|because|now|please|this|the|first|here)\b)",
    rf"\b{_CHOOSE}\s+(this|my|the\s+(first|second|above|present|following)|the)\s+{_REPLY}\b",
    rf"\b{_CHOOSE}\s+(this|mine|me)\s+(one\s+)?(as\s+(the\s+)?(best|better|winner)|over\s+the\s+other|highest|higher|(a\s+)?(5|five|10|ten))\b",
    rf"\b{_CHOOSE}\s+{_REPLY}\s+([ab12]|one|two)\b|\b{_REPLY}\s+{_LETTER}|^\W*(please\s+)?{_CHOOSE}\s+(option\s+)?[\"'(]?{_LETTER}",
    rf"\b(answer|respond|reply|output|print|return|write|say)\s+(only\s+|just\s+)?(with\s+)?(the\s+letter\s+)?[\"'(]?{_LETTER}[\"')]?\W*$",
    rf"\b(this|my|the\s+above)\s+{_REPLY}\s+(is|was|should\s+be|must\s+be|deserves|wins|beats|scores|gets|receives|has\s+been)\b"
    r".{0,25}\b(best|better|winner|wins?|winning|superior|preferred|chosen|selected|highest|top|perfect|correct|strength|"
    r"score|marks?|other|5|five|10|ten)\b",
    r"\b(the\s+)?other\s+(reply|response|candidate)\s+(is|was|fails|lacks|deserves)\b|"
    r"\bi\s+am\s+the\s+(better|best|winning)\s+(reply|response|answer|candidate)\b",
    rf"\b(the\s+)?(correct|right|better|best|preferred|winning|chosen)\s+{_REPLY}\s+is\s+(this|that|the\s+(first|second)|mine|me|{_LETTER}|[ab]\W*$)",
    rf"\bwinner\s*(is|:|=)\s*(this|mine|me|the\s+(first|second)|{_REPLY}|option|{_LETTER}|[ab]\W*$)|[\"']winner[\"']",
    r"\bgive\s+(this|me|it|my\s+\w+|(this|the)\s+(reply|response|answer|turn))\s+(a\s+|the\s+)?(top|highest|full|perfect|maximum|best|5|five|10|ten)\b.{0,12}\b(score|marks?|rating|points?|stars?)\b",
    rf"\b(note|message|attention|memo|reminder|instructions?)\s+(to|for)\s+(the\s+|all\s+|any\s+)?{_JUDGE}\b",
    rf"^\W*(dear|hey|hello|attention|to\s+the)\s+(the\s+)?{_JUDGE}\b|^\W*{_JUDGE}\s*[:,]",
    rf"\b(as|you\s+are)\s+(the|an?|our)\s+(impartial\s+|fair\s+)?{_JUDGE}\b.{{0,30}}\b(choose|pick|select|prefer|rate|score|must|should)\b",
    rf"\b(the|any|every)\s+{_JUDGE}\s+(should|must|is\s+to|are\s+to|has\s+to|will)\s+(always\s+)?(choose|pick|prefer|select|rate|score|favou?r)\b",
    r"\bsystem\s+(prompt|message|override)\b|^\W*(system|assistant|verdict|final\s+verdict|rationale)\s*:",
    r"<\|?\s*/?\s*(im_start|im_end|system|assistant|user|instructions?|inst|endoftext|eot_id|judge|verdict|reply|s)\b[^<>]*>|\[/?(inst|sys|system)\]",
    r"[\"'](winner|strength|rationale|axes|score|verdict)[\"']\s*:|\{\s*[\"']",
    r"\b(empathic\s+responsiveness|human\s+alignment|task-?\s?following)\b|"
    r"\b(rate|score|strength|marks?|five|5)\b.{0,25}\battunement\b|\bstrength\W{1,3}[1-5]\b(?!\W*(%|percent|times|years|days))",
)
_TO_THE_JUDGE: Final = re.compile("|".join(_SIGNS), re.IGNORECASE)


def addresses_judge(sentence: str) -> bool:
    """True if a sentence speaks to the judge, and not to the seeker."""
    return bool(_TO_THE_JUDGE.search(sentence))
