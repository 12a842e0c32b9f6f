import type { FetchOrder } from '../../../kernel/fetching.ts';
import type { HeldFile } from './pull-order.ts';

/** The largest number of files that are named as bases: those of the last checkpoint or two, also with many shards. */
const MOST_HELD = 256;
/** Smallest file, in bytes, for which a delta is worth its cost. */
const WORTH_HOLDING_BYTES = 2 ** 20;

/** The files that one sandbox has fetched: each checkpoint once, and files that may be the base of the next delta. */
export class HeldFiles {
  readonly #fetched = new Map<string, Promise<string>>();
  #files: readonly HeldFile[] = [];

  /** The latest fetched files, last first. */
  get bases(): readonly HeldFile[] {
    return this.#files;
  }

  /** Returns the directory with the files. Simultaneous callers share one fetch; after a failure the next caller tries again. */
  fetchOnce(order: FetchOrder, fetch: () => Promise<string>): Promise<string> {
    const known = this.#fetched.get(order.digest);
    if (known) return known;
    const fetching = this.#fetch(order, fetch);
    fetching.catch(() => this.#fetched.delete(order.digest));
    this.#fetched.set(order.digest, fetching);
    return fetching;
  }

  async #fetch({ files }: FetchOrder, fetch: () => Promise<string>): Promise<string> {
    const directory = await fetch();
    const held = files
      .filter(({ size }) => size >= WORTH_HOLDING_BYTES)
      .map(({ digest, path }) => ({ digest, path: `${directory}/${path}` }));
    this.#files = [...held, ...this.#files].slice(0, MOST_HELD);
    return directory;
  }
}
