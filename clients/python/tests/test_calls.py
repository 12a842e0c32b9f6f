"""Everything else that the clients can be asked, and how they try again."""

import inspect
from datetime import UTC, datetime
from typing import Any

import pytest

from muster.trl import MusterEnvironment, MusterRollouts
from muster_client import (
    AsyncClient,
    Client,
    Completed,
    Conflict,
    Failed,
    Forbidden,
    InvalidArgument,
    Lost,
    MusterError,
    NotFound,
    QuotaExceeded,
    Retry,
    ServerError,
    ServerUnavailable,
    Unauthorized,
)
from tests.conftest import AT_ONCE
from tests.fake_server import FakeMuster
from tests.faults import Answer, CutStream, Drop
from tests.samples import BASELINE, SUBJECT, episode, evaluation, figures, problem

EPISODES = r"/v1/evaluations/ev-1/episodes"


def test_both_clients_offer_the_same_calls_with_the_same_arguments() -> None:
    def surface(client: type) -> dict[str, Any]:
        public = {name: member for name, member in vars(client).items() if inspect.isfunction(member) and not name.startswith("_")}
        return {name: (inspect.signature(member).parameters, inspect.getdoc(member)) for name, member in public.items()}

    assert surface(Client) == surface(AsyncClient)
    assert len(surface(Client)) == 20


def test_an_evaluation_is_shown_with_its_state_and_figures(muster: Client, fake: FakeMuster) -> None:
    fake.evaluations["ev-1"] = evaluation("ev-1", "running", running=figures(80), endedAt=None)
    found = muster.get("ev-1")
    assert (found.id, found.kind, found.state, found.is_over) == ("ev-1", "evaluation", "running", False)
    assert (found.run, found.version, found.labels) == ("ppo-1", 4096, {"team": "walking"})
    assert found.created_at == datetime(2026, 1, 1, tzinfo=UTC)
    assert (found.ended_at, found.summary, found.failure) == (None, None, None)
    assert found.checkpoints[0].digest == SUBJECT
    assert found.running is not None
    assert (found.running.mean, found.running.half_width, found.running.seconds_left) == (490.5, 20.25, 2.0)


def test_requests_to_a_server_on_this_machine_bypass_the_proxy(fake: FakeMuster, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    fake.evaluations["ev-1"] = evaluation("ev-1")
    with Client(url, retry=AT_ONCE) as muster:
        assert muster.get("ev-1").id == "ev-1"


def test_a_list_is_read_page_by_page(muster: Client, fake: FakeMuster) -> None:
    fake.evaluations = {f"ev-{at}": evaluation(f"ev-{at}") for at in range(7)}
    since = datetime(2026, 1, 1, tzinfo=UTC)
    found = list(muster.list(page_size=3, run="ppo-1", state=["finished", "failed"], label=("team", "walking"), since=since))
    assert [item.id for item in found] == [f"ev-{at}" for at in range(7)]
    assert [asked.query for asked in fake.asked] == [
        {"run": "ppo-1", "state": "finished,failed", "label": "team=walking", "from": "2026-01-01T00:00:00.000+00:00", "limit": "3"} | page
        for page in ({}, {"after": "3"}, {"after": "6"})
    ]


def test_further_pages_are_requested_only_when_they_are_needed(muster: Client, fake: FakeMuster) -> None:
    fake.evaluations = {f"ev-{at}": evaluation(f"ev-{at}") for at in range(7)}
    items = muster.list(page_size=3)
    next(items)
    assert len(fake.asked) == 1
    items.close()  # type: ignore[attr-defined]


def test_episodes_are_read_one_by_one(muster: Client, fake: FakeMuster) -> None:
    fake.evaluations["ev-1"] = evaluation("ev-1")
    outcomes = [None, {"kind": "failed", "cause": "timeout", "detail": "30 s\u2028passed"}, {"kind": "lost", "detail": "gone"}]
    fake.episodes["ev-1"] = [episode(index, outcome) for index, outcome in enumerate(outcomes)]
    played, failed, lost = muster.episodes("ev-1", arm=0)
    assert played.outcome == Completed(reward=500.0, length=500, metrics={"angle": 0.25})
    assert (played.environment_seed, played.policy_seed, played.seconds, played.log) == (1000, 2000, 0.5, None)
    assert failed.outcome == Failed("timeout", "30 s\u2028passed")
    assert lost.outcome == Lost("gone")


@pytest.mark.parametrize("cut", [1, 250, 251, 700, 1001])
def test_a_broken_stream_of_episodes_continues_where_it_broke(muster: Client, fake: FakeMuster, cut: int) -> None:
    fake.evaluations["ev-1"] = evaluation("ev-1")
    fake.episodes["ev-1"] = [episode(index) for index in range(6)]
    fake.break_down("GET", EPISODES, CutStream(after_bytes=cut), Drop())
    assert [found.index for found in muster.episodes("ev-1", first=1)] == [1, 2, 3, 4, 5]
    assert fake.faults_left == 0


def test_an_evaluation_is_cancelled_through_a_connection_that_breaks(muster: Client, fake: FakeMuster) -> None:
    fake.evaluations["ev-1"] = evaluation("ev-1", "running")
    fake.break_down("DELETE", ".*", Drop())
    assert muster.cancel("ev-1").state == "cancelled"


def test_pools_are_shown_and_scaled(muster: Client, fake: FakeMuster) -> None:
    (pool,) = muster.pools()
    assert (pool.name, pool.max, pool.idle, pool.leased) == ("local", 8, 2, 3)
    assert muster.change_pool("local", max=4, draining=True).max == 4
    assert fake.asked[-1].path == "/v1/pools/local"
    assert fake.asked[-1].json == {"max": 4, "draining": True}


def test_a_grant_lets_another_principal_use_a_checkpoint_until_it_is_revoked(muster: Client, fake: FakeMuster) -> None:
    path = f"/v1/checkpoints/{'a' * 64}/grants"
    given = muster.grant("sha256:" + "a" * 64, "auditor")
    assert (given.sha256, given.principal, given.granted_by, given.at.year) == ("a" * 64, "auditor", "local", 2026)
    assert (fake.asked[-1].method, fake.asked[-1].path, fake.asked[-1].json) == ("POST", path, {"principal": "auditor"})
    assert [grant.principal for grant in muster.grants("a" * 64)] == ["eval-team"]
    assert [grant.principal for grant in muster.revoke_grant("a" * 64, "auditor")] == ["auditor"]
    assert (fake.asked[-1].method, fake.asked[-1].path) == ("DELETE", f"{path}/auditor")


def test_scaling_a_pool_is_not_repeated(muster: Client, fake: FakeMuster) -> None:
    fake.break_down("PATCH", ".*", Drop())
    with pytest.raises(ServerUnavailable):
        muster.change_pool("local", max=4)
    assert len(fake.asked) == 1


def test_a_temporary_failure_is_retried_until_it_is_over(muster: Client, fake: FakeMuster) -> None:
    fake.evaluations["ev-1"] = evaluation("ev-1")
    trouble = [Answer(status, problem(status, "service.draining", "about to end"), {"retry-after": "0"}) for status in (503, 502, 504, 429)]
    fake.break_down("GET", "/v1/evaluations/ev-1", *trouble, Drop(), Answer(503, {}))
    assert muster.get("ev-1").id == "ev-1"
    assert len(fake.asked) == 7


@pytest.mark.parametrize(
    ("status", "error"),
    [(401, Unauthorized), (403, Forbidden), (404, NotFound), (409, Conflict), (429, QuotaExceeded), (500, ServerError), (302, ServerError)],
)
def test_a_permanent_error_is_raised_at_once(muster: Client, fake: FakeMuster, status: int, error: type[MusterError]) -> None:
    fake.break_down("GET", ".*", Answer(status, problem(status, "some.code", "what was wrong")))
    with pytest.raises(error, match=r"what was wrong .*some\.code"):
        muster.get("ev-1")
    assert len(fake.asked) == 1


def test_an_error_without_a_body_is_described_by_its_headers(muster: Client, fake: FakeMuster) -> None:
    header = 'Bearer realm="muster", code="access.missing", error_description="set MUSTER_TOKEN"'
    fake.break_down("GET", ".*", Answer(401, None, {"www-authenticate": header}))
    with pytest.raises(Unauthorized, match="set MUSTER_TOKEN") as caught:
        muster.get("ev-1")
    assert caught.value.code == "access.missing"


def test_an_answer_from_another_program_is_reported_as_not_from_muster(muster: Client, fake: FakeMuster) -> None:
    fake.break_down("GET", ".*", Answer(200, {"hello": "world"}), Answer(404, {"error": "no such page"}))
    with pytest.raises(ServerError, match=r"evaluation\.labels: expected an object, and the server sent nothing"):
        muster.get("ev-1")
    with pytest.raises(NotFound, match="no such page"):
        muster.get("ev-1")


def test_an_id_cannot_change_the_path_of_a_request(muster: Client, fake: FakeMuster) -> None:
    with pytest.raises(NotFound):
        muster.get("../pools?x=")
    assert fake.asked[0].path == "/v1/evaluations/..%2Fpools%3Fx%3D"


def test_the_address_and_the_token_may_come_from_the_environment(url: str, fake: FakeMuster, monkeypatch: pytest.MonkeyPatch) -> None:
    fake.evaluations["ev-1"] = evaluation("ev-1")
    monkeypatch.setenv("MUSTER_URL", url + "/")
    monkeypatch.setenv("MUSTER_TOKEN", "muster_of_the_environment")
    with Client() as client:
        client.get("ev-1")
        assert "muster_of" not in repr(client)
    assert fake.asked[0].headers["authorization"] == "Bearer muster_of_the_environment"
    monkeypatch.setenv("MUSTER_TOKEN", "of two words")
    with pytest.raises(InvalidArgument, match="MUSTER_TOKEN: expected"):
        Client()
    monkeypatch.setenv("MUSTER_URL", "muster.example.org")
    with pytest.raises(InvalidArgument, match=r"MUSTER_URL: expected http://HOST:PORT.*, got 'muster\.example\.org'"):
        Client()


@pytest.mark.parametrize(
    "given", [None, "", "muster.example.org", "ftp://muster.example.org", "http://user:word@example.org", "http://x/?a=b"]
)
def test_an_invalid_address_is_refused_without_repeating_it(given: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MUSTER_URL", raising=False)
    with pytest.raises(InvalidArgument, match="url: expected") as caught:
        Client(given)
    assert "word" not in str(caught.value)


@pytest.mark.parametrize("path", ["/v1", "/prefix/v1/"])
def test_an_address_with_the_version_of_the_interface_is_refused_with_the_remedy(path: str) -> None:
    with pytest.raises(InvalidArgument, match="without /v1"):
        Client(f"http://127.0.0.1:7677{path}")


def test_https_to_a_server_without_tls_is_refused_at_once_with_the_address_that_was_meant(url: str) -> None:
    with Client(url.replace("http:", "https:"), retry=Retry(patience_seconds=1e6)) as client, pytest.raises(ServerError) as caught:
        client.get("ev-1")
    assert str(caught.value).endswith(f"the server speaks no TLS; did you mean {url}?")


def test_the_dots_of_the_documentation_are_no_token() -> None:
    with pytest.raises(InvalidArgument, match=r"token: .*'…' stands for the rest of a token"):
        Client("http://127.0.0.1:7677", token="muster_…")


@pytest.mark.parametrize("entrance", [Client, AsyncClient])
def test_a_misspelt_keyword_is_named_with_the_one_that_was_meant(entrance: Any, url: str) -> None:
    with pytest.raises(TypeError, match="'tokn'; did you mean 'token'"):
        entrance(url, tokn="x")
    client = entrance(url)
    calls: list[tuple[Any, dict[str, Any], str]] = [
        (client.evaluate, {"checkpoint": "p", "suit": "s"}, "suite"),
        (client.compare, {"baseline": "p", "candidate": "q", "suite": "s"}, "candidates"),
        (client.submit, {"checkpoint": "p", "priorty": 1}, "priority"),
        (client.wait, {"evaluation_id": "e", "timout": 1}, "timeout"),
        (client.rollouts.start, {"agnt": "a", "suite": "s"}, "agent"),
        (MusterRollouts, {"client": client, "stream": "s", "num_generation": 2}, "num_generations"),
        (MusterEnvironment, {"client": client, "agnt": "a"}, "agent"),
    ]
    for call, given, meant in calls:
        with pytest.raises(TypeError, match=f"did you mean '{meant}'"):
            call(**given)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'suite'"):
        client.evaluate("p", stop=None)


def test_a_token_with_a_line_break_is_refused_without_repeating_it() -> None:
    with pytest.raises(InvalidArgument, match="token: expected") as caught:
        Client("http://127.0.0.1", token="muster_secret\n")
    assert "secret" not in str(caught.value)


def test_a_token_is_not_sent_over_plain_http_unless_that_is_allowed() -> None:
    with pytest.raises(InvalidArgument, match="sent unencrypted"):
        Client("http://muster.example.org", token="muster_secret")
    for url in ("https://muster.example.org", "http://localhost:7677", "http://127.0.0.2", "http://[::1]:7677"):
        Client(url, token="muster_secret").close()
    Client("http://muster.example.org").close()
    Client("http://muster.example.org", token="muster_secret", plain_http=True).close()


def test_a_comparison_is_submitted_without_waiting(muster: Client, fake: FakeMuster) -> None:
    assert muster.submit_comparison(BASELINE, SUBJECT, "cartpole").id == "ev-1"
    assert [asked.path for asked in fake.asked] == ["/v1/comparisons"]


def test_a_submitted_evaluation_can_be_awaited_later(muster: Client) -> None:
    id = muster.submit(SUBJECT, "cartpole").id
    assert muster.wait(id).episodes == 240
