import type { Progress } from '../../orchestrator/facts/progress.ts';
import type { Summary } from '../../orchestrator/results/summary.ts';
import type { SuiteFlags } from '../flags/run-flags.ts';
import type { StopFlags } from '../flags/stop-override.ts';
import type { SuiteChangeFlags } from '../flags/suite-change-flags.ts';

/** `muster eval` gets this from the composition root: a suite that is ready to be played by one checkpoint after the other. */
export type EvaluateSuite = (request: SuiteRequest) => Promise<SuiteEvaluator>;

export interface SuiteRequest extends StopFlags, SuiteChangeFlags, Pick<SuiteFlags, 'config' | 'sandboxes'> {
  /** Path of the suite file. */
  readonly suite: string;
}

export interface SuiteEvaluator extends AsyncDisposable {
  readonly suiteName: string;
  /** The suite's own agent, which plays when no checkpoint and no agent is named. */
  readonly agent: string | undefined;
  evaluate(checkpoint: string, options: CheckpointOptions): Promise<Summary>;
}

export interface CheckpointOptions {
  readonly signal: AbortSignal;
  /** See `EvaluationOptions.after`. */
  readonly after: Promise<void>;
  readonly onProgress: (progress: Progress) => void;
  /** See `EvaluationOptions`. */
  readonly out?: string;
  readonly onEarlier?: (earlier: 'resumed' | 'begun-anew' | 'complete') => void;
}
