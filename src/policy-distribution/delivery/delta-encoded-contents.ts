import { mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../kernel/clock.ts';
import type { Digest } from '../../kernel/ids.ts';
import { getDigestHex } from '../checkpoint.ts';
import type { StoredObject } from '../files/stored-object.ts';
import { encodeDelta, type DeltaSide } from '../delta/delta-encoder.ts';
import { untrustedFiles } from '../inspection/untrusted-files.ts';
import { FileStretches } from '../files/file-stretches.ts';
import { IncomingNames } from '../files/incoming-names.ts';
import { readFacts, translateErrors, readAt, writeAll } from '../files/store-files.ts';

/** The difference of a file from another one, ready to be sent. */
export interface DeltaEncodedContent {
  readonly digest: Digest;
  readonly base: Digest;
  /** Bytes of the delta. */
  readonly bytes: number;
  readonly path: string;
}

export interface DeltaEncodedContentsOptions {
  readonly directory: string;
  readonly clock: Clock;
  /** Looks up a file of the store. */
  find(digest: Digest): Promise<StoredObject | undefined>;
}

/** A delta has to be smaller than this share of the file, since its receiver also has to apply it. */
const WORTH_SENDING = 0.5;
/** The largest number of recent deltas that are kept: all nodes ask for the same one within moments. */
const MOST_KEPT = 8;

/**
 * Deltas between stored files, made at the first request, once for all requests, and kept for a while. The directory belongs to this
 * process and is removed with it.
 */
export class DeltaEncodedContents implements AsyncDisposable {
  readonly #options: DeltaEncodedContentsOptions;
  /** Deltas by file and base, in the order of their last use; undefined for a delta that is not worth sending. */
  readonly #deltas = new Map<string, Promise<DeltaEncodedContent | undefined>>();
  readonly #closing = new AbortController();
  #directory: Promise<string> | undefined;

  constructor(options: DeltaEncodedContentsOptions) {
    this.#options = options;
  }

  /**
   * @param name of the file: its suffix gives the format. @param bases that the receiver has, likeliest first. @returns undefined when none
   * of them is stored here, or the difference is not much smaller than the file. @throws InfrastructureError `store.full`, `store.unusable`
   */
  async encode(digest: Digest, name: string, bases: readonly Digest[]): Promise<DeltaEncodedContent | undefined> {
    for (const base of bases) {
      const found = base !== digest && (await this.#options.find(base));
      if (found) return await this.#encodeOnce(digest, name, found);
    }
    return undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new DOMException('Muster is closing', 'AbortError'));
    await Promise.allSettled(this.#deltas.values());
    const directory = await this.#directory?.catch(() => undefined);
    if (directory !== undefined) await rm(directory, { recursive: true, force: true });
  }

  #encodeOnce(digest: Digest, name: string, base: StoredObject): Promise<DeltaEncodedContent | undefined> {
    const key = `${getDigestHex(digest)}.${getDigestHex(base.digest)}`;
    const known = this.#deltas.get(key);
    this.#deltas.delete(key);
    const encoding = known ?? this.#encodeFile(key, digest, name, base);
    this.#deltas.set(key, encoding);
    if (known === undefined) encoding.catch(() => this.#deltas.delete(key));
    this.#forgetOld();
    return encoding;
  }

  /** A request that is being answered has it open and can continue. */
  #forgetOld(): void {
    const [oldest] = this.#deltas;
    if (this.#deltas.size <= MOST_KEPT || oldest === undefined) return;
    const [key, encoding] = oldest;
    this.#deltas.delete(key);
    void encoding.then(
      (encoded) => encoded && rm(encoded.path, { force: true }),
      () => undefined,
    );
  }

  async #encodeFile(key: string, digest: Digest, name: string, base: StoredObject): Promise<DeltaEncodedContent | undefined> {
    const object = await this.#options.find(digest);
    if (object?.size === undefined || object.size !== base.size) return undefined;
    await using stack = new AsyncDisposableStack();
    const [file, before] = [await this.#openSide(object, name, stack), await this.#openSide(base, name, stack)];
    if (!file || !before) return undefined;
    const path = join(await (this.#directory ??= this.#make()), key);
    const incoming = `${path}.incomplete`;
    try {
      await using handle = await translateErrors(incoming, () => open(incoming, 'w', 0o600));
      const write = (bytes: Uint8Array): Promise<void> => translateErrors(incoming, () => writeAll(handle, bytes));
      const limits = { maxBytes: WORTH_SENDING * object.size, write, signal: this.#closing.signal };
      if (!(await encodeDelta(file, before, limits))) return undefined;
      await translateErrors(path, () => rename(incoming, path));
      const facts = await translateErrors(path, () => readFacts(path));
      return facts && { digest, base: base.digest, bytes: facts.size, path };
    } finally {
      await rm(incoming, { force: true });
    }
  }

  async #openSide({ digest, hostPath, size }: StoredObject, name: string, stack: AsyncDisposableStack): Promise<DeltaSide | undefined> {
    const bytes = await FileStretches.open(hostPath);
    if (!bytes) return undefined;
    stack.use(bytes);
    const layout = await untrustedFiles.read('layout', { path: name, address: name, size }, async (position, length) => {
      await using handle = await translateErrors(hostPath, () => open(hostPath, 'r'));
      return await readAt(handle, position, length);
    });
    return { digest, layout, bytes };
  }

  /** Makes a directory whose name identifies this process; directories of ended processes are removed. */
  async #make(): Promise<string> {
    const { directory, clock } = this.#options;
    const names = await IncomingNames.create(clock);
    const own = join(directory, names.next());
    await translateErrors(directory, async () => {
      await mkdir(own, { recursive: true });
      for (const name of await readdir(directory)) {
        const facts = await readFacts(join(directory, name));
        if (facts && (await names.isAbandoned(name, facts.touchedMs))) await rm(join(directory, name), { recursive: true, force: true });
      }
    });
    return own;
  }
}
