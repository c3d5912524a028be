from paceline.store.schema import ROW_SCHEMA
from tests.support import rows


def test_the_row_is_that_of_the_tests() -> None:
    """Both follow `paceline_wire::record`; the contract test compares that one with them."""
    assert rows.ROW_SCHEMA.equals(ROW_SCHEMA)
