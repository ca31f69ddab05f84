"""What a store keeps about a source."""

import math

import pytest

from dayfly.errors import BadInput
from dayfly.store import Listing, MemoryStore, fleet_of


def test_weight_multiplies_worth():
    fleet = fleet_of([Listing(id="a", url="http://x/", worth=3.0, weight=0.5)])
    assert fleet.worth[0] == 1.5


def test_the_default_half_life_is_six_hours():
    listing = Listing(id="a", url="http://x/")
    assert math.log(2) / listing.decay == pytest.approx(6 * 3600)


def test_the_host_comes_from_the_address_unless_given():
    assert Listing(id="a", url="https://News.Example.org:8443/feed").host == "news.example.org"
    assert Listing(id="a", url="https://a.example.org/", host="shared").host == "shared"
    with pytest.raises(BadInput, match="source 'a'"):
        Listing(id="a", url="http://[::1/")


def test_a_host_is_one_host_however_its_name_is_written():
    names = ("bücher.example", "BÜCHER.example", "xn--bcher-kva.example")
    hosts = {Listing(id=name, url=f"https://{name}/feed").host for name in names}
    assert hosts == {"xn--bcher-kva.example"}


def test_a_bad_number_is_told_with_the_source_it_belongs_to():
    with pytest.raises(BadInput, match=r"source 'b'.*cost"):
        MemoryStore().add([Listing(id="b", url="http://x/", cost=0.0)])
