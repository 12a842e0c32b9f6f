import type { Digest, EpisodeIndex } from '../../kernel/ids.ts';
import type { Outcome } from '../../kernel/outcome.ts';
import type { SandboxUsage } from '../../kernel/sandbox-usage.ts';

/** All that is kept of one episode: a line of `episodes.ndjson`. */
export interface EpisodeRecord {
  readonly index: EpisodeIndex;
  readonly task: string;
  readonly environmentSeed: number;
  readonly policySeed: number;
  /** The checkpoint that it was played with. */
  readonly checkpoint: Digest;
  readonly outcome: Outcome;
  /** In the official result; a `surplus` episode finished after the evaluation had all that it needed. */
  readonly part: 'official' | 'surplus';
  /** Wall-clock seconds. */
  readonly seconds: number;
  /** What the environment and the policy printed, shortened. */
  readonly log?: string;
  /** What its sandbox had used since it was made, as of the end of this episode or a little before; left out where usage is not measured. */
  readonly usage?: SandboxUsage;
}

/** Where episodes are kept. Official ones arrive in index order, surplus ones at the end. */
export interface EpisodeSink {
  /**
   * @returns a promise when the caller should wait before it writes more (back-pressure).
   * @throws InfrastructureError, at once or by the promise, when what was written cannot be kept.
   */
  write(record: EpisodeRecord): Promise<void> | undefined;
}
