from paceline.engines.restarts import Restarts


def test_the_pause_doubles_up_to_a_most() -> None:
    restarts = Restarts(most=9, first_pause_s=1.0, longest_pause_s=60.0)
    assert [restarts.died(float(at_s)) for at_s in range(9)] == [1, 2, 4, 8, 16, 32, 60, 60, 60]


def test_it_gives_up_after_so_many_within_the_window() -> None:
    restarts = Restarts(most=2, window_s=600.0)
    assert [restarts.died(at_s) for at_s in (0.0, 100.0, 599.9)] == [1.0, 2.0, None]
    assert restarts.deaths == 3


def test_old_deaths_are_forgotten_and_the_pause_is_short_again() -> None:
    restarts = Restarts(most=2, window_s=600.0)
    assert [restarts.died(at_s) for at_s in (0.0, 1.0, 601.0, 602.0)] == [1.0, 2.0, 1.0, 2.0]


def test_none_at_all() -> None:
    assert Restarts(most=0).died(5.0) is None


def test_no_number_of_deaths_is_too_many_to_reckon() -> None:
    restarts = Restarts(most=5_000)
    assert [restarts.died(0.0) for _ in range(3_000)][-1] == 60.0
