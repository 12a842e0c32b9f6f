import type { EvaluationCourse, Report } from '../../evaluation-store/evaluation-course.ts';
import type { NewEvent } from '../../evaluation-store/event-log.ts';
import { OwnershipLostError, type Ownership } from '../../evaluation-store/ownership.ts';
import type { Clock } from '../../kernel/clock.ts';
import { getMessage } from '../../kernel/errors.ts';
import type { Log } from '../../kernel/log.ts';
import type { RunningFigures } from '../orders/running-figures.ts';

export interface ReporterOptions {
  readonly course: Pick<EvaluationCourse, 'report'>;
  readonly ownership: Ownership;
  readonly clock: Clock;
  readonly log: Log;
  /** Running figures are written this often at most. */
  readonly everyMilliseconds: number;
  /** Called when something was written that others may be waiting for. */
  readonly onReported: (running: RunningFigures) => void;
  readonly onLost: (error: OwnershipLostError) => void;
}

/**
 * `progress` events are kept as long as the evaluation. They come at a fiftieth of its age, so that a long one has at most some hundreds from its
 * first hour, and at least as often as a watcher would expect.
 */
const EVENT_SHARE_OF_AGE = 0.02;
const LONGEST_BETWEEN_EVENTS_MILLISECONDS = 15_000;

interface Unreported extends Report {
  readonly running: RunningFigures;
  /** Events that must not get lost. */
  readonly verdicts: readonly NewEvent[];
}

/** Tells the store how an evaluation goes, at a bounded rate: the latest figures, `progress` events, and `verdict` events as they come. */
export class Reporter implements AsyncDisposable {
  readonly #options: ReporterOptions;
  readonly #startedAt: number;
  readonly #decided = new Set<string>();
  #latest: RunningFigures | undefined;
  #verdicts: NewEvent[] = [];
  #lastEventAt = -Infinity;
  #timer: Disposable | undefined;
  #writing: Promise<void> | undefined;
  #isClosed = false;

  constructor(options: ReporterOptions) {
    this.#options = options;
    this.#startedAt = options.clock.now();
  }

  /** Adds figures; unwritten earlier ones are dropped, except verdicts. */
  update(figures: RunningFigures): void {
    if (this.#isClosed) return;
    this.#latest = figures;
    for (const event of listVerdicts(figures)) {
      if (this.#decided.has(event.data.candidate)) continue;
      this.#decided.add(event.data.candidate);
      this.#verdicts.push(event);
    }
    this.#timer ??= this.#options.clock.after(this.#options.everyMilliseconds, () => {
      this.#timer = undefined;
      const unreported = this.#writing ? undefined : this.#take();
      if (unreported) this.#writing = this.#write(unreported).finally(() => (this.#writing = undefined));
    });
  }

  /** Closes it. @returns what has not been written, for the caller to write. */
  async close(): Promise<Report | undefined> {
    await this[Symbol.asyncDispose]();
    return this.#take();
  }

  /** Closes it, and writes what has not been written. */
  async flush(): Promise<void> {
    await this[Symbol.asyncDispose]();
    const unreported = this.#take();
    if (unreported) await this.#write(unreported);
  }

  /** Ends the reports: afterwards nothing is added or written. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#timer?.[Symbol.dispose]();
    await this.#writing;
  }

  /** Takes what is still to be written. */
  #take(): Unreported | undefined {
    const running = this.#latest;
    if (!running) return undefined;
    const verdicts = this.#verdicts;
    this.#latest = undefined;
    this.#verdicts = [];
    const now = this.#options.clock.now();
    const isDue = this.#isEventDue(now);
    if (isDue) this.#lastEventAt = now;
    return { running, events: [...verdicts, ...(isDue ? [{ type: 'progress', data: running }] : [])], verdicts };
  }

  /** Figures are a convenience: when they cannot be written, the evaluation continues, and the next ones are tried. */
  async #write({ running, events, verdicts }: Unreported): Promise<void> {
    const { course, ownership, log, onReported, onLost } = this.#options;
    try {
      await course.report(ownership, { running, events });
      onReported(running);
    } catch (error) {
      if (error instanceof OwnershipLostError) return onLost(error);
      // Written with the next ones, or at the end.
      this.#latest ??= running;
      this.#verdicts = [...verdicts, ...this.#verdicts];
      log.warn({ evaluation: ownership.evaluation, error: getMessage(error) }, 'running figures could not be stored');
    }
  }

  #isEventDue(now: number): boolean {
    const age = now - this.#startedAt;
    const apart = Math.min(age * EVENT_SHARE_OF_AGE, LONGEST_BETWEEN_EVENTS_MILLISECONDS);
    return now - this.#lastEventAt >= apart || this.#isClosed;
  }
}

function listVerdicts(figures: RunningFigures): readonly { readonly type: 'verdict'; readonly data: { readonly candidate: string } }[] {
  if (figures.kind === 'evaluation') return [];
  return figures.candidates.flatMap(({ digest, verdict, ...rest }) =>
    verdict === null ? [] : [{ type: 'verdict', data: { candidate: digest, verdict, ...rest } }],
  );
}
