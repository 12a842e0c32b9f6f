import type { EvaluationCatalogue } from '../../evaluation-store/evaluation-catalogue.ts';
import type { StoredEvaluation } from '../../evaluation-store/evaluation-record.ts';
import type { Clock } from '../../kernel/clock.ts';
import { getMessage } from '../../kernel/errors.ts';
import type { EvaluationId } from '../../kernel/ids.ts';
import type { Log } from '../../kernel/log.ts';
import { Listener, type News } from '../playing/news.ts';
import type { RunningFigures } from '../orders/running-figures.ts';

export interface LiveFeedOptions {
  readonly evaluations: Pick<EvaluationCatalogue, 'find' | 'list'>;
  readonly news: News;
  readonly clock: Clock;
  readonly log: Log;
}

/** The changes since the reader's last look. Readers that keep up get the same object, so that work on it can be shared. */
export interface LiveChanges {
  /** New ones, and ones that began or ended. */
  readonly evaluations: readonly StoredEvaluation[];
  /** The figures of evaluations without other changes. */
  readonly running: ReadonlyMap<EvaluationId, RunningFigures>;
  /** True when more has changed than is kept for one reader: it has to read the list again. */
  readonly isIncomplete: boolean;
}

/** Readers get changes this often at most. A person sees no difference, and an evaluation reports once a second. */
const TICK_MILLISECONDS = 500;
/** How often to look for changes by other processes on the same store. */
const ELSEWHERE_MILLISECONDS = 5000;
const ELSEWHERE_LIMIT = 200;
/** The largest number of changes that are kept for a slow reader. */
const MOST_KEPT = 2000;
/** Rows that are read in one tick. The others follow in the next. */
const ROWS_AT_A_TIME = 50;

/**
 * Changes of all evaluations, for pages that show many of them. It is idle without readers. With readers, it is notified of what this process plays,
 * reads each changed row once for all readers, and looks now and then for what other processes have changed.
 */
export class LiveFeed {
  readonly #options: LiveFeedOptions;
  readonly #readers = new Set<Reader>();
  /** Rows to read in the next ticks, oldest first. */
  readonly #changed = new Set<EvaluationId>();
  #running = new Map<EvaluationId, RunningFigures>();
  /** Evaluations about which this process has announced something since the store was last read. */
  readonly #heard = new Set<EvaluationId>();
  /** Evaluations that were open when the store was last read. */
  #open: ReadonlySet<EvaluationId> = new Set();
  #elsewhereAt = -Infinity;
  #work: Disposable | undefined;

  constructor(options: LiveFeedOptions) {
    this.#options = options;
  }

  /** Yields one item a tick, perhaps without a change, until the signal is aborted. An item never changes after it was yielded. */
  async *read(signal: AbortSignal): AsyncGenerator<LiveChanges> {
    const reader = new Reader();
    this.#readers.add(reader);
    this.#work ??= this.#begin();
    try {
      while (!signal.aborted) {
        await reader.next(this.#options.clock, signal);
        if (!signal.aborted) yield reader.take();
      }
    } finally {
      this.#readers.delete(reader);
      reader[Symbol.dispose]();
      if (this.#readers.size === 0) this.#end();
    }
  }

  #begin(): Disposable {
    const { news, clock } = this.#options;
    const work = new DisposableStack();
    work.use(
      news.listenToAll((evaluation, running) => {
        this.#heard.add(evaluation);
        if (running === undefined) this.#changed.add(evaluation);
        else this.#running.set(evaluation, running);
      }),
    );
    let timer: Disposable | undefined;
    const tick = (): void => {
      timer = clock.after(TICK_MILLISECONDS, () => void this.#publish().finally(() => this.#work === work && tick()));
    };
    work.defer(() => timer?.[Symbol.dispose]());
    tick();
    return work;
  }

  #end(): void {
    this.#work?.[Symbol.dispose]();
    this.#work = undefined;
    this.#changed.clear();
    this.#running.clear();
    this.#heard.clear();
    this.#open = new Set();
    this.#elsewhereAt = -Infinity;
  }

  async #publish(): Promise<void> {
    const running = this.#running;
    this.#running = new Map();
    let rows: readonly StoredEvaluation[] = [];
    try {
      await this.#lookElsewhere();
      rows = await this.#readChanged();
    } catch (error) {
      // Evaluations that could not be read stay among the changed ones.
      this.#options.log.warn({ error: getMessage(error) }, 'changes of evaluations could not be read for open pages');
    }
    const changes: LiveChanges = { evaluations: rows, running, isIncomplete: false };
    for (const reader of this.#readers) reader.put(changes);
  }

  async #readChanged(): Promise<readonly StoredEvaluation[]> {
    const ids = [...this.#changed].slice(0, ROWS_AT_A_TIME);
    const rows = await Promise.all(ids.map((id) => this.#options.evaluations.find(id)));
    for (const id of ids) this.#changed.delete(id);
    return rows.filter((row) => row !== undefined);
  }

  async #lookElsewhere(): Promise<void> {
    const { evaluations, clock } = this.#options;
    if (clock.now() - this.#elsewhereAt < ELSEWHERE_MILLISECONDS) return;
    this.#elsewhereAt = clock.now();
    const { items } = await evaluations.list({ states: ['waiting', 'running'] }, { limit: ELSEWHERE_LIMIT, after: undefined });
    const open = new Set(items.map(({ id }) => id));
    for (const id of open.union(this.#open).difference(this.#heard)) this.#changed.add(id);
    this.#heard.clear();
    this.#open = open;
  }
}

const NONE: LiveChanges['running'] = new Map();

/** Changes that one reader has not consumed yet. */
class Reader implements Disposable {
  /** The tick's own object when nothing was left from the previous one: all readers that keep up have the same object. */
  #kept: LiveChanges | undefined;
  #wake: () => void = () => undefined;
  readonly #wait = new Listener((wake) => {
    this.#wake = wake;
    return () => undefined;
  });

  put(changes: LiveChanges): void {
    const kept = this.#kept ? joinChanges(this.#kept, changes) : changes;
    const isTooMuch = kept.evaluations.length + kept.running.size > MOST_KEPT;
    this.#kept = isTooMuch ? { evaluations: [], running: NONE, isIncomplete: true } : kept;
    this.#wake();
  }

  take(): LiveChanges {
    const changes = this.#kept ?? { evaluations: [], running: NONE, isIncomplete: false };
    this.#kept = undefined;
    return changes;
  }

  async next(clock: Clock, signal: AbortSignal): Promise<void> {
    await this.#wait.next(clock, ELSEWHERE_MILLISECONDS, signal);
  }

  [Symbol.dispose](): void {
    this.#wait[Symbol.dispose]();
  }
}

function joinChanges(before: LiveChanges, after: LiveChanges): LiveChanges {
  const rows = new Map([...before.evaluations, ...after.evaluations].map((row) => [row.id, row]));
  return {
    evaluations: [...rows.values()],
    running: new Map([...before.running, ...after.running]),
    isIncomplete: before.isIncomplete || after.isIncomplete,
  };
}
