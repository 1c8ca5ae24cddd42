"""REST interfaces from outside."""

from __future__ import annotations

import urllib.error
import urllib.request
from http.client import HTTPException


def answers_in_clear_text(address: str) -> bool:
    """Whether a request without TLS is answered, whatever the status is."""
    try:
        urllib.request.urlopen(f"http://{address}/", timeout=10).close()
    except urllib.error.HTTPError:
        return True
    except (OSError, HTTPException):
        return False
    return True
