"""The frame of the command line: help, exit codes, errors in one line, nothing heavy too early."""

import os
import re
import signal
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from dayfly import __version__
from dayfly.cli import COMMANDS, cli
from dayfly.errors import BadInput


def run(*args, **given):
    return CliRunner().invoke(cli, args, prog_name="dayfly", **given)


def python(*args, **given):
    return subprocess.run(
        [sys.executable, *args], capture_output=True, text=True, timeout=60, check=False, **given
    )


def test_help_lists_every_command_with_its_line():
    result = run("--help")
    assert result.exit_code == 0
    for name, (_, line) in COMMANDS.items():
        assert re.search(rf"^  {name} +{re.escape(line)}$", result.output, re.MULTILINE)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name):
    result = run(name, "--help")
    assert result.exit_code == 0, result.output
    assert result.output.startswith(f"Usage: dayfly {name}")


@pytest.mark.parametrize("flag", ["--help", "--version"])
def test_help_imports_nothing_heavy(flag):
    code = (
        "import sys\n"
        "from dayfly.cli import main\n"
        f"sys.argv = ['dayfly', '{flag}']\n"
        "try:\n    main()\n"
        "except SystemExit as done:\n    assert not done.code, done.code\n"
        "heavy = {'numpy', 'scipy', 'rich.table', 'rich.console', 'aiohttp', 'asyncio'}\n"
        "print('heavy:', sorted(heavy & set(sys.modules)))\n"
    )
    result = python("-c", code)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[-1] == "heavy: []"


def test_version():
    assert run("--version").output == f"dayfly, version {__version__}\n"


def test_python_m_dayfly_is_dayfly():
    result = python("-m", "dayfly", "--version")
    assert (result.returncode, result.stdout) == (0, f"dayfly, version {__version__}\n")


def test_an_unknown_command_suggests_the_nearest():
    result = run("bond")
    assert result.exit_code == 2
    assert "unknown command 'bond'; did you mean 'bound'?" in result.stderr


def test_misuse_exits_with_2():
    assert run("plan").exit_code == 2
    assert run("plan", "x.csv").exit_code == 2
    assert run("plan", "x.csv", "--budget", "lots").exit_code == 2
    assert run("--nonsense").exit_code == 2


def test_an_expected_failure_is_one_line_and_exit_1(tmp_path):
    result = run("index", str(tmp_path / "none.csv"))
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr == f"dayfly: {tmp_path / 'none.csv'}: there is no such file\n"


@click.command()
@click.argument("what")
def failing(what):
    if what == "interrupt":
        raise KeyboardInterrupt
    if what == "pipe":
        raise BrokenPipeError
    raise BadInput("two\nlines")


@pytest.fixture
def _failing(monkeypatch):
    monkeypatch.setitem(COMMANDS, "failing", (f"{__name__}:failing", "Fails."))
    monkeypatch.setitem(sys.modules, __name__, sys.modules.get(__name__) or _this())


def _this():
    return type("Module", (), {"failing": failing})


@pytest.mark.usefixtures("_failing")
def test_an_error_of_several_lines_is_told_in_one():
    result = run("failing", "error")
    assert (result.exit_code, result.stderr) == (1, "dayfly: two lines\n")


@pytest.mark.usefixtures("_failing")
def test_an_interrupt_is_quiet_and_exits_with_130():
    result = run("failing", "interrupt")
    assert (result.exit_code, result.output) == (130, "")


def many_sources(path):
    rows = "".join(f"s{i},1/h,6h\n" for i in range(5000))
    path.write_text("id,arrival,half_life\n" + rows)
    return str(path)


@pytest.mark.parametrize("flags", [["--top", "0"], ["--json"]])
def test_a_reader_that_goes_away_is_not_an_error_message(tmp_path, flags):
    command = [sys.executable, "-m", "dayfly", "index", many_sources(tmp_path / "f.csv"), *flags]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 1


def test_ctrl_c_leaves_no_traceback():
    command = [sys.executable, "-m", "dayfly", "simulate", "-", "--budget", "1/s"]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(
        command, start_new_session=True, **pipes,
        # Whoever runs the tests in the background has us ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:  # fmt: skip
        # More than a pipe holds: once all is written, the command is at work, waiting for more.
        process.stdin.write(
            b"id,arrival,half_life\n" + b"".join(b"s%d,1/h,6h\n" % i for i in range(50_000))
        )
        process.stdin.flush()
        os.kill(process.pid, signal.SIGINT)
        assert process.stdout.read() == b""
        assert process.stderr.read() == b""
        process.stdin.close()
        assert process.wait(60) == 130
