import { buildErrorKey, type Failed } from '../../kernel/outcome.ts';
import type { EpisodeIndex } from '../../kernel/ids.ts';

/** Failed episodes of the result that have one error. */
export interface ErrorGroup {
  readonly cause: Failed['cause'];
  readonly episodes: number;
  readonly firstIndex: EpisodeIndex;
  /** Of the first of them, shortened. */
  readonly detail: string;
}

export interface LoggedErrors {
  /** The first distinct ones, in the order in which the indices met them. */
  readonly groups: readonly ErrorGroup[];
  /** Failed episodes with an error that is in none of the groups. */
  readonly others: number;
}

/** A reader looks at the first few; the rest is in the episodes. */
const MOST_GROUPS = 8;
/** Of a detail's characters: its beginning says what was raised, its end where. */
const [HEAD, TAIL] = [1200, 700];
/** Failures that wait for earlier indices are looked through when there are so many, and when there are twice as many as were left. */
const LEAST_PENDING = 1024;

/** What failures with one error share: the detail of the one with the lowest index. */
interface SharedError {
  readonly cause: Failed['cause'];
  index: EpisodeIndex;
  detail: string;
}

/** Gathers the errors of an arm's failed episodes. Episodes come in any order; what is said of them depends on the indices alone. */
export class FailureLog {
  readonly #groups = new Map<SharedError, { episodes: number }>();
  /** One for each error, so that a thousand failures do not hold their text a thousand times. */
  #errors = new Map<string, SharedError>();
  #pending: { readonly index: EpisodeIndex; readonly error: SharedError }[] = [];
  #enough = LEAST_PENDING;
  #others = 0;

  /** @param folded all indices before it are part of the result for good. */
  note(index: EpisodeIndex, failed: Failed, folded: number): void {
    this.#pending.push({ index, error: this.#shareError(index, failed) });
    if (this.#pending.length < this.#enough) return;
    this.#settle(folded);
    this.#enough = Math.max(LEAST_PENDING, 2 * this.#pending.length);
  }

  /** Of the episodes before index `folded`. */
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
