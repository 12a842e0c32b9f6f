import { createReadStream, createWriteStream } from 'node:fs';
import { link, mkdir, realpath, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { abortError } from '../../../kernel/abort.ts';
import { InfrastructureError, messageOf } from '../../../kernel/errors.ts';
import type { UploadContent } from '../../../pool/sandbox.ts';
import { checkUploadPath, INBOX } from '../upload-path.ts';
import { hasErrno } from './errno.ts';

/** A link would do but this file system, or the file's owner, does not let us: the content is copied instead. */
const NO_LINK = ['EXDEV', 'EPERM', 'EACCES', 'EMLINK', 'EOPNOTSUPP', 'ENOTSUP'];

/** The host's side of a sandbox's inbox. Only the host writes there, so no link in it can lead anywhere else. */
export class Inbox {
  readonly #directory: string;
  readonly #staging: string;
  readonly #closed = new AbortController();
  readonly #underWay = new Set<Promise<unknown>>();
  /** Made with the first upload: a sandbox that is never sent anything does without. */
  #staged: Promise<unknown> | undefined;
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

  /** Takes what was received under a path away again: whoever has it open keeps it. */
  async remove(target: string): Promise<void> {
    checkUploadPath(target);
    await rm(path.join(this.#directory, target), { recursive: true, force: true });
  }

  /** Ends the uploads that are under way and takes no more. Resolves when none of them touches a file any longer. */
  async close(): Promise<void> {
    this.#closed.abort(new InfrastructureError('sandbox.gone', 'the sandbox has ended'));
    await Promise.allSettled(this.#underWay);
  }

  async #receive(target: string, content: UploadContent, signal: AbortSignal): Promise<string> {
    const either = AbortSignal.any([signal, this.#closed.signal]);
    const incomplete = path.join(this.#staging, String((this.#count += 1)));
    const complete = path.join(this.#directory, target);
    try {
      if (either.aborted) throw abortError(either);
      this.#staged ??= mkdir(this.#staging, { recursive: true });
      await this.#staged;
      if (content.kind === 'file') await shareFile(content.hostPath, incomplete, either);
      else await writeFile(content.stream, incomplete, either);
      await mkdir(path.dirname(complete), { recursive: true });
      await rename(incomplete, complete);
      return path.posix.join(INBOX, target);
    } catch (error) {
      if (content.kind === 'stream') content.stream.destroy();
      if (either.aborted) throw abortError(either);
      throw new InfrastructureError('sandbox.upload', `upload of "${target}" to ${complete} failed: ${messageOf(error)}`, { cause: error });
    } finally {
      // Also after success: renaming one link of a file onto another link of the same file leaves both.
      await rm(incomplete, { force: true });
    }
  }
}

async function shareFile(hostPath: string, incomplete: string, signal: AbortSignal): Promise<void> {
  // A link to a symbolic link would show the program a path that does not exist inside.
  const source = await realpath(hostPath);
  if (!(await stat(source)).isFile()) throw new Error(`${hostPath} is no regular file`);
  try {
    await link(source, incomplete);
  } catch (error) {
    if (!hasErrno(error, ...NO_LINK)) throw error;
    await writeFile(createReadStream(source), incomplete, signal);
  }
}

async function writeFile(stream: Readable, incomplete: string, signal: AbortSignal): Promise<void> {
  await pipeline(stream, createWriteStream(incomplete, { flags: 'wx', mode: 0o444 }), { signal });
}
