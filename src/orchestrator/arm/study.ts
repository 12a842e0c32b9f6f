import type { RunningReturns } from '../../aggregation/results/running-returns.ts';
import type { Arm } from './arm.ts';

/** Running figures from which a progress display can estimate the time left. */
export interface RunningFigures {
  /** Episodes that are likely still to be played, over all arms. */
  readonly expectedRemaining: number;
}

/**
 * Why a study needs no more episodes: its rule is satisfied, every verdict is reached, the budget of episodes is spent, or all episodes
 * fail.
 */
export type StudyEnd = 'rule' | 'verdicts' | 'episodes' | 'failures';

/** The question that a run of episodes answers, and its arms: one for an evaluation, one for each checkpoint of a comparison. */
export interface Study<Running extends RunningFigures> {
  readonly arms: readonly Arm[];
  /** It is undefined while episodes are needed. */
  readonly ended: StudyEnd | undefined;
  /** Outcomes that are not part of the result: those after a missing one, and surplus ones. */
  readonly surplus: number;
  getRunning(): Running;
  /** Returns figures of the returns so far, of a study of one checkpoint. */
  getReturns?(): RunningReturns;
}
