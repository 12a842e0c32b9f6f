import type { EpisodeIndex } from '../kernel/ids.ts';
import type { Outcome } from '../kernel/outcome.ts';
import type { SandboxUsage } from '../kernel/sandbox-usage.ts';
import type { EpisodeFrame } from './frames.ts';
import type { PlannedEpisode } from './playlist.ts';

/** Which program was ended by SIGKILL or SIGTERM during an episode, whose outcome is `lost` then. The policy's, where that has one of its own. */
export type Killed = 'runner' | 'policy' | false;

/** What a session hands over of one episode. */
export interface PlayedEpisode {
  readonly index: EpisodeIndex;
  /** Digest of the policy that was loaded when it was played. */
  readonly checkpoint: string;
  readonly outcome: Outcome;
  /** Wall-clock seconds of the episode as the runner measured them, at most the time limit: a measure for dispatch, not for the result. */
  readonly seconds: number;
  /** About how many of them were spent in the policy's forward pass. Undefined when the runner does not measure it. */
  readonly forwardSeconds?: number;
  readonly killed: Killed;
  /** Others of its block failed with it: what ended their process, or hung it, is the outcome of all of them. */
  readonly sharesFailure?: true;
  /** What the environment and the policy printed, shortened. */
  readonly log?: string;
  /** Of an agent: what it did, as JSON for people. */
  readonly transcript?: object;
  /** What the runner has to say of it, for people. */
  readonly remarks?: readonly string[];
  /** By its sandbox since that was made, as of the end of this episode or a little before. */
  readonly usage?: SandboxUsage;
}

export interface Collected {
  readonly played: readonly PlayedEpisode[];
  /** The session's end. */
  readonly closed?: { readonly reason: string; readonly unplayed: readonly PlannedEpisode[] };
}

/** @param metrics names that were asked for: what else a runner sends is not kept. */
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
