"""Tracks a training: its rewards, the time of each of its stages, and a picture."""

from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from muster_client.rollout_group import RolloutGroup

WIDTH, HEIGHT, MARGIN = 640, 260, 40
OF_TRAJECTORIES = ["sampling", "acting", "grading", "workspace"]
"""Stages of a trajectory, many of which run at a time. They include beginning, filling and reading the workspace."""

Span = tuple[float, float]
"""Begin and end, in seconds since 1970."""


@dataclass
class Progress:
    rewards: list[float] = field(default_factory=list)
    """The mean reward of each batch."""
    trajectories: int = 0
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys([*OF_TRAJECTORIES, "training"], 0.0))
    waits: list[Span] = field(default_factory=list)
    """The spans in which the trainer had no batch."""
    played: list[Span] = field(default_factory=list)
    """The span of each trajectory from its beginning to that of its grading."""
    graded: list[Span] = field(default_factory=list)

    def add(self, groups: list[RolloutGroup], waited: Span, training: float) -> None:
        records = [trajectory.raw for group in groups for trajectory in group.trajectories]
        self.rewards.append(float(np.mean([record["reward"] for record in records if record["reward"] is not None])))
        self.trajectories += len(records)
        for timings in (record["timings"] for record in records):
            started, ended = (datetime.fromisoformat(timings[name]).timestamp() for name in ("startedAt", "endedAt"))
            parts = [timings["modelSeconds"], timings["actionSeconds"], timings.get("gradingSeconds", 0.0)]
            for name, seconds in zip(OF_TRAJECTORIES, [*parts, ended - started - sum(parts)], strict=True):
                self.seconds[name] += seconds
            self.played.append((started, ended - parts[2]))
            self.graded.append((ended - parts[2], ended))
        self.waits.append(waited)
        self.seconds["training"] += training

    def waiting(self) -> tuple[float, float]:
        """Returns the seconds that the trainer has waited, and how many of them it waited for grading alone: trajectories were graded and
        none was played.
        """
        kinds = {"waits": self.waits, "played": self.played, "graded": self.graded}
        moments = sorted((at, kind, by) for kind, spans in kinds.items() for span in spans for at, by in zip(span, (1, -1), strict=True))
        open_now = dict.fromkeys(kinds, 0)
        waited, for_grading, before = 0.0, 0.0, 0.0
        for at, kind, by in moments:
            if open_now["waits"] > 0:
                waited += at - before
                if open_now["graded"] > 0 and open_now["played"] == 0:
                    for_grading += at - before
            open_now[kind] += by
            before = at
        return waited, for_grading

    def line(self) -> str:
        latest = self.rewards[-10:]
        return f"version {len(self.rewards)}: {self.trajectories} trajectories, mean reward {sum(latest) / len(latest):.3f}"

    def stages(self) -> str:
        updates = len(self.rewards)
        waited, for_grading = self.waiting()
        of_each = ", ".join(f"{name} {1000 * self.seconds[name] / self.trajectories:.0f} ms" for name in OF_TRAJECTORIES)
        of_update = f"training {self.seconds['training'] / updates:.2f} s, waiting {waited / updates:.2f} s, of these for grading alone"
        return f"a trajectory: {of_each}; an update: {of_update} {for_grading / updates:.2f} s"


def draw_curve(rewards: list[float]) -> str:
    """Draws the mean reward of each batch, and of the last ten, as SVG."""
    smooth = [float(np.mean(rewards[max(0, at - 9) : at + 1])) for at in range(len(rewards))]

    def path(values: list[float], style: str) -> str:
        across = (WIDTH - 2 * MARGIN) / max(1, len(values) - 1)
        points = " ".join(f"{MARGIN + at * across:.1f},{_y(each):.1f}" for at, each in enumerate(values))
        return f'<polyline points="{points}" fill="none" {style}/>'

    lines = [f'<path d="M{MARGIN} {_y(at):.1f}H{WIDTH - MARGIN}" stroke="#ddd"/>' for at in (0, 0.5, 1)]
    labels = [f'<text x="{MARGIN - 6}" y="{_y(at) + 4:.1f}" text-anchor="end">{at}</text>' for at in (0, 0.5, 1)]
    caption = f'<text x="{WIDTH / 2}" y="{HEIGHT - 10}" text-anchor="middle">mean reward by version, 1 to {len(rewards)}</text>'
    curves = [path(rewards, 'stroke="#9bb8d3"'), path(smooth, 'stroke="#1f5f99" stroke-width="2"')]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">'
    return "\n".join([head, '<rect width="100%" height="100%" fill="#fff"/>', *lines, *labels, *curves, caption, "</svg>\n"])


def _y(reward: float) -> float:
    return HEIGHT - MARGIN - reward * (HEIGHT - 2 * MARGIN)
