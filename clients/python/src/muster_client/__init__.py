"""Evaluates checkpoints on a Muster server, from training code.

from muster_client import Client

with Client("http://127.0.0.1:7677") as muster:
    summary = muster.evaluate("policy.safetensors", "cartpole", run="ppo-1", version=4096)
    print(summary.bias_reduced_mean, summary.interval)
"""

from muster_client.agent_episode import AgentEpisode, AgentReward, AgentStep, EpisodeDiff, StartedEpisode
from muster_client.arena import Arena, AsyncArena
from muster_client.async_client import AsyncClient
from muster_client.checkpoint import Checkpoint, CheckpointLike
from muster_client.client import Client
from muster_client.episode import Completed, Episode, Failed, Lost
from muster_client.errors import (
    BadRequest,
    Conflict,
    FieldProblem,
    Forbidden,
    InvalidArgument,
    LeaseLost,
    MusterError,
    NotFound,
    QuotaExceeded,
    RolloutsFailed,
    ServerAnswer,
    ServerError,
    ServerUnavailable,
    Timeout,
    Unauthorized,
)
from muster_client.evaluation import (
    Evaluation,
    EvaluationCancelled,
    EvaluationEnded,
    EvaluationFailed,
    Event,
    Failure,
    PlayedCheckpoint,
    Running,
)
from muster_client.grant import Grant
from muster_client.pool import Pool
from muster_client.rollout_group import RolloutGroup, RolloutOptions, RolloutStream, RolloutTrajectory, Segment
from muster_client.rollouts import AsyncRollouts, Rollouts
from muster_client.settings import Retry
from muster_client.suite import KnownSuite, SuiteLike
from muster_client.summary import CandidateResult, ComparisonSummary, Interval, Summary, Verdict

__all__ = [
    "AgentEpisode",
    "AgentReward",
    "AgentStep",
    "Arena",
    "AsyncArena",
    "AsyncClient",
    "AsyncRollouts",
    "BadRequest",
    "CandidateResult",
    "Checkpoint",
    "CheckpointLike",
    "Client",
    "ComparisonSummary",
    "Completed",
    "Conflict",
    "Episode",
    "EpisodeDiff",
    "Evaluation",
    "EvaluationCancelled",
    "EvaluationEnded",
    "EvaluationFailed",
    "Event",
    "Failed",
    "Failure",
    "FieldProblem",
    "Forbidden",
    "Grant",
    "Interval",
    "InvalidArgument",
    "KnownSuite",
    "LeaseLost",
    "Lost",
    "MusterError",
    "NotFound",
    "PlayedCheckpoint",
    "Pool",
    "QuotaExceeded",
    "Retry",
    "RolloutGroup",
    "RolloutOptions",
    "RolloutStream",
    "RolloutTrajectory",
    "Rollouts",
    "RolloutsFailed",
    "Running",
    "Segment",
    "ServerAnswer",
    "ServerError",
    "ServerUnavailable",
    "StartedEpisode",
    "SuiteLike",
    "Summary",
    "Timeout",
    "Unauthorized",
    "Verdict",
]
