import { sleep, type Clock } from '../../kernel/clock.ts';
import { InfrastructureError, InputError } from '../../kernel/errors.ts';
import { CheckpointChangedError, type CheckpointSource } from '../../policy-distribution/checkpoint-source.ts';
import { BegunEvaluations } from './begun-evaluations.ts';
import { findCheckpointsIn, type FoundCheckpoint } from './found-checkpoints.ts';
import { QuietTime } from './quiet-time.ts';
import type { WatchEvent } from './watch-event.ts';
import { chooseFollowing, planWatch, type StalePolicy } from './watch-plan.ts';
import { addSettled, isSettled, judgeStanding, omitPassing, type Score, type WatchMemory, type WatchRecord } from './watch-record.ts';

export interface WatchTerms {
  /** The URI of the run's directory: an absolute path, gs:// or s3://. */
  readonly uri: string;
  /** File with which writers say that they are done; undefined: a checkpoint is complete when it has not changed for `everyMs`. */
  readonly marker: string | undefined;
  readonly stale: StalePolicy;
  readonly everyMs: number;
  /** Ends when everything that is there is done with. */
  readonly once: boolean;
}

export interface WatchPorts {
  readonly source: CheckpointSource;
  readonly maxFiles: number;
  readonly memory: WatchMemory;
  readonly clock: Clock;
  /**
   * @param after of an evaluation that is only to be made ready until this has settled.
   * @throws as `Muster.evaluate` does.
   */
  evaluate(name: string, uri: string, signal: AbortSignal, after?: Promise<unknown>): Promise<Score>;
  /** Never rejects: the receiver may be unreachable. */
  report(event: WatchEvent, signal: AbortSignal): Promise<void>;
  /** Publishes the location of the best one. Never rejects. @returns whether it was published. */
  pointTo(best: Score, signal: AbortSignal): Promise<boolean>;
}

/** Why an evaluation is given up. */
class Overtaken extends DOMException {
  readonly by: string;

  constructor(by: string) {
    super(`${by} is complete`, 'AbortError');
    this.by = by;
  }
}

/** The number of failed looks in a row after which it ends. It survives an outage of some hours at the usual pace. */
const MOST_FAILED_LOOKS = 240;
const MOST_FAILED_EVALUATIONS = 3;

/**
 * Evaluates the checkpoints of a run as they become complete, one at a time. Meanwhile others may appear, and the newest of them is prepared. It is
 * next when the evaluation is over, or when the evaluation is given up for a newer checkpoint, where that is the policy. A checkpoint's result is
 * recorded before it is reported, so a restarted watch continues where it ended and evaluates the unfinished checkpoint again.
 */
export class RunWatch {
  readonly #terms: WatchTerms;
  readonly #ports: WatchPorts;
  readonly #quiet: QuietTime;
  readonly #begun: BegunEvaluations;
  #record: WatchRecord;
  #failedLooks = 0;
  #hasReportedMissing = false;
  /** The number of failed evaluations in a row. */
  #failedEvaluations = 0;
  #pointedTo: string | undefined;

  private constructor(terms: WatchTerms, ports: WatchPorts, record: WatchRecord) {
    this.#terms = terms;
    this.#ports = ports;
    this.#record = record;
    this.#quiet = new QuietTime(terms.everyMs, terms.marker !== undefined);
    this.#begun = new BegunEvaluations((checkpoint, after, signal) =>
      ports.evaluate(checkpoint.name, this.#getUri(checkpoint), signal, after),
    );
  }

  /**
   * Runs until the signal is aborted, or with `once` until there is nothing left to do.
   *
   * @throws the signal's reason; InputError `watch.held` when another process watches the same; InfrastructureError when the run can no longer be
   * listed, or evaluations fail one after the other.
   */
  static async run(terms: WatchTerms, ports: WatchPorts, signal: AbortSignal): Promise<WatchRecord> {
    await using _held = await ports.memory.hold();
    const record = await ports.memory.read();
    const watch = new RunWatch(terms, ports, omitPassing(record, terms.stale === 'evaluate'));
    await using _begun = watch.#begun;
    await watch.#point(signal);
    while (!(await watch.#step(signal)));
    return watch.#record;
  }

  /** @returns whether it is over. */
  async #step(signal: AbortSignal): Promise<boolean> {
    const found = await this.#look(signal);
    const complete = this.#quiet.look(found, this.#ports.clock.now());
    const { next, stale } = planWatch(this.#record, complete, this.#terms.stale);
    for (const checkpoint of stale) await this.#settle({ event: 'skipped', name: checkpoint.name }, checkpoint, signal);
    if (next && (await this.#evaluate(next, signal))) return false;
    if (this.#terms.once && next === undefined && !this.#isWaiting(found)) return true;
    await sleep(this.#ports.clock, this.#terms.everyMs, signal);
    return false;
  }

  /** Waits for a writer to finish; a missing marker may never come. */
  #isWaiting(found: readonly FoundCheckpoint[]): boolean {
    return this.#terms.marker === undefined && found.some((checkpoint) => !isSettled(this.#record, checkpoint));
  }

  async #look(signal: AbortSignal): Promise<readonly FoundCheckpoint[]> {
    const { source, maxFiles } = this.#ports;
    try {
      const { kind, files } = await source.list(this.#terms.uri, { signal, maxFiles });
      this.#failedLooks = 0;
      if (kind === 'directory') return findCheckpointsIn(files, this.#terms.marker);
    } catch (error) {
      signal.throwIfAborted();
      if (!this.#terms.once && error instanceof InputError && error.code === 'checkpoint.missing')
        return await this.#reportMissing(error, signal);
      this.#failedLooks += 1;
      if (!(error instanceof InfrastructureError) || this.#terms.once || this.#failedLooks >= MOST_FAILED_LOOKS) throw error;
      await this.#ports.report({ event: 'troubled', name: this.#terms.uri, message: error.message }, signal);
      return [];
    }
    throw new InputError(
      'watch.file',
      `watch: ${this.#terms.uri} is a file; expected the directory into which a run writes its checkpoints`,
    );
  }

  /** Reports once that the run has written nothing yet, or that its path is wrong. */
  async #reportMissing({ message }: InputError, signal: AbortSignal): Promise<readonly FoundCheckpoint[]> {
    if (!this.#hasReportedMissing) await this.#ports.report({ event: 'troubled', name: this.#terms.uri, message }, signal);
    this.#hasReportedMissing = true;
    return [];
  }

  /** @returns whether there was an answer, so that there may be more to do at once. */
  async #evaluate(checkpoint: FoundCheckpoint, signal: AbortSignal): Promise<boolean> {
    const { name } = checkpoint;
    await using newer = this.#lookForNewer(checkpoint, signal);
    try {
      const score = await this.#begun.evaluate(checkpoint, newer.signal);
      newer.signal.throwIfAborted();
      this.#failedEvaluations = 0;
      const stands = judgeStanding(this.#record.best, score);
      if (stands === 'first' || stands === 'better') this.#record = { ...this.#record, best: score };
      await this.#settle({ event: 'evaluated', name, score, standing: stands, best: this.#record.best ?? score }, checkpoint, signal);
      await this.#point(signal);
      return true;
    } catch (error) {
      signal.throwIfAborted();
      if (newer.signal.aborted) return await this.#giveUp(checkpoint, newer.signal.reason, signal);
      return await this.#settleFailure(checkpoint, error, signal);
    }
  }

  /** Aborts its signal when the checkpoint is given up for a newer one; prepares the next one otherwise. Checks until it is disposed. */
  #lookForNewer(checkpoint: FoundCheckpoint, outer: AbortSignal): AsyncDisposable & { readonly signal: AbortSignal } {
    const [overtaken, over] = [new AbortController(), new AbortController()];
    const look = async (): Promise<void> => {
      const signal = AbortSignal.any([outer, over.signal]);
      while (!overtaken.signal.aborted) {
        await sleep(this.#ports.clock, this.#terms.everyMs, signal);
        const complete = this.#quiet.look(await this.#look(signal), this.#ports.clock.now());
        const next = chooseFollowing(this.#record, complete, checkpoint, this.#terms.stale);
        if (next && this.#terms.stale === 'cancel') overtaken.abort(new Overtaken(next.name));
        else if (next) await this.#begun.prepare(next);
      }
    };
    // A failure to list the run is noticed again, and reported, when the evaluation is over.
    const looking = look().catch(() => undefined);
    return {
      signal: AbortSignal.any([outer, overtaken.signal]),
      [Symbol.asyncDispose]: async () => {
        over.abort();
        await looking;
      },
    };
  }

  async #giveUp(checkpoint: FoundCheckpoint, why: unknown, signal: AbortSignal): Promise<boolean> {
    const by = why instanceof Overtaken ? why.by : '';
    await this.#settle({ event: 'cancelled', name: checkpoint.name, by }, checkpoint, signal);
    return true;
  }

  async #settleFailure(checkpoint: FoundCheckpoint, error: unknown, signal: AbortSignal): Promise<boolean> {
    const { name } = checkpoint;
    if (error instanceof CheckpointChangedError) {
      await this.#ports.report({ event: 'troubled', name, message: error.message }, signal);
      return false;
    }
    if (error instanceof InputError) {
      await this.#settle({ event: 'refused', name, code: error.code, message: error.message }, checkpoint, signal);
      return true;
    }
    this.#failedEvaluations += 1;
    if (!(error instanceof InfrastructureError) || this.#failedEvaluations >= MOST_FAILED_EVALUATIONS) throw error;
    await this.#ports.report({ event: 'troubled', name, message: error.message }, signal);
    return false;
  }

  async #settle(
    event: Exclude<WatchEvent, { readonly event: 'troubled' }>,
    checkpoint: FoundCheckpoint,
    signal: AbortSignal,
  ): Promise<void> {
    this.#record = addSettled(this.#record, checkpoint, event.event === 'cancelled' ? 'skipped' : event.event);
    await this.#ports.memory.write(this.#record);
    await this.#ports.report(event, signal);
  }

  async #point(signal: AbortSignal): Promise<void> {
    const { best } = this.#record;
    if (best === null || best.digest === this.#pointedTo) return;
    if (await this.#ports.pointTo(best, signal)) this.#pointedTo = best.digest;
  }

  #getUri({ name, kind }: FoundCheckpoint): string {
    return `${this.#terms.uri.replace(/\/$/, '')}/${name}${kind === 'directory' ? '/' : ''}`;
  }
}
