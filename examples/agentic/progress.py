"""How a training goes: its rewards, what each of its stages takes, and a picture."""

from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from muster_client.rollout_group import RolloutGroup

WIDTH, HEIGHT, MARGIN = 640, 260, 40


@dataclass
class Progress:
    rewards: list[float] = field(default_factory=list)
    """Mean of a batch."""
    trajectories: int = 0
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(["sampling", "acting", "the rest", "waiting", "training"], 0.0))
    """The first three of trajectories, many of which run at a time; the last two of the trainer."""

    def add(self, groups: list[RolloutGroup], waiting: float, training: float) -> None:
        records = [trajectory.raw for group in groups for trajectory in group.trajectories]
        self.rewards.append(float(np.mean([record["reward"] for record in records if record["reward"] is not None])))
        self.trajectories += len(records)
        for timings in (record["timings"] for record in records):
            started, ended = (datetime.fromisoformat(timings[name]) for name in ("startedAt", "endedAt"))
            self.seconds["sampling"] += timings["modelSeconds"]
            self.seconds["acting"] += timings["actionSeconds"]
            self.seconds["the rest"] += (ended - started).total_seconds() - timings["modelSeconds"] - timings["actionSeconds"]
        self.seconds["waiting"] += waiting
        self.seconds["training"] += training

    def line(self) -> str:
        latest = self.rewards[-10:]
        return f"version {len(self.rewards)}: {self.trajectories} trajectories, mean reward {sum(latest) / len(latest):.3f}"

    def stages(self) -> str:
        of_each = (f"{name} {1000 * self.seconds[name] / self.trajectories:.0f} ms" for name in ("sampling", "acting", "the rest"))
        of_update = (f"{name} {self.seconds[name] / len(self.rewards):.2f} s" for name in ("waiting", "training"))
        return f"a trajectory: {', '.join(of_each)}; an update: {', '.join(of_update)}"


def draw_curve(rewards: list[float]) -> str:
    """The mean reward of each batch, and of the last ten, as SVG."""
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
