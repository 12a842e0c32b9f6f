import { buildErrorKey, type Failed } from '../../kernel/outcome.ts';
import type { EpisodeIndex } from '../../kernel/ids.ts';

/** Failed episodes of the result that have the same error. */
export interface ErrorGroup {
  readonly cause: Failed['cause'];
  readonly episodes: number;
  readonly firstIndex: EpisodeIndex;
  /** Detail of the first of them, shortened. */
  readonly detail: string;
}

export interface LoggedErrors {
  /** The first distinct errors, in order of index. */
  readonly groups: readonly ErrorGroup[];
  /** Failed episodes whose error is in none of the groups. */
  readonly others: number;
}

/** A reader looks at the first few; the episodes have the rest. */
const MOST_GROUPS = 8;
/** Characters of a detail that are kept: its beginning names the error, its end the position. */
const [HEAD, TAIL] = [1200, 700];
/** Pending failures are cleaned up when there are this many, and when their number has doubled since. */
const LEAST_PENDING = 1024;

/** Shared by failures with the same error: the detail of the one with the lowest index. */
interface SharedError {
  readonly cause: Failed['cause'];
  index: EpisodeIndex;
  detail: string;
}

/** Collects the errors of an arm's failed episodes. Episodes come in any order; the report depends on the indices alone. */
export class FailureLog {
  readonly #groups = new Map<SharedError, { episodes: number }>();
  /** One object for each error, so that a thousand failures do not hold their text a thousand times. */
  #errors = new Map<string, SharedError>();
  #pending: { readonly index: EpisodeIndex; readonly error: SharedError }[] = [];
  #enough = LEAST_PENDING;
  #others = 0;

  /** @param folded all indices before it belong to the result for good. */
  note(index: EpisodeIndex, failed: Failed, folded: number): void {
    this.#pending.push({ index, error: this.#shareError(index, failed) });
    if (this.#pending.length < this.#enough) return;
    this.#settle(folded);
    this.#enough = Math.max(LEAST_PENDING, 2 * this.#pending.length);
  }

  /** Reads the errors of episodes before index `folded`. */
  readUpTo(folded: number): LoggedErrors {
    this.#settle(folded);
    const groups = [...this.#groups].map(([{ cause, index, detail }, { episodes }]) => ({ cause, episodes, firstIndex: index, detail }));
    return { groups, others: this.#others };
  }

  #shareError(index: EpisodeIndex, failed: Failed): SharedError {
    const key = buildErrorKey(failed);
    const known = this.#errors.get(key);
    if (!known) {
      const error = { cause: failed.cause, index, detail: shorten(failed.detail) };
      this.#errors.set(key, error);
      return error;
    }
    if (index < known.index) {
      known.index = index;
      known.detail = shorten(failed.detail);
    }
    return known;
  }

  #settle(folded: number): void {
    const due = this.#pending.filter(({ index }) => index < folded).sort((a, b) => a.index - b.index);
    this.#pending = this.#pending.filter(({ index }) => index >= folded);
    for (const { error } of due) this.#count(error);
    const waiting = new Set(this.#pending.map(({ error }) => error));
    this.#errors = new Map([...this.#errors].filter(([, error]) => this.#groups.has(error) || waiting.has(error)));
  }

  #count(error: SharedError): void {
    const group = this.#groups.get(error);
    if (group) group.episodes += 1;
    else if (this.#groups.size < MOST_GROUPS) this.#groups.set(error, { episodes: 1 });
    else this.#others += 1;
  }
}

function shorten(detail: string): string {
  return detail.length <= HEAD + TAIL ? detail : `${detail.slice(0, HEAD)}\n…\n${detail.slice(-TAIL)}`;
}
