"""What a run says is heard in its order, with fewer calls to the loop; a message has a name as Streamlit's has."""

from __future__ import annotations

import asyncio

import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime import forward_msg_cache
from streamlit.runtime.scriptrunner import ScriptRunnerEvent

from viz.server import said

SAYS, ENDS = ScriptRunnerEvent.ENQUEUE_FORWARD_MSG, ScriptRunnerEvent.SCRIPT_STOPPED_WITH_SUCCESS


class Session:
    """What is heard of a session's runs, and how often its loop was called."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._event_loop, self.heard, self.calls = loop, [], 0

    def _call_soon_on_event_loop(self, callback) -> None:
        self.calls += 1
        self._event_loop.call_soon_threadsafe(callback)

    def _handle_scriptrunner_event_on_event_loop(self, sender, event, forward_msg=None) -> None:
        if forward_msg == "bad":
            raise ValueError(forward_msg)
        self.heard.append(forward_msg or event)

    tell = said._together(lambda *_: None)


def lived(run) -> Session:
    async def inside() -> Session:
        session = Session(asyncio.get_running_loop())
        session.problems = []
        session._event_loop.set_exception_handler(
            lambda _, problem: session.problems.append(problem["exception"])
        )
        await asyncio.to_thread(run, session)
        while session._atlas_said.waiting:
            await asyncio.sleep(said.SOON)
        return session

    return asyncio.run(inside())


def test_messages_wait_for_each_other_and_the_end_of_a_run_for_nobody():
    def run(session: Session) -> None:
        for word in range(1, 100):
            session.tell(None, event=SAYS, forward_msg=word)
        session.tell(None, event=ENDS)
        session.tell(None, event=SAYS, forward_msg=100)

    session = lived(run)
    assert session.heard == [*range(1, 100), ENDS, 100]
    assert session.calls < 10


def test_what_is_said_while_the_loop_hears_is_heard():
    async def inside() -> list[object]:
        session = Session(asyncio.get_running_loop())
        hear = session._handle_scriptrunner_event_on_event_loop

        def also(sender, event, forward_msg=None) -> None:
            hear(sender, event, forward_msg)
            if forward_msg == 1:
                session.tell(None, event=SAYS, forward_msg=2)

        session._handle_scriptrunner_event_on_event_loop = also
        session.tell(None, event=SAYS, forward_msg=1)
        while len(session.heard) < 2:
            await asyncio.sleep(said.SOON)
        return session.heard

    assert asyncio.run(asyncio.wait_for(inside(), 5)) == [1, 2]


def test_one_that_fails_keeps_the_others_from_nothing():
    def run(session: Session) -> None:
        for word in ("a", "bad", "b"):
            session.tell(None, event=SAYS, forward_msg=word)

    session = lived(run)
    assert session.heard == ["a", "b"] and [str(problem) for problem in session.problems] == ["bad"]


@pytest.fixture
def named(monkeypatch):
    name = said._named(forward_msg_cache.populate_hash_if_needed)

    def of(body: str, path: tuple[int, ...] = (0, 1)) -> ForwardMsg:
        message = ForwardMsg()
        message.delta.new_element.markdown.body = body
        message.metadata.delta_path[:] = path
        name(message)
        return message

    return of


def test_equal_messages_have_one_name_wherever_they_stand(named):
    assert named("words").hash == named("words", (0, 7)).hash != named("other").hash != ""
    message = named("words")
    assert message.metadata.delta_path == [0, 1] and not message.metadata.cacheable


def test_a_large_one_may_be_kept_by_the_browser_as_streamlit_says(named):
    theirs = ForwardMsg()
    theirs.delta.new_element.markdown.body = "long " * 4_000
    forward_msg_cache.populate_hash_if_needed(theirs)
    assert named("long " * 4_000).metadata.cacheable is theirs.metadata.cacheable is True


def test_what_is_no_part_of_a_page_is_named_by_streamlit():
    mine, theirs = ForwardMsg(), ForwardMsg()
    for message in (mine, theirs):
        message.navigation.sections[:] = ["a"]
    said._named(forward_msg_cache.populate_hash_if_needed)(mine)
    forward_msg_cache.populate_hash_if_needed(theirs)
    assert mine == theirs and mine.hash
