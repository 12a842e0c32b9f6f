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
  /** Disposed by the caller. */
  readonly players: Players;
  /** The provider of the sandboxes, for the summary. */
  readonly provider: string;
  /** The largest number of sandboxes of the pool: the run asks for no more leases. */
  readonly maxSandboxes: number;
  /** The study's share of the sandboxes while others play, too. */
  readonly share?: SlotShare | undefined;
  /** The cost in the currency of the budgets; undefined when the template has no price. */
  readonly costPerSandboxHour?: number | undefined;
  /** Computes figures outside of the event loop; in it when left out. */
  readonly workOut?: WorkOut | undefined;
  /** Computes candidates' probability of improvement outside of the event loop; in it when left out. */
  readonly workOutImprovement?: WorkOutImprovement | undefined;
  /** It is set in a process that answers requests while it plays. */
  readonly turns?: Turns | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly config: EvaluationRunConfig;
}

export interface EvaluationRunConfig extends ArmConfig {
  /** Failures of infrastructure in a row, without an outcome in between, that a sandbox's slot tolerates. */
  readonly infrastructureRetries: number;
  /** Pause before the first of these retries; doubled for each further one. */
  readonly retryMilliseconds: number;
  readonly renewMilliseconds: number;
  readonly beginMilliseconds: number;
  readonly loadMilliseconds: number;
}

/** With a smaller window, ranges get so short that messages take more time than episodes. */
const WINDOW_PER_SANDBOX = 64;

/** With fewer blocks, a sandbox waits for the fold while another is slow with an earlier block. */
const BLOCKS_IN_WINDOW_PER_SANDBOX = 4;

/** Returns the configured window, or a larger one if this number of sandboxes needs it. */
export function getWindow(
  { config, maxSandboxes }: Pick<EvaluateContext, 'config' | 'maxSandboxes'>,
  { play }: Pick<SuiteDefinition, 'play'>,
): number {
  return Math.max(config.window, Math.max(WINDOW_PER_SANDBOX, BLOCKS_IN_WINDOW_PER_SANDBOX * getBlockSize(play)) * maxSandboxes);
}
