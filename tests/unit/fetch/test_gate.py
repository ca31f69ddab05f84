"""Declarations that may pass, and those that may not."""

import pytest

from dayfly.fetch.gate import Malformed, Unreadable, pass_gate


def declared(*declarations: str, text: str = "") -> bytes:
    return f"<!DOCTYPE a [{''.join(declarations)}]><a>{text}</a>".encode()


def test_a_document_without_declarations_passes():
    pass_gate(b"<a/>")
    pass_gate(b"not even XML: the parser will tell")


def test_the_old_rss_doctype_passes():
    pass_gate(
        b'<!DOCTYPE rss PUBLIC "-//Netscape Communications//DTD RSS 0.91//EN"'
        b' "http://my.netscape.com/publish/formats/rss-0.91.dtd"><rss version="0.91"/>'
    )


def test_declarations_that_only_describe_pass():
    pass_gate(declared("<!ELEMENT a ANY>", "<!ATTLIST a b CDATA #IMPLIED>"))


def test_entities_may_grow_to_the_cap_and_no_further():
    long = '<!ENTITY x "{}">'.format("x" * 1000)
    pass_gate(declared(long, text="&x;" * 65))
    with pytest.raises(Unreadable, match="hostile: entities grow"):
        pass_gate(declared(long, text="&x;" * 66))


def test_entities_within_entities_are_counted_whatever_their_order():
    with pytest.raises(Unreadable, match="hostile: entities grow"):
        pass_gate(
            declared(
                f'<!ENTITY c "{"&b;" * 50}">', f'<!ENTITY b "{"&a;" * 50}">',
                '<!ENTITY a "thirty characters of nothing..">', text="&c;",
            )
        )  # fmt: skip


def test_P02_a_long_name_does_not_hide_how_much_an_entity_grows():
    name = "n" * 65
    with pytest.raises(Unreadable, match="hostile"):
        pass_gate(declared(f'<!ENTITY {name} "{"x" * 1000}">', text=f"&{name};" * 66))


def test_entities_in_a_circle_are_refused():
    with pytest.raises(Unreadable, match="without end"):
        pass_gate(declared('<!ENTITY a "&b;">', '<!ENTITY b "&a;">', text="&a;"))


def test_the_first_declaration_of_a_name_counts():
    long = '<!ENTITY x "{}">'.format("x" * 70_000)
    pass_gate(declared('<!ENTITY x "short">', long, text="&x;"))


@pytest.mark.parametrize(
    "declaration",
    [
        '<!ENTITY f SYSTEM "file:///etc/passwd">',
        '<!ENTITY f PUBLIC "x" "http://example.org/">',
        '<!ENTITY % p SYSTEM "http://example.org/x.dtd"> %p;',
        "<!ENTITY % p '<!ENTITY f \"x\">'> %p;",
    ],
)
def test_what_is_somewhere_else_is_not_for_the_strict_parser(declaration):
    with pytest.raises(Malformed, match="somewhere else"):
        pass_gate(declared(declaration, text="&f;"))


def test_attributes_with_a_value_and_a_thousand_entities_are_hostile():
    with pytest.raises(Unreadable, match="attributes with a value"):
        pass_gate(declared('<!ATTLIST a b CDATA "x">'))
    with pytest.raises(Unreadable, match="more than 1000 entities"):
        pass_gate(declared(*(f'<!ENTITY e{n} "">' for n in range(1001))))


def test_broken_declarations_are_malformed():
    with pytest.raises(Malformed):
        pass_gate(b"<!DOCTYPE a [<!ENTITY ]><a/>")


def test_P02_references_are_counted_only_so_far():
    """Even where they grow to nothing, or mean nothing."""
    for reference in ("&e;", "&other;", "&lt;"):
        pass_gate(declared('<!ENTITY e "">', text=reference * 400_000))
        with pytest.raises(Unreadable, match="references"):
            pass_gate(declared('<!ENTITY e "">', text=reference * 500_001))
    # Where nothing is declared, the parser knows what to do.
    pass_gate(declared(text="&lt;" * 500_001))


def test_P02_declarations_without_end_are_not_read():
    long = '<!ENTITY a "]><rss>"><!ENTITY b "{}">'.format("x" * 2_000_000)
    with pytest.raises(Unreadable, match="bytes before the first element"):
        pass_gate(declared(long, text="&b;"))
