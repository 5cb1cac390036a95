"""Room on the disk is compared with the weights before training."""

import warnings

import pytest

from loglinear import penalties
from loglinear.cli import console
from loglinear.optimise.objective import Objective
from loglinear.optimise.room import tell_room, writing
from loglinear.optimise.training import Settings, train

TOLD = "m.ll: the disk has .* MiB left, and 1,152,921,504,606,846,976 weights may take 8,796,093,022,208 MiB"


class Huge:
    """The loss of more weights than a disk has room for; nothing can be computed of it."""

    n_weights = 1 << 60


def test_training_tells_of_weights_that_the_disk_has_no_room_for(tmp_path):
    objective = Objective(Huge(), penalties.L2(1.0))
    told, refused = pytest.warns(UserWarning, match=TOLD), pytest.raises((TypeError, ValueError))
    with writing([str(tmp_path / "m.ll")]), told, refused:
        train(objective, Settings(solver="newton"))


def test_it_tells_once_and_only_where_it_must(tmp_path):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        tell_room(1 << 60)
        with writing([str(tmp_path / "m.ll")]):
            tell_room(10)
            assert not told
            tell_room(1 << 60)
            tell_room(1 << 60)
    assert len(told) == 1


def test_commands_say_which_files_they_write(tmp_path, capsys):
    @console.command
    def some(output: str, checkpoint: str | None = None) -> None:
        tell_room(1 << 60)

    some(output=str(tmp_path / "m.ll"))
    assert capsys.readouterr().err.startswith(f"warning: {tmp_path / 'm.ll'}: the disk has ")
