import type { z } from 'zod';
import { ACTION_TOOLS } from '../../../agents/actions/action-tools.ts';
import { describeOwnTool } from '../../../agents/actions/own-tool.ts';
import { stepAnswerSchema, type StepAnswer } from '../../../agents/arena/episode-answers.ts';
import { computeRemaining } from '../../../agents/arena/episode-state.ts';
import type { StoredAgentEpisode, StoredStep } from '../../../agents/arena/trajectories.ts';
import { toObservation } from '../../../agents/actions/observation-text.ts';
import type { StartedEpisode } from '../../../service/arena/episode-service.ts';
import { type agentEpisodeSchema, type startedEpisodeSchema, type storedStepsSchema } from '../schemas/agent-episode-schemas.ts';

export function toAgentEpisodeResource(episode: StoredAgentEpisode): z.infer<typeof agentEpisodeSchema> {
  const { id, task, taskDigest, agent, principal, seed, steps, endedBy, closed, limits, createdAt, touchedAt } = episode;
  return {
    episode: id,
    task,
    taskDigest,
    agent,
    principal,
    seed,
    origin: getOrigin(episode),
    state: closed !== undefined ? 'closed' : endedBy === undefined ? 'open' : 'grading',
    steps,
    endedBy: endedBy ?? null,
    outcome: closed?.outcome ?? null,
    reward: closed?.reward ?? null,
    limits: { ...limits },
    remaining: computeRemaining(limits, steps, episode.spent),
    createdAt: createdAt.toISOString(),
    touchedAt: touchedAt.toISOString(),
    closedAt: closed?.at.toISOString() ?? null,
  };
}

function getOrigin({ origin }: StoredAgentEpisode): z.infer<typeof agentEpisodeSchema>['origin'] {
  const last = origin?.lineage.at(-1);
  return last === undefined ? null : { episode: last.episode, step: last.through };
}

export function toStartedEpisodeResource({ episode, task: { task } }: StartedEpisode): z.infer<typeof startedEpisodeSchema> {
  const self = `/v1/episodes/${episode.id}`;
  return {
    episode: episode.id,
    observation: toObservation({ kind: 'task', instruction: task.steps[0].instruction, workdir: task.workspace.workdir }),
    limits: { ...episode.limits },
    actions: [...ACTION_TOOLS.filter(({ name }) => episode.actions.includes(name)), ...task.arena.tools.map(describeOwnTool)],
    links: { self, steps: `${self}/steps`, reward: `${self}/reward`, events: `${self}/events` },
  };
}

/** Parses a document that was stored as a text; always the same bytes. @throws ZodError when this program did not store it. */
export function parseStepAnswer(text: string): StepAnswer {
  return stepAnswerSchema.parse(JSON.parse(text));
}

export function toStoredStepsResource(steps: readonly StoredStep[]): z.infer<typeof storedStepsSchema> {
  return {
    items: steps.map(({ action, answer, digest, at }) => ({ action, answer: parseStepAnswer(answer), digest, at: at.toISOString() })),
  };
}
