"""Cost of a turn with the alternatives to Skein; runs in the benchmarks' own environment.

`python -m bench.turns.peers NAME DYNAMODB S3` prints one line of JSON for each length of chat. If a
peer can't hold a chat of that length, the line has the peer's error.
"""

import json
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

import boto3
from langchain_community.chat_message_histories import DynamoDBChatMessageHistory
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph_checkpoint_aws import DynamoDBSaver

from bench.cost import Row, failed_row, row_of, series
from bench.turns.script import LENGTHS, SYSTEM_PROMPT, text
from bench.turns.wire import Wire

BUCKET = "checkpoints"
CHECKPOINT_KEYS = ("PK", "SK")
TURNS = 7
SECONDS_OF_A_LENGTH = 20.0

Turn = Callable[[int], None]


def said(seq: int) -> BaseMessage:
    """Return message number `seq` in the peers' form."""
    return HumanMessage(text(seq)) if seq % 2 else AIMessage(text(seq))


def langchain(
    messages: int, thread: str, session: boto3.Session, wire: Wire, urls: Sequence[str]
) -> Turn:
    """Return a turn with a LangChain history: read it, then add a question and its answer."""
    history = DynamoDBChatMessageHistory(
        table_name="langchain",
        session_id=thread,
        endpoint_url=urls[0],
        boto3_session=session,
    )
    history.add_messages([said(seq) for seq in range(1, messages + 1)])
    wire.listen(history.table.meta.client)

    def turn(seq: int) -> None:
        question = said(seq)
        prompt = [SystemMessage(SYSTEM_PROMPT), *history.messages, question]
        if len(prompt) != seq + 1:
            raise AssertionError(f"{len(prompt)} messages in the prompt")
        history.add_messages([question, said(seq + 1)])

    return turn


def langgraph(
    messages: int, thread: str, session: boto3.Session, wire: Wire, urls: Sequence[str]
) -> Turn:
    """Return a turn with a LangGraph graph and DynamoDBSaver, which puts large states in S3."""

    def answer(state: MessagesState) -> dict[str, Any]:
        prompt = [SystemMessage(SYSTEM_PROMPT), *state["messages"]]
        return {"messages": [said(len(prompt))]}

    saver = DynamoDBSaver(
        table_name="langgraph",
        session=session,
        endpoint_url=urls[0],
        s3_offload_config={"bucket_name": BUCKET, "endpoint_url": urls[1]},
    )
    builder = StateGraph(MessagesState)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    builder.add_edge("answer", END)
    graph = builder.compile(checkpointer=saver)
    config: Any = {"configurable": {"thread_id": thread}}
    graph.update_state(
        config, {"messages": [said(seq) for seq in range(1, messages + 1)]}, as_node="answer"
    )
    wire.listen(saver.client)
    wire.listen(saver.storage.s3_client)

    def turn(seq: int) -> None:
        state = graph.invoke({"messages": [said(seq)]}, config)
        if len(state["messages"]) != seq + 1:
            raise AssertionError(f"{len(state['messages'])} messages in the state")

    return turn


PEERS = {"langchain": langchain, "langgraph": langgraph}


class Peer:
    """A chat of a peer; see `bench.cost.Talk`."""

    def __init__(self, turn: Turn, messages: int) -> None:
        self._turn = turn
        self._messages = messages

    def turn(self) -> None:
        """Post one question and its answer."""
        self._turn(self._messages + 1)

    def settle(self) -> None:
        """Add the turn's two messages to the length of the chat."""
        self._messages += 2


def rows(name: str, urls: Sequence[str], lengths: Sequence[int] = LENGTHS) -> list[Row]:
    """Return a row of results for each length of chat."""
    session = boto3.Session(region_name=os.environ["AWS_DEFAULT_REGION"])
    _make_places(name, session, urls)
    found = []
    for messages in lengths:
        wire = Wire()

        def begin(filled: int, thread: str, wire: Wire = wire) -> Peer:
            return Peer(PEERS[name](filled, thread, session, wire, urls), filled)

        try:
            turns = series(wire, messages, begin, turns=TURNS, seconds=SECONDS_OF_A_LENGTH)
            found.append(row_of(name, messages, turns))
        except Exception as error:
            found.append(failed_row(name, messages, error))
        print(json.dumps(found[-1].plain()), flush=True)
    return found


def _make_places(name: str, session: boto3.Session, urls: Sequence[str]) -> None:
    """Create the table that the peer's documentation describes, and the bucket."""
    keys = CHECKPOINT_KEYS if name == "langgraph" else ("SessionId",)
    session.client("dynamodb", endpoint_url=urls[0]).create_table(
        TableName=name,
        AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in keys],
        KeySchema=[
            {"AttributeName": key, "KeyType": "RANGE" if position else "HASH"}
            for position, key in enumerate(keys)
        ],
        BillingMode="PAY_PER_REQUEST",
    )
    if name == "langgraph":
        session.client("s3", endpoint_url=urls[1]).create_bucket(Bucket=BUCKET)


if __name__ == "__main__":
    rows(sys.argv[1], sys.argv[2:4])
