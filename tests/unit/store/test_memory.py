from dayfly.store import MemoryStore, check_store


def test_it_keeps_the_promises_of_every_store():
    check_store(MemoryStore)
