import type { Digest, EpisodeIndex } from '../../kernel/ids.ts';
import type { Outcome } from '../../kernel/outcome.ts';
import type { SandboxUsage } from '../../kernel/sandbox-usage.ts';

/** All that is stored of one episode: a line of `episodes.ndjson`. */
export interface EpisodeRecord {
  readonly index: EpisodeIndex;
  readonly task: string;
  readonly environmentSeed: number;
  readonly policySeed: number;
  /** The checkpoint that it was played with. */
  readonly checkpoint: Digest;
  readonly outcome: Outcome;
  /** Whether it is a part of the official result; a `surplus` episode finished after the evaluation was complete. */
  readonly part: 'official' | 'surplus';
  /** Wall-clock seconds. */
  readonly seconds: number;
  /** Output of the environment and the policy, shortened. */
  readonly log?: string;
  /** What its sandbox had used since its creation, at the end of this episode or shortly before; left out where usage is not measured. */
  readonly usage?: SandboxUsage;
}

/** Stores episodes. Official ones arrive in index order, surplus ones at the end. */
export interface EpisodeSink {
  /**
   * @returns a promise when the caller should wait before it writes more (back-pressure). @throws InfrastructureError, at once or by the
   * promise, when a record cannot be stored.
   */
  write(record: EpisodeRecord): Promise<void> | undefined;
}
