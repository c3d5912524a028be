"""Naming models."""

from paceline.endpoints.refusal import models_hint, wrong_model
from paceline.endpoints.target import Target


def test_the_closest_name_comes_first_whatever_its_case() -> None:
    hint = models_hint(["alpha", "Llama-3-8B", "zeta"], "llama-3-8b-instruct")
    assert hint == "did you mean 'Llama-3-8B'? the server has: Llama-3-8B, alpha, zeta"


def test_without_a_close_name_the_servers_order_stays() -> None:
    assert models_hint(["b", "a"], "something-else") == "the server has: b, a"
    assert models_hint(["b", "a"]) == "the server has: b, a"


def test_a_wrong_model_says_what_the_server_said() -> None:
    error = wrong_model(Target.parse("http://h"), "m", ["n"], "unknown m")
    assert error.message == "http://h/v1: there is no model 'm': unknown m"
    assert error.hint == "the server has: n"
