import { TRAJECTORY_FORMAT, type StopReason, type Trajectory, type TrajectoryStatus, type Usage } from '../rollouts/record/trajectory.ts';
import { computeOnce } from '../../kernel/once.ts';
import type { Segment } from '../rollouts/record/sampled-tokens.ts';
import type { Verdict } from '../verification/verdict.ts';
import type { Acted } from './acted/acted.ts';
import type { TaskEpisode } from './task-episode.ts';

export interface TrajectoryTimes {
  readonly startedAt: Date;
  readonly endedAt: Date;
  /** It is undefined where nothing was graded. */
  readonly gradingSeconds: number | undefined;
}

/** Builds the record of an episode; undefined when no model acted in it. @param verdict undefined when there is none. */
export function buildTrajectory(
  episode: Pick<TaskEpisode, 'task' | 'agentDigest' | 'identity' | 'policySeed' | 'environmentSeed'>,
  { course, stopReason }: Acted,
  verdict: Verdict | undefined,
  { startedAt, endedAt, gradingSeconds }: TrajectoryTimes,
): Trajectory | undefined {
  if (course === undefined) return undefined;
  const { task, agentDigest, identity, policySeed, environmentSeed } = episode;
  return {
    format: TRAJECTORY_FORMAT,
    ...identity,
    task: task.id,
    taskDigest: task.digest,
    seed: policySeed,
    taskSeed: environmentSeed,
    agent: agentDigest,
    model: course.model,
    tools: course.tools.map((tool) => ({ ...tool, parameters: toJsonObject(tool.parameters) })),
    prompt: [...course.prompt],
    turns: course.turns,
    segments: course.segments.map(formatList),
    ...(course.isRewritten === undefined ? {} : { rewritten: course.isRewritten }),
    ...pickReward(verdict),
    status: parseStatus(stopReason),
    stopReason,
    timings: {
      startedAt: startedAt.toISOString(),
      endedAt: endedAt.toISOString(),
      modelSeconds: course.modelSeconds,
      actionSeconds: course.actionSeconds,
      ...(gradingSeconds === undefined ? {} : { gradingSeconds }),
    },
    usage: course.turns.map(({ usage }) => usage).reduce(addUsage, { promptTokens: 0, completionTokens: 0, cachedTokens: 0 }),
  };
}

function pickReward(verdict: Verdict | undefined): Pick<Trajectory, 'reward' | 'components' | 'verdict'> {
  if (verdict === undefined || verdict.reward === null) return { reward: null, components: {}, verdict: null };
  const { reward, gate, components, stages } = verdict;
  const measured = components.flatMap(({ name, score }) => (score === null ? [] : [[name, score] as const]));
  const failed = stages.filter(({ outcome }) => outcome === 'failed');
  return {
    reward,
    components: { gate, ...Object.fromEntries(measured) },
    verdict: failed.map(({ stage, detail }) => `${stage}: ${detail}`).join('\n'),
  };
}

function parseStatus(reason: StopReason): TrajectoryStatus {
  switch (reason) {
    case 'submitted':
    case 'script-ended':
    case 'no-action':
      return 'completed';
    case 'turns':
    case 'context':
    case 'time':
      return 'truncated';
    case 'out-of-memory':
    case 'refused':
    case 'program-failed':
      return 'failed';
    case 'cancelled':
      return 'cancelled';
  }
}

function formatList({ ids, lossMask, logprobs, versions }: Segment): Trajectory['segments'][number] {
  return { ids: [...ids], lossMask: [...lossMask], logprobs: logprobs && [...logprobs], versions: [...versions] };
}

type JsonObject = Trajectory['tools'][number]['parameters'];

/** Trajectories of one agent have the same tools, mostly. */
const toJsonObject = computeOnce((value: Readonly<Record<string, unknown>>): JsonObject => JSON.parse(JSON.stringify(value)));

function addUsage(one: Usage, other: Usage): Usage {
  return {
    promptTokens: one.promptTokens + other.promptTokens,
    completionTokens: one.completionTokens + other.completionTokens,
    cachedTokens: one.cachedTokens + other.cachedTokens,
  };
}
