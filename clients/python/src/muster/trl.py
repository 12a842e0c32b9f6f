"""Trains with TRL on what agents do in Muster's sandboxes.

    source = MusterRollouts(client, client.rollouts.start("qwen.yaml", "code", group_size=8, concurrency=64, batch=4, max_staleness=0), 8)
    trainer = GRPOTrainer(model, reward_funcs=muster_reward, rollout_func=source, args=GRPOConfig(num_generations=8, …), train_dataset=…)

The stream decides which tasks are played: of TRL's dataset, only the number of rows counts. `group_size` is `num_generations`, and
`batch` the number of groups that TRL generates at a time. TRL trains one sequence for each sample, so of a trajectory with several
segments the last one.

`MusterEnvironment` is the other way round: TRL samples, and its model's tools work in Muster's sandboxes.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from muster.group_rows import GroupSource
from muster_client import AgentReward, Client, RolloutStream
from muster_client.arguments import suggests_keywords


class MusterRollouts:
    """A `rollout_func`. Before it takes groups it reports the trainer's step as the version of the policy."""

    @suggests_keywords
    def __init__(self, client: Client, stream: RolloutStream, num_generations: int) -> None:
        self._source = GroupSource(client, stream, num_generations)

    def __call__(self, prompts: list[Any], trainer: Any) -> dict[str, list[Any]]:
        """Returns a batch. Raises as `GroupSource.take` does."""
        rows = [rows[-1] for rows in self._source.take(len(prompts), int(trainer.state.global_step))]
        return {
            "prompt_ids": [row.prompt for row in rows],
            "completion_ids": [row.response for row in rows],
            "logprobs": [row.logprobs for row in rows],
            "env_mask": [row.mask for row in rows],
            "muster_reward": [row.reward for row in rows],
        }


def muster_reward(completions: list[Any], muster_reward: list[float | None], **_: Any) -> list[float | None]:
    """Rewards completions, as a reward function of TRL: with the verdicts of Muster's verifiers, None without a verdict."""
    assert len(completions) == len(muster_reward)
    return muster_reward


class MusterEnvironment:
    """A workspace for a model that TRL samples by itself: its public methods are the model's tools.

        trainer = GRPOTrainer(model, environment_reward, environment_factory=lambda: MusterEnvironment(client), train_dataset=rows, …)

    Each row has the name of a `task` of the server's arena. TRL makes one environment for each sample of a batch, and begins an episode
    in it with each `reset`.
    """

    @suggests_keywords
    def __init__(self, client: Client, agent: str = "trl") -> None:
        self._client = client
        self._agent = agent
        self._episode: str | None = None
        self._steps = 0
        self._is_over = True
        self._graded: AgentReward | None = None

    def reset(self, task: str, **_: Any) -> str:
        """Begins an episode, and returns its instruction. Cancels an episode that was left open. Raises as the client does."""
        if self._episode is not None and not self._is_over:
            self._client.arena.cancel(self._episode)
        started = self._client.arena.start(task, agent=self._agent)
        self._episode, self._steps, self._is_over, self._graded = started.id, 0, False, None
        return started.observation

    def run(self, command: str) -> str:
        """Runs a command in a shell that begins in the working directory.

        Args:
            command: What bash is to run.
        """
        return self._act({"action": "run", "command": command})

    def read_file(self, file: str) -> str:
        """Reads a file.

        Args:
            file: Its path, from the working directory on.
        """
        return self._act({"action": "read_file", "file": file})

    def write_file(self, file: str, content: str) -> str:
        """Writes a whole file.

        Args:
            file: Its path, from the working directory on.
            content: What it is to hold.
        """
        return self._act({"action": "write_file", "file": file, "content": content})

    def edit_file(self, file: str, old: str, new: str) -> str:
        """Replaces a text that a file holds exactly once.

        Args:
            file: Its path, from the working directory on.
            old: The text that is there.
            new: The text that takes its place.
        """
        return self._act({"action": "edit_file", "file": file, "old": old, "new": new})

    def submit(self) -> str:
        """Ends the work: what lies in the working directory is graded."""
        return self._act({"action": "submit"})

    def _act(self, action: dict[str, str]) -> str:
        """Takes a step. Raises ValueError when the episode is over; TRL passes the message to the model."""
        if self._episode is None or self._is_over:
            raise ValueError("the work is submitted, and the episode takes no more actions")
        step = self._client.arena.step(self._episode, self._steps + 1, action)
        self._steps += 1
        self._is_over = step.done
        return step.observation

    def _reward(self) -> float | None:
        """Grades the present files if the model has not submitted. Returns None when there is no verdict."""
        if self._episode is None:
            return None
        if not self._is_over:
            self._act({"action": "submit"})
        self._graded = self._graded or self._client.arena.reward(self._episode)
        return self._graded.reward


def environment_reward(environments: list[MusterEnvironment], **_: Any) -> list[float | None]:
    """Rewards environments, as a reward function of TRL: with the verdicts on the files that models have left, None without a verdict."""
    with ThreadPoolExecutor(max(1, len(environments))) as side_by_side:
        return list(side_by_side.map(MusterEnvironment._reward, environments))
