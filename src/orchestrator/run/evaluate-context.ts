import type { WorkOut } from '../../aggregation/results/distribution-figures.ts';
import type { WorkOutImprovement } from '../../aggregation/resampling/probability-of-improvement.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Log } from '../../kernel/log.ts';
import type { Turns } from '../../kernel/turns.ts';
import type { ArmConfig } from '../arm/arm.ts';
import type { Players } from './players.ts';
import type { SlotShare } from './slot-share.ts';
import { getBlockSize } from '../suite/play.ts';
import type { SuiteDefinition } from '../suite/suite-definition.ts';

/** What a study needs to be played. */
export interface EvaluateContext {
  /** Disposed of by the caller. */
  readonly players: Players;
  /** The provider of the sandboxes, for the summary. */
  readonly provider: string;
  /** Most sandboxes that the pool may have: no more leases are asked for. */
  readonly maxSandboxes: number;
  /** The study's share of the sandboxes while others play, too. */
  readonly share?: SlotShare | undefined;
  /** In the currency that budgets are written in; undefined when the template has no price. */
  readonly costPerSandboxHour?: number | undefined;
  /** Computes figures outside of the event loop. Left out: they are computed in it. */
  readonly workOut?: WorkOut | undefined;
  /** The same for candidates of comparisons. */
  readonly workOutImprovement?: WorkOutImprovement | undefined;
  /** For a process that answers requests while it plays. */
  readonly turns?: Turns | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly config: EvaluationRunConfig;
}

export interface EvaluationRunConfig extends ArmConfig {
  /** Failures of infrastructure in a row, without an outcome in between, that a sandbox's slot may have. */
  readonly infrastructureRetries: number;
  /** Before the first of these retries; doubled for each further one. */
  readonly retryMilliseconds: number;
  readonly renewMilliseconds: number;
  readonly beginMilliseconds: number;
  readonly loadMilliseconds: number;
}

/** Fewer episodes than these in the window and ranges get so short that messages, not episodes, take the time. */
const WINDOW_PER_SANDBOX = 64;

/** Fewer blocks than these and a sandbox waits for the fold while another is slow with an earlier block. */
const BLOCKS_IN_WINDOW_PER_SANDBOX = 4;

/** The window that is used: the configured one, or a larger one that this number of sandboxes needs. */
export function getWindow(
  { config, maxSandboxes }: Pick<EvaluateContext, 'config' | 'maxSandboxes'>,
  { play }: Pick<SuiteDefinition, 'play'>,
): number {
  return Math.max(config.window, Math.max(WINDOW_PER_SANDBOX, BLOCKS_IN_WINDOW_PER_SANDBOX * getBlockSize(play)) * maxSandboxes);
}
