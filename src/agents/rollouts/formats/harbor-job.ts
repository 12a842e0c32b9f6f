import { createHash } from 'node:crypto';
import { getCompletion, getPrompt } from '../record/sampled-tokens.ts';
import type { Trajectory, Turn, Usage } from '../record/trajectory.ts';

/** Harbor names an agent and its version; a trajectory has the digest of the agent's file. */
const AGENT = { name: 'muster', version: '1' };
const NAME_LENGTH = 32;
const SUFFIX_LENGTH = 7;
/** The time of a job without trials. */
const NEVER = '1970-01-01T00:00:00.000Z';

/** The files of a trial that Harbor's tools read: `result.json`, which includes `config.json`, and the reward. */
export interface HarborTrial {
  /** The name of its directory. */
  readonly name: string;
  readonly config: object;
  readonly result: object;
  /** The content of `verifier/reward.json`; null when there is no verdict. */
  readonly rewards: Readonly<Record<string, number>> | null;
}

/** A job of Harbor that consists of trajectories, as Harbor 0.25 writes one. @param directory of the job, as a URL. */
export class HarborJob {
  readonly #name: string;
  readonly #directory: string;
  readonly #usage = { promptTokens: 0, completionTokens: 0, cachedTokens: 0 };
  readonly #evals = new Map<string, Evaluated>();
  #trials = 0;
  #startedAt: string | undefined;
  #finishedAt: string | undefined;

  constructor(name: string, directory: string) {
    this.#name = name;
    this.#directory = directory.replace(/\/?$/, '/');
  }

  get config(): object {
    return { job_name: this.#name };
  }

  add(trajectory: Trajectory): HarborTrial {
    const name = nameTrial(trajectory);
    const { task, taskDigest, model, reward, components, usage, timings } = trajectory;
    const rewards = reward === null ? null : { ...components, reward };
    const exception = describeException(trajectory);
    this.#count(trajectory, name, exception?.exception_type);
    const config = { task: { path: task }, trial_name: name, agent: { name: AGENT.name, model_name: model }, job_id: this.#deriveId() };
    const result = {
      id: deriveUuid(`trial ${trajectory.trajectory}`),
      task_name: task,
      trial_name: name,
      trial_uri: `${this.#directory}${name}`,
      task_id: { path: task },
      source: null,
      task_checksum: taskDigest,
      config,
      agent_info: { ...AGENT, model_info: model === null ? null : { name: model, provider: null } },
      agent_result: { ...describeUsage(usage), rollout_details: describeRollouts(trajectory), metadata: describeOrigin(trajectory) },
      verifier_result: rewards && { rewards },
      exception_info: exception,
      started_at: timings.startedAt,
      finished_at: timings.endedAt,
      agent_execution: { started_at: timings.startedAt, finished_at: trajectory.turns.at(-1)?.endedAt ?? timings.endedAt },
    };
    return { name, config, result, rewards };
  }

  /** The result of all added trials. */
  get result(): object {
    const evals = Object.fromEntries([...this.#evals].map(([key, evaluated]) => [key, describeEvaluated(evaluated)]));
    const errored = [...this.#evals.values()].reduce((sum, { errors }) => sum + errors, 0);
    const at = this.#startedAt ?? NEVER;
    return {
      id: this.#deriveId(),
      started_at: at,
      updated_at: this.#finishedAt ?? at,
      finished_at: this.#finishedAt ?? at,
      n_total_trials: this.#trials,
      stats: { n_completed_trials: this.#trials, n_errored_trials: errored, evals, ...describeUsage(this.#usage) },
    };
  }

  #deriveId(): string {
    return deriveUuid(`job ${this.#name}`);
  }

  #count({ model, reward, usage, timings }: Trajectory, name: string, exception: string | undefined): void {
    this.#trials += 1;
    for (const key of ['promptTokens', 'completionTokens', 'cachedTokens'] as const) this.#usage[key] += usage[key];
    if (this.#startedAt === undefined || timings.startedAt < this.#startedAt) this.#startedAt = timings.startedAt;
    if (this.#finishedAt === undefined || timings.endedAt > this.#finishedAt) this.#finishedAt = timings.endedAt;
    const key = [AGENT.name, ...(model === null ? [] : [model]), 'adhoc'].join('__');
    const evaluated = this.#evals.get(key) ?? { rewards: new Map(), exceptions: new Map(), errors: 0 };
    this.#evals.set(key, evaluated);
    if (reward !== null) append(evaluated.rewards, reward, name);
    if (exception === undefined) return;
    evaluated.errors += 1;
    append(evaluated.exceptions, exception, name);
  }
}

/** Names of trials, by their reward and by the exception that ended them. */
interface Evaluated {
  readonly rewards: Map<number, string[]>;
  readonly exceptions: Map<string, string[]>;
  errors: number;
}

function append<Key>(named: Map<Key, string[]>, key: Key, name: string): void {
  const names = named.get(key) ?? [];
  names.push(name);
  named.set(key, names);
}

function describeEvaluated({ rewards, exceptions, errors }: Evaluated): object {
  const count = [...rewards.values()].reduce((sum, names) => sum + names.length, 0);
  const sum = [...rewards].reduce((all, [reward, names]) => all + reward * names.length, 0);
  return {
    n_trials: count,
    n_errors: errors,
    metrics: count === 0 ? [] : [{ mean: sum / count }],
    pass_at_k: {},
    reward_stats: { reward: Object.fromEntries(rewards) },
    exception_stats: Object.fromEntries(exceptions),
  };
}

/** Only an abnormal end counts as an exception. In Harbor, reaching a limit is none either. */
function describeException({ status, stopReason, timings }: Trajectory): { readonly exception_type: string } | null {
  if (status !== 'failed' && status !== 'cancelled') return null;
  const about = { exception_message: `the trajectory ended with "${stopReason}"`, exception_traceback: '', occurred_at: timings.endedAt };
  return { exception_type: status === 'cancelled' ? 'CancelledError' : 'AgentError', ...about };
}

function describeUsage({ promptTokens, cachedTokens, completionTokens }: Usage): object {
  return { n_input_tokens: promptTokens, n_cache_tokens: cachedTokens, n_output_tokens: completionTokens };
}

/** Describes one rollout for each segment: within it, each prompt extends the tokens before. */
function describeRollouts({ turns, segments }: Trajectory): readonly object[] | null {
  const sampled = turns.flatMap(({ tokens }) => (tokens === null ? [] : [tokens]));
  if (sampled.length === 0) return null;
  return segments.map((segment, position) => {
    const own = sampled.filter((tokens) => tokens.segment === position);
    return {
      prompt_token_ids: own.map((tokens) => getPrompt(segments, tokens)),
      completion_token_ids: own.map((tokens) => getCompletion(segments, tokens).ids),
      ...(segment.logprobs === null ? {} : { logprobs: own.map((tokens) => getCompletion(segments, tokens).logprobs ?? []) }),
    };
  });
}

function describeOrigin({ trajectory, agent, group, rep, seed, taskSeed, status, stopReason, turns }: Trajectory): object {
  const versions = turns.map(({ policyVersion }: Turn) => policyVersion);
  return { trajectory, agent, group, rep, seed, taskSeed, status, stopReason, policyVersions: versions };
}

function nameTrial({ task, trajectory }: Pick<Trajectory, 'task' | 'trajectory'>): string {
  const suffix = BigInt(`0x${computeDigest(trajectory)}`)
    .toString(36)
    .slice(0, SUFFIX_LENGTH);
  const name = (task.split('/').at(-1) ?? task).replaceAll(/[^A-Za-z0-9._-]/g, '-').slice(0, NAME_LENGTH);
  return `${name}__${suffix}`;
}

/** Derives equal ids from equal texts: a job that is written again has the same ids. */
function deriveUuid(text: string): string {
  const digest = computeDigest(text);
  return [digest.slice(0, 8), digest.slice(8, 12), `8${digest.slice(13, 16)}`, `8${digest.slice(17, 20)}`, digest.slice(20, 32)].join('-');
}

function computeDigest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
