import json
import re

from paceline.report.page import _chart_library, _json


def test_json_cannot_leave_its_script() -> None:
    text = json.dumps({"text": "</script><script>alert(1)</script> <!-- & \u2028"})
    safe = _json(text)
    assert "<" not in safe
    assert ">" not in safe
    assert json.loads(safe) == json.loads(text)


def test_the_chart_library_is_one_script() -> None:
    library = _chart_library()
    assert "window.vegaEmbed=" in library
    assert "</script" not in library.lower()
    assert not re.search(r"^\s*import\s.*from\s", library, re.MULTILINE)
