import type { Segment } from '../record/sampled-tokens.ts';
import type { Trajectory, TrajectoryStatus } from '../record/trajectory.ts';

/** A segment as trainers cut it: the prompt is all before the first sampled token, the response is the rest, observations included. */
interface CutSegment {
  readonly promptIds: readonly number[];
  readonly responseIds: readonly number[];
  readonly mask: readonly (0 | 1)[];
  readonly logprobs: readonly number[] | null;
  readonly versions: readonly number[];
}

function cutSegment({ ids, lossMask, logprobs, versions }: Segment): CutSegment {
  const first = lossMask.indexOf(1);
  const at = first === -1 ? ids.length : first;
  return {
    promptIds: ids.slice(0, at),
    responseIds: ids.slice(at),
    mask: lossMask.slice(at),
    logprobs: logprobs?.slice(at) ?? null,
    versions: versions.slice(at),
  };
}

/** Formats `AgentLoopOutput` of verl, one for each segment: each has the reward of the whole trajectory. */
export function formatVerl(trajectory: Trajectory): readonly object[] {
  const { segments, turns, reward, task, group, rep } = trajectory;
  return segments.map(cutSegment).map(({ promptIds, responseIds, mask, logprobs }, i) => ({
    prompt_ids: promptIds,
    response_ids: responseIds,
    response_mask: mask,
    response_logprobs: logprobs,
    reward_score: reward,
    num_turns: turns.filter(({ tokens }) => tokens?.segment === i).length,
    metrics: {},
    extra_fields: { trajectory: trajectory.trajectory, task, group, rep, segment: i, segments: segments.length },
  }));
}

const SLIME_STATUS: Readonly<Record<TrajectoryStatus, string>> = {
  completed: 'completed',
  truncated: 'truncated',
  failed: 'failed',
  cancelled: 'aborted',
};

/** `Sample` of slime, one for each segment. Samples of a task share one `group_index`, numbered from 0 in order of appearance. */
export class SlimeFormat {
  readonly #groups = new Map<string, number>();

  format(trajectory: Trajectory): readonly object[] {
    const { segments, turns, prompt, reward, status, task, group, rep } = trajectory;
    const key = group ?? task;
    const index = this.#groups.get(key) ?? this.#groups.size;
    this.#groups.set(key, index);
    return segments.map(cutSegment).map(({ promptIds, responseIds, mask, logprobs, versions }, i) => ({
      group_index: index,
      index: rep,
      prompt,
      tokens: [...promptIds, ...responseIds],
      response: turns
        .filter(({ tokens }) => tokens?.segment === i)
        .map(({ message }) => message.content)
        .join(''),
      response_length: responseIds.length,
      label: null,
      reward,
      loss_mask: mask,
      weight_versions: [...new Set(versions.filter((version) => version >= 0))].map(String),
      rollout_log_probs: logprobs,
      status: SLIME_STATUS[status],
      metadata: { trajectory: trajectory.trajectory, task, group, segment: i },
    }));
  }
}

/** Formats the rows of SkyRL's step-wise generator output, one for each segment: those of a trajectory are adjacent, and the last has the reward. */
export function formatSkyrl(trajectory: Trajectory): readonly object[] {
  const { segments, reward, task, rep, stopReason } = trajectory;
  return segments.map(cutSegment).map(({ promptIds, responseIds, mask, logprobs }, i) => {
    const isLast = i === segments.length - 1;
    return {
      prompt_token_ids: promptIds,
      response_ids: responseIds,
      rewards: isLast ? reward : 0,
      loss_masks: mask,
      stop_reasons: stopReason,
      rollout_logprobs: logprobs,
      trajectory_ids: { instance_id: task, repetition_id: rep },
      is_last_step: isLast,
    };
  });
}
