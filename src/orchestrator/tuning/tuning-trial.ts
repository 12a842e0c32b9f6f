import { ReorderBuffer } from '../../aggregation/folding/reorder-buffer.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Outcome } from '../../kernel/outcome.ts';
import type { StoredCheckpoint } from '../../policy-distribution/stored-checkpoint.ts';
import { Arm, type ArmConfig } from '../arm/arm.ts';
import type { Goal } from '../arm/goal.ts';
import { getBlockSize } from '../suite/play.ts';
import type { RunningFigures, Study } from '../arm/study.ts';
import { createEpisodePlanner, type SuiteDefinition } from '../suite/suite-definition.ts';

export interface TrialOptions {
  readonly suite: SuiteDefinition;
  readonly suiteFiles: StoredCheckpoint | undefined;
  readonly checkpoint: StoredCheckpoint;
  readonly config: ArmConfig;
  readonly sandboxes: number;
  readonly clock: Clock;
  /** The trial ends when it has lasted this long since every sandbox had its first block, and each has played some blocks. */
  readonly milliseconds: number;
}

/** With fewer blocks of each sandbox, the result depends too much on whether the last one ends just before or after the trial. */
const BLOCKS_OF_EACH = 4;
/** Outcomes that arrive within this time count as simultaneous, in milliseconds. */
const TOGETHER = 2;

/**
 * Plays episodes to measure their time. The watch starts with the last outcome of the first blocks, of which there is one for each sandbox,
 * so that it excludes making sandboxes and loading policies.
 */
export class TuningTrial implements Study<RunningFigures>, Goal {
  readonly arms: readonly [Arm];
  readonly ended = undefined;
  readonly surplus = 0;
  readonly limit = Number.POSITIVE_INFINITY;
  readonly #options: TrialOptions;
  readonly #firstBlocks: number;
  readonly #buffer: ReorderBuffer<Outcome>;
  readonly #over = new AbortController();
  #outcomes = 0;
  #failed = 0;
  /** When the watch started, and the number of outcomes by then. */
  #start: { readonly at: number; readonly outcomes: number } | undefined;
  #lastAt = 0;

  constructor(options: TrialOptions) {
    const { suite, config, sandboxes } = options;
    const size = getBlockSize(suite.play);
    this.#options = options;
    this.#firstBlocks = sandboxes * size;
    this.#buffer = new ReorderBuffer(config.window + size);
    this.arms = [new Arm({ ...options, goal: this, plan: createEpisodePlanner(suite) })];
  }

  /** Aborted when it has lasted long enough. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  get outcomes(): number {
    return this.#outcomes;
  }

  get failed(): number {
    return this.#failed;
  }

  /** The rate that the watch has measured; undefined before it has seen a block of each sandbox. */
  get episodesPerSecond(): number | undefined {
    if (this.#start === undefined) return undefined;
    const outcomes = this.#outcomes - this.#start.outcomes;
    const milliseconds = this.#lastAt - this.#start.at;
    return outcomes < this.#firstBlocks || milliseconds <= 0 ? undefined : (1000 * outcomes) / milliseconds;
  }

  get folded(): number {
    return this.#buffer.next;
  }

  get isReached(): boolean {
    return this.#over.signal.aborted;
  }

  estimateRemaining(): number {
    return Number.POSITIVE_INFINITY;
  }

  getRunning(): RunningFigures {
    return { expectedRemaining: Number.POSITIVE_INFINITY };
  }

  offer(index: number, _task: number, outcome: Outcome): void {
    this.#buffer.put(index, outcome);
    while (this.#buffer.take()) continue;
    this.#outcomes += 1;
    if (outcome.kind !== 'completed') this.#failed += 1;
    this.#recordTime(this.#options.clock.now());
  }

  #recordTime(now: number): void {
    this.#lastAt = now;
    if (this.#outcomes < this.#firstBlocks) return;
    if (this.#start === undefined || now - this.#start.at < TOGETHER) {
      this.#start = { at: this.#start?.at ?? now, outcomes: this.#outcomes };
      return;
    }
    const isEnough = this.#outcomes - this.#start.outcomes >= BLOCKS_OF_EACH * this.#firstBlocks;
    if (isEnough && now - this.#start.at >= this.#options.milliseconds) this.#over.abort(new DOMException('timed', 'AbortError'));
  }
}
