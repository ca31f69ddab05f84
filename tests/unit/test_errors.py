"""The exception tree is the one that its docstring draws."""

import re

from dayfly import errors
from dayfly.errors import BadInput, DayflyError, MissingExtra, StoreError, UnknownName


def test_everything_raised_on_purpose_is_in_the_drawing():
    drawn = set(re.findall(r"[*x+] ([A-Z]\w+)", errors.__doc__))
    defined = {
        n
        for n, e in vars(errors).items()
        if isinstance(e, type) and e.__module__ == errors.__name__
    }
    assert drawn == defined
    assert all(issubclass(getattr(errors, name), DayflyError) for name in drawn)


def test_indentation_draws_the_parents():
    parents = {0: DayflyError}
    for sign, name in re.findall(r"^( *[x+]) (\w+)", errors.__doc__, re.MULTILINE):
        depth = len(sign) // 2
        found = getattr(errors, name)
        assert issubclass(found, parents[depth - 1])
        parents[depth] = found


def test_bad_input_is_a_value_error():
    assert issubclass(BadInput, ValueError)
    assert not issubclass(StoreError, ValueError)


def test_an_unknown_name_suggests_the_nearest():
    assert str(UnknownName("policy", "whitle", ["whittle", "greedy"])) == (
        "unknown policy 'whitle'; did you mean 'whittle'?"
    )


def test_an_unknown_name_far_from_all_lists_them():
    assert str(UnknownName("policy", "zzz", ["b", "a"])) == "unknown policy 'zzz'; known: a, b"


def test_a_missing_extra_says_how_to_install_it():
    assert str(MissingExtra("drawing", "figures")) == (
        "drawing needs an optional part: pip install 'dayfly[figures]'"
    )
