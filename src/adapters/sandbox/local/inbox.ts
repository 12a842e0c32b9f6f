import { createReadStream, createWriteStream, type Stats } from 'node:fs';
import { chmod, link, lstat, mkdir, realpath, rename, rm, rmdir, stat, unlink } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createAbortError } from '../../../kernel/abort.ts';
import { InfrastructureError, getMessage } from '../../../kernel/errors.ts';
import type { UploadContent } from '../../../pool/ports/upload-target.ts';
import { checkUploadPath, INBOX } from '../upload-path.ts';
import { hasErrno } from '../../../kernel/errno.ts';

/** This file system, or the file's owner, does not allow a link: the content is copied instead. */
const NO_LINK = ['EXDEV', 'EPERM', 'EACCES', 'EMLINK', 'EOPNOTSUPP', 'ENOTSUP'];

const isRoot = process.getuid?.() === 0;
/** Made once, as each sandbox ends with it, and nearly none has an upload under way that reads it. */
const GONE = new InfrastructureError('sandbox.gone', 'the sandbox has ended');

/**
 * The host's side of a sandbox's inbox. Only the host writes there, so no link in it can lead anywhere else.
 *
 * It remembers what it has put where: searching for it would be most of the file-system cost of a sandbox that plays one episode.
 */
export class Inbox {
  readonly #directory: string;
  readonly #staging: string;
  readonly #closed = new AbortController();
  readonly #underWay = new Set<Promise<unknown>>();
  /** Made with the first upload that is no link: most sandboxes need none. */
  #staged: Promise<unknown> | undefined;
  /** Directories with uploaded files. */
  readonly #made = new Map<string, Promise<unknown>>();
  readonly #files = new Set<string>();
  #count = 0;

  /** @param directory has to be there; the inbox is made in it, and a place for incomplete files beside that. */
  constructor(directory: string) {
    this.#directory = path.join(directory, 'inbox');
    this.#staging = path.join(directory, 'incomplete');
  }

  get directory(): string {
    return this.#directory;
  }

  async open(): Promise<void> {
    await mkdir(this.#directory);
    await openToOthers(this.#directory, 0o755);
  }

  /** See `Sandbox.upload`. */
  async receive(target: string, content: UploadContent, signal: AbortSignal): Promise<string> {
    checkUploadPath(target);
    const upload = this.#receive(target, content, signal);
    this.#underWay.add(upload);
    try {
      return await upload;
    } finally {
      this.#underWay.delete(upload);
    }
  }

  /** Removes uploads under a path; a process that has one open keeps it. */
  async remove(target: string): Promise<void> {
    checkUploadPath(target);
    const place = path.join(this.#directory, target);
    const isBelow = (known: string): boolean => known === place || known.startsWith(`${place}/`);
    for (const known of this.#made.keys()) if (isBelow(known)) this.#made.delete(known);
    for (const known of this.#files) if (isBelow(known)) this.#files.delete(known);
    await rm(place, { recursive: true, force: true });
  }

  /** Ends the uploads that are under way and accepts no more. Resolves when none of them uses a file any longer. */
  async close(): Promise<void> {
    this.#closed.abort(GONE);
    await Promise.allSettled(this.#underWay);
  }

  /** Call it once it is closed. @throws when it finds anything that it has not put there. */
  async discard(): Promise<void> {
    await Promise.all(Array.from(this.#files, (file) => unlink(file)));
    const directories = new Set([...this.#made.keys()].flatMap((directory) => this.#listWithParents(directory)));
    for (const directory of [...directories].toSorted((a, b) => b.length - a.length)) await rmdir(directory);
    if (this.#staged) await rmdir(this.#staging);
    await rmdir(this.#directory);
  }

  async #receive(target: string, content: UploadContent, signal: AbortSignal): Promise<string> {
    const either = AbortSignal.any([signal, this.#closed.signal]);
    const complete = path.join(this.#directory, target);
    try {
      if (either.aborted) throw createAbortError(either);
      await this.#make(path.dirname(complete));
      if (content.kind === 'stream' || !(await tryLink(content.hostPath, complete))) await this.#bring(content, complete, either);
      this.#files.add(complete);
      return path.posix.join(INBOX, target);
    } catch (error) {
      if (content.kind === 'stream') content.stream.destroy();
      if (either.aborted) throw createAbortError(either);
      throw new InfrastructureError('sandbox.upload', `upload of "${target}" to ${complete} failed: ${getMessage(error)}`, {
        cause: error,
      });
    }
  }

  /** The file appears under its name complete or not at all. */
  async #bring(content: UploadContent, complete: string, signal: AbortSignal): Promise<void> {
    const incomplete = path.join(this.#staging, String((this.#count += 1)));
    this.#staged ??= mkdir(this.#staging, { recursive: true });
    await this.#staged;
    try {
      if (content.kind === 'file') await shareFile(content.hostPath, incomplete, signal);
      else await writeFile(content.stream, incomplete, signal);
      await rename(incomplete, complete);
    } finally {
      // This is needed after success, too: renaming one link of a file onto another link of the same file leaves both.
      await rm(incomplete, { force: true });
    }
  }

  async #make(directory: string): Promise<void> {
    const known = this.#made.get(directory);
    if (known) return void (await known);
    const making = this.#makeNow(directory);
    this.#made.set(directory, making);
    // The next caller tries again.
    making.catch(() => this.#made.delete(directory));
    await making;
  }

  async #makeNow(directory: string): Promise<void> {
    await mkdir(directory, { recursive: true });
    for (const each of this.#listWithParents(directory)) await openToOthers(each, 0o755);
  }

  /** Lists a directory in the inbox, and its parents there. */
  #listWithParents(directory: string): readonly string[] {
    return directory === this.#directory ? [] : [directory, ...this.#listWithParents(path.dirname(directory))];
  }
}

/** Programs in the sandboxes of root are not root. A file that others may not read is copied, not linked: its owner wants it so where it is. */
function isReadable({ mode }: Stats): boolean {
  return !isRoot || (mode & 0o004) !== 0;
}

/** Independent of Muster's umask. Only root gets to the owner's directory, which contains it. */
async function openToOthers(place: string, mode: number): Promise<void> {
  if (isRoot) await chmod(place, mode);
}

/** Tries the fast way, which works for most files: a link appears complete. The slow way reports any problem. */
async function tryLink(hostPath: string, complete: string): Promise<boolean> {
  try {
    // A link to a symbolic link would show the program a path that does not exist inside.
    const found = await lstat(hostPath);
    if (!found.isFile() || !isReadable(found)) return false;
    await link(hostPath, complete);
    return true;
  } catch {
    return false;
  }
}

async function shareFile(hostPath: string, incomplete: string, signal: AbortSignal): Promise<void> {
  const source = await realpath(hostPath);
  const found = await stat(source);
  if (!found.isFile()) throw new Error(`${hostPath} is not a regular file`);
  if (isReadable(found)) {
    try {
      return await link(source, incomplete);
    } catch (error) {
      if (!hasErrno(error, ...NO_LINK)) throw error;
    }
  }
  await writeFile(createReadStream(source), incomplete, signal);
}

async function writeFile(stream: Readable, incomplete: string, signal: AbortSignal): Promise<void> {
  await pipeline(stream, createWriteStream(incomplete, { flags: 'wx', mode: 0o444 }), { signal });
  await openToOthers(incomplete, 0o444);
}
