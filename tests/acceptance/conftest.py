import pytest
from tests.acceptance.crawling import HASTE


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dayfly.toml").write_text(HASTE)
    return tmp_path
