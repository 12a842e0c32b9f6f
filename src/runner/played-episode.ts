import type { EpisodeIndex } from '../kernel/ids.ts';
import type { Outcome } from '../kernel/outcome.ts';
import type { SandboxUsage } from '../kernel/sandbox-usage.ts';
import type { EpisodeFrame } from './frames.ts';
import type { PlannedEpisode } from './playlist.ts';

/** The program that SIGKILL or SIGTERM ended during an episode, whose outcome is then `lost`: the policy's, if it has its own. */
export type Killed = 'runner' | 'policy' | false;

/** What a session reports of one episode. */
export interface PlayedEpisode {
  readonly index: EpisodeIndex;
  /** Digest of the policy that was loaded when it was played. */
  readonly checkpoint: string;
  readonly outcome: Outcome;
  /** Wall-clock seconds of the episode as the runner measured them, at most the time limit: a measure for dispatch, not a result. */
  readonly seconds: number;
  /** The approximate number of these seconds that the policy's forward pass took. It is undefined when the runner does not measure it. */
  readonly forwardSeconds?: number;
  readonly killed: Killed;
  /** Others of its block failed with it: a process that ends or hangs fails all of them. */
  readonly sharesFailure?: true;
  /** Output of the environment and the policy, shortened. */
  readonly log?: string;
  /** The agent's calls with their answers, and the verdict, as JSON for people. */
  readonly transcript?: object;
  /** The runner's remarks, for people. */
  readonly remarks?: readonly string[];
  /** Usage of its sandbox since the sandbox's creation, at the end of this episode or shortly before. */
  readonly usage?: SandboxUsage;
}

export interface Collected {
  readonly played: readonly PlayedEpisode[];
  /** Set when the session has ended. */
  readonly closed?: { readonly reason: string; readonly unplayed: readonly PlannedEpisode[] };
}

/** @param metrics the requested names: others that a runner sends are dropped. */
export function toFrameOutcome(frame: EpisodeFrame, metrics: readonly string[]): Outcome {
  switch (frame.type) {
    case 'completed':
      return { kind: 'completed', return: frame.return, length: frame.length, metrics: pickMetrics(frame.metrics, metrics) };
    case 'failed':
      return { kind: 'failed', cause: frame.cause, detail: frame.detail };
  }
}

const NO_METRICS = {};

function pickMetrics(all: Readonly<Record<string, number>>, names: readonly string[]): Readonly<Record<string, number>> {
  if (names.length === 0) return NO_METRICS;
  return Object.fromEntries(names.flatMap((name) => (Object.hasOwn(all, name) ? [[name, all[name] ?? Number.NaN]] : [])));
}
