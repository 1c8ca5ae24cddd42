"""An admin client that gives prepared answers, which are kafka-python's own messages."""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def response(request: Any) -> Any:
    """Return the class of the answers to a class of kafka-python's requests."""
    module = sys.modules[request.__module__]
    return getattr(module, request.__name__.replace("Request", "Response"))


class AnsweringAdmin:
    """A cluster that answers each kind of request by a function, or by a list, one after the other."""

    def __init__(self, answers: Mapping[str, Callable[[Any], Any] | Sequence[Any]]) -> None:
        """Keep the answers by the name of the request's class."""
        self._answers = {
            name: answer if callable(answer) else list(answer) for name, answer in answers.items()
        }
        self.requests: list[Any] = []
        """The requests that were sent."""
        self.brokers: list[int | str | None] = []
        """Whom each of them was sent to."""

    @property
    def _manager(self) -> AnsweringAdmin:
        return self

    def run(self, coroutine: Callable[..., Any], *arguments: Any) -> Any:
        if not inspect.iscoroutinefunction(coroutine):
            return coroutine(*arguments)
        return asyncio.run(coroutine(*arguments))

    def send(self, request: Any, node_id: int | None = None) -> Any:
        """Answer at once; a request to a certain broker is awaited."""
        answer = self._answer(request, node_id)
        if node_id is None:
            return answer

        async def answered() -> Any:
            return answer

        return answered()

    def _send_request_to_controller(self, request: Any) -> Any:
        return self._answer(request, "controller")

    def _answer(self, request: Any, broker: int | str | None) -> Any:
        self.requests.append(request)
        self.brokers.append(broker)
        answer = self._answers[type(request).__name__]
        message = answer(request) if callable(answer) else answer.pop(0)
        if isinstance(message, Exception):
            raise message
        return message
