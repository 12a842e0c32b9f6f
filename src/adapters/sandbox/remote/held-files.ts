import type { FetchOrder } from '../../../kernel/fetching.ts';
import type { HeldFile } from './pull-order.ts';

/** Files that are named as bases, at most: those of the last checkpoint or two, also when it is one of many shards. */
const MOST_HELD = 256;
/** What is smaller is not worth a delta. In bytes. */
const WORTH_HOLDING_BYTES = 2 ** 20;

/** What has been fetched into one sandbox: each checkpoint once, and the files that may be the base of the next one. */
export class HeldFiles {
  readonly #fetched = new Map<string, Promise<string>>();
  #files: readonly HeldFile[] = [];

  /** Of what was fetched last, the last first. */
  get bases(): readonly HeldFile[] {
    return this.#files;
  }

  /** The directory that the files are in. Several who ask at once have it fetched once; what failed is tried again by the next. */
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
