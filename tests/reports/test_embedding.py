"""Data in the page can never become markup or script, whatever it holds."""

import base64
import gzip
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.reports.page_files import content_policy, packed, safe_json, script_text


@given(st.recursive(st.text() | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_json_comes_back_as_it_went_in_and_holds_nothing_that_ends_a_script(value: object) -> None:
    text = safe_json(value)
    assert json.loads(text) == value
    assert not re.search("[<>&'\u2028\u2029]", text)


@given(st.text())
def test_packed_text_cannot_spell_markup_and_comes_back(text: str) -> None:
    block = packed({"text": text})
    assert re.fullmatch(r"[A-Za-z0-9+/=]+", block)
    assert json.loads(gzip.decompress(base64.b64decode(block)).decode("utf-8")) == {"text": text}


def test_half_a_character_is_replaced_not_fatal() -> None:
    assert json.loads(gzip.decompress(base64.b64decode(packed("a\ud800b")))) == "a?b"


def test_a_number_that_is_not_one_is_refused() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        safe_json(float("nan"))


def test_the_policy_names_scripts_by_hash_and_allows_no_evaluation_and_no_network() -> None:
    policy = content_policy([script_text("a</script>b")])
    assert "unsafe-eval" not in policy
    assert "default-src 'none'" in policy
    assert "connect-src" not in policy
    assert re.search(r"script-src 'sha256-[A-Za-z0-9+/=]+';", policy)
