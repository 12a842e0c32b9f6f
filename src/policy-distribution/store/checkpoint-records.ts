import { mkdir, readdir, readFile, rename, rm, unlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Clock } from '../../kernel/clock.ts';
import { isDigest, parseDigest, type Digest } from '../../kernel/ids.ts';
import { tryParseJson } from '../../kernel/json-bounds.ts';
import { getDigestHex, type Checkpoint } from '../checkpoint.ts';
import { IncomingNames } from '../files/incoming-names.ts';
import { RecentMarks } from './recent-marks.ts';
import { readFacts, translateErrors } from '../files/store-files.ts';
import { WithdrawnFiles } from '../files/withdrawn-files.ts';
import { ignoreMissing } from '../../kernel/errno.ts';

export type RecordedCheckpoint = Omit<Checkpoint, 'labels'>;

/** A checkpoint that is in use, until it is disposed. */
export type Hold = AsyncDisposable;

const recordSchema = z.object({
  kind: z.enum(['file', 'directory']),
  files: z.array(
    z.object({
      path: z.string(),
      size: z.int().min(0),
      digest: z.string().refine(isDigest),
      bucketObject: z.object({ uri: z.string(), revision: z.string() }).optional(),
    }),
  ),
});

/**
 * Records which checkpoints are on this machine, their files, when each was last used (the time of its record's last write), and which are in use
 * (files in `holds/`, named by their process: they end with it). Any number of processes may share the directory.
 */
export class CheckpointRecords {
  readonly #directory: string;
  readonly #holds: string;
  readonly #incoming: string;
  readonly #names: IncomingNames;
  readonly #clock: Clock;
  readonly #withdrawn: WithdrawnFiles;
  readonly #touched: RecentMarks;

  private constructor(directory: string, names: IncomingNames, clock: Clock, withdrawn: WithdrawnFiles) {
    this.#withdrawn = withdrawn;
    this.#directory = join(directory, 'checkpoints');
    this.#holds = join(directory, 'holds');
    this.#incoming = join(directory, 'incoming');
    this.#names = names;
    this.#clock = clock;
    this.#touched = new RecentMarks(clock);
  }

  /** @throws InfrastructureError `store.unusable` */
  static async open(directory: string, names: IncomingNames, clock: Clock): Promise<CheckpointRecords> {
    const withdrawn = await WithdrawnFiles.open(join(directory, 'checkpoints'), join(directory, 'withdrawn/checkpoints'), names);
    const records = new CheckpointRecords(directory, names, clock, withdrawn);
    await translateErrors(directory, async () => {
      for (const path of [records.#directory, records.#holds, records.#incoming]) await mkdir(path, { recursive: true });
      // Sweeps the holds of processes that have ended.
      await records.#listHeld();
    });
    return records;
  }

  /** Replaces an existing record, as a file's name may have changed. Counts as a use. */
  async write({ digest, kind, files }: RecordedCheckpoint): Promise<void> {
    const incoming = join(this.#incoming, this.#names.next());
    const text = JSON.stringify({
      kind,
      files: files.map(({ path, size, digest: ofFile, bucketObject }) => ({ path, size, digest: ofFile, bucketObject })),
    });
    await translateErrors(incoming, async () => {
      try {
        // The file is not synced: a record that a power cut removes is made again.
        await writeFile(incoming, text, { flag: 'wx', mode: 0o600 });
        await rename(incoming, this.#getPath(digest));
        await this.#touchNow(digest);
      } finally {
        await rm(incoming, { force: true });
      }
    });
  }

  /** Returns undefined when there is none, or an unreadable one: the checkpoint then has to be brought again. */
  async read(digest: Digest): Promise<RecordedCheckpoint | undefined> {
    const path = this.#getPath(digest);
    const text = await translateErrors(path, () => readFile(path, 'utf8').catch(ignoreMissing));
    const record = recordSchema.safeParse(text === undefined ? undefined : tryParseJson(text));
    return record.success ? { digest, ...record.data } : undefined;
  }

  /** Records a use. If this process has just recorded one, that is enough. */
  async touch(digest: Digest): Promise<void> {
    if (!this.isFresh(digest)) await this.#touchNow(digest);
  }

  /** Whether this process has found and touched its record a moment ago. */
  isFresh(digest: Digest): boolean {
    return this.#touched.has(digest);
  }

  /** Protects the checkpoint from removal until it is disposed, or this process ends. @returns undefined when there is no record of it. */
  async hold(digest: Digest): Promise<Hold | undefined> {
    const path = join(this.#holds, `${this.#names.next()}.${getDigestHex(digest)}`);
    await translateErrors(path, () => writeFile(path, '', { flag: 'wx', mode: 0o600 }));
    await using holding = new AsyncDisposableStack();
    holding.defer(async () => {
      await this.touch(digest);
      await translateErrors(path, () => unlink(path).catch(ignoreMissing));
    });
    return (await this.readLastUse(digest)) === undefined ? undefined : holding.move();
  }

  /** Puts back what ended processes were removing. @throws InfrastructureError `store.unusable` */
  async putBackAbandoned(): Promise<void> {
    await this.#withdrawn.putBackAbandoned();
  }

  async listDigests(): Promise<readonly Digest[]> {
    return (await translateErrors(this.#directory, () => readdir(this.#directory))).map((name) => `sha256:${name}`).filter(isDigest);
  }

  /** Reads when it was last used, in milliseconds since 1970. Returns undefined when there is none. */
  async readLastUse(digest: Digest): Promise<number | undefined> {
    const facts = await translateErrors(this.#getPath(digest), () => readFacts(this.#getPath(digest)));
    return facts?.touchedMs;
  }

  /** Lists checkpoints that living processes use. */
  async listHeld(): Promise<ReadonlySet<Digest>> {
    return translateErrors(this.#holds, () => this.#listHeld());
  }

  /**
   * Removes a checkpoint's record, unless it is in use or has been used since.
   *
   * @param unusedSinceMs milliseconds since 1970. @returns whether it was removed.
   */
  async forget(digest: Digest, unusedSinceMs: number): Promise<boolean> {
    const path = this.#getPath(digest);
    return translateErrors(path, async () => {
      // The record is moved away first. A process that wants to hold it from now on does not find it; one that found it before has a visible hold.
      const removed = await this.#withdrawn.withdraw(getDigestHex(digest));
      if (!removed) return false;
      const usedMs = (await readFacts(removed.path))?.touchedMs ?? 0;
      const isFree = usedMs < unusedSinceMs && !(await this.#listHeld()).has(digest);
      await (isFree ? removed.remove() : removed.putBack());
      return isFree;
    });
  }

  async #touchNow(digest: Digest): Promise<void> {
    const now = this.#clock.date();
    const path = this.#getPath(digest);
    const touched = await translateErrors(path, () => utimes(path, now, now).then(() => true, ignoreMissing));
    if (touched) this.#touched.note(digest);
  }

  async #listHeld(): Promise<ReadonlySet<Digest>> {
    const held = new Set<Digest>();
    for (const name of await readdir(this.#holds)) {
      const path = join(this.#holds, name);
      const facts = await readFacts(path);
      if (!facts) continue;
      if (await this.#names.isAbandoned(name, facts.touchedMs)) await rm(path, { force: true });
      else held.add(parseDigest(`sha256:${name.slice(name.lastIndexOf('.') + 1)}`));
    }
    return held;
  }

  #getPath(digest: Digest): string {
    return join(this.#directory, getDigestHex(digest));
  }
}
