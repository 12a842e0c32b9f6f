import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { createAbortError } from '../../../src/kernel/abort.ts';
import { InfrastructureError, getMessage } from '../../../src/kernel/errors.ts';
import type { UploadContent } from '../../../src/pool/ports/upload-target.ts';
import type { Mount } from '../../../src/pool/ports/template.ts';
import { checkUploadPath, INBOX } from '../../../src/adapters/sandbox/upload-path.ts';

/** What a program can read: uploads, kept in memory up to a bound, and the template's mounts. */
export class InMemoryInbox {
  readonly #mounts: readonly Mount[];
  readonly #capacityBytes: number;
  /** By path inside: bytes, or the host file that was shared. */
  readonly #files = new Map<string, Uint8Array | string>();
  #usedBytes = 0;

  constructor(mounts: readonly Mount[], capacityBytes: number) {
    this.#mounts = mounts;
    this.#capacityBytes = capacityBytes;
  }

  async receive(target: string, content: UploadContent, signal: AbortSignal): Promise<string> {
    checkUploadPath(target);
    const inside = path.posix.join(INBOX, target);
    try {
      if (signal.aborted) throw createAbortError(signal);
      const file = content.kind === 'file' ? await sharedFile(content.hostPath) : await this.#collect(content.stream, signal);
      if (signal.aborted) throw createAbortError(signal);
      this.#files.set(inside, file);
      return inside;
    } catch (error) {
      if (content.kind === 'stream') content.stream.destroy();
      if (signal.aborted) throw createAbortError(signal);
      throw new InfrastructureError('sandbox.upload', `upload of "${target}" failed: ${getMessage(error)}`, { cause: error });
    }
  }

  async read(inside: string): Promise<Uint8Array> {
    const file = this.#files.get(inside);
    if (file instanceof Uint8Array) return file;
    return readFile(file ?? this.#mounted(inside));
  }

  #mounted(inside: string): string {
    for (const { source, target } of this.#mounts) {
      const relative = path.posix.relative(target, path.posix.normalize(inside));
      if (relative === '') return source;
      if (relative !== '..' && !relative.startsWith('../')) return path.join(source, relative);
    }
    throw new Error(`${inside}: no such file`);
  }

  async #collect(stream: Readable, signal: AbortSignal): Promise<Uint8Array> {
    const chunks: Buffer[] = [];
    const onAbort = (): void => void stream.destroy(createAbortError(signal));
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      for await (const chunk of stream) {
        const bytes = Buffer.from(chunk);
        this.#usedBytes += bytes.length;
        if (this.#usedBytes > this.#capacityBytes) throw new Error(`the sandbox's ${this.#capacityBytes} bytes are used up`);
        chunks.push(bytes);
      }
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
    return Buffer.concat(chunks);
  }
}

async function sharedFile(hostPath: string): Promise<string> {
  if ((await stat(hostPath)).isFile()) return hostPath;
  throw new Error(`${hostPath} is not a regular file`);
}
