import { InputError } from '../kernel/errors.ts';
import type { Digest } from '../kernel/ids.ts';
import { digestHex } from '../policy-distribution/checkpoint.ts';
import type { CheckpointSource } from '../policy-distribution/checkpoint-source.ts';
import { SLOW_ANSWER_MILLISECONDS, type Answer, type Call, type Calls } from './calls.ts';
import { RefusedError, UnavailableError } from './client-errors.ts';
import { FileParts } from './file-parts.ts';
import { readCheckpoint, type LocalCheckpoint, type LocalFile } from './local-checkpoint.ts';
import { Patience } from './patience.ts';

/** How bringing a checkpoint goes. `reading` finds out its name; `sending` what the server does not have. */
export interface UploadProgress {
  readonly phase: 'reading' | 'sending';
  readonly bytes: number;
  /** Of the phase. */
  readonly allBytes: number;
}

export interface UploadOptions {
  readonly signal: AbortSignal;
  readonly onProgress?: ((progress: UploadProgress) => void) | undefined;
}

/** Held in memory while it is sent. Smaller ones would wait for more answers, larger ones repeat more when a connection breaks early. */
const PART_BYTES = 16 * 2 ** 20;

/** The header that says how many bytes have come. */
const OFFSET = 'upload-offset';
/** The server has more of the upload, or less, than this client thinks: ask, and go on from there. */
const ELSEWHERE = new Set(['upload.offset', 'upload.stalled', 'upload.superseded']);

/** Something that is sent under its digest. */
interface Content {
  readonly digest: Digest;
  readonly query: string;
  readonly size: number;
  readonly from: (offset: number) => Promise<Uint8Array>;
}

/** Brings checkpoints to a server: only what it does not have, piece by piece, from where it was broken off. */
export class Uploader {
  readonly #calls: Calls;
  readonly #source: CheckpointSource;
  readonly #partBytes: number;

  constructor(calls: Calls, source: CheckpointSource, partBytes = PART_BYTES) {
    this.#calls = calls;
    this.#source = source;
    this.#partBytes = partBytes;
  }

  /** The digest of a file or directory, once the server has it. @throws as `readCheckpoint` and `Calls.send` do. */
  async bring(path: string, { signal, onProgress }: UploadOptions): Promise<Digest> {
    const onRead = (bytes: number, allBytes: number): void => onProgress?.({ phase: 'reading', bytes, allBytes });
    const local = await readCheckpoint(this.#source, path, { signal, onRead });
    if ((await this.#received(local.digest, signal)) === undefined) return local.digest;
    const allBytes = local.files.reduce((sum, { size }) => sum + size, 0);
    let before = 0;
    for (const file of local.files) {
      const begun = before;
      await this.#file(file, signal, (bytes) => onProgress?.({ phase: 'sending', bytes: begun + bytes, allBytes }));
      before += file.size;
    }
    await this.#manifest(local, signal);
    return local.digest;
  }

  async #file(file: LocalFile, signal: AbortSignal, onSent: (bytes: number) => void): Promise<void> {
    await using parts = new FileParts(this.#source, file, this.#partBytes, signal);
    const query = new URLSearchParams({ name: file.path.slice(file.path.lastIndexOf('/') + 1) }).toString();
    await this.#send({ digest: file.digest, query, size: file.size, from: (offset) => parts.from(offset) }, signal, onSent);
  }

  /** The last of a directory: the server puts it together. */
  async #manifest({ digest, manifest }: LocalCheckpoint, signal: AbortSignal): Promise<void> {
    if (!manifest) return;
    const from = async (offset: number): Promise<Uint8Array> => manifest.subarray(offset, offset + this.#partBytes);
    await this.#send({ digest, query: 'kind=manifest', size: manifest.length, from }, signal);
  }

  async #send(content: Content, signal: AbortSignal, onSent?: (bytes: number) => void): Promise<void> {
    const patience = new Patience(this.#calls.options);
    let offset = await this.#received(content.digest, signal);
    while (offset !== undefined) {
      const begin: number = offset <= content.size ? offset : 0;
      onSent?.(begin);
      const part = await content.from(begin);
      try {
        const answer = await this.#calls.once(partCall(content, begin, part, signal));
        patience.succeeded();
        offset = nextOffset(answer, begin + part.length, content.size);
      } catch (error) {
        await this.#calls.pause(patience, passing(error), signal);
        offset = await this.#received(content.digest, signal);
        if (offset !== undefined && offset > begin) patience.succeeded();
      }
    }
    onSent?.(content.size);
  }

  /** Bytes that the server has of an upload; undefined when it has all of it. */
  async #received(digest: Digest, signal: AbortSignal): Promise<number | undefined> {
    const answer = await this.#calls.send({ method: 'HEAD', path: pathOf(digest), signal, also: [404] });
    return answer.status === 404 ? offsetIn(answer, 0) : undefined;
  }
}

function partCall({ digest, query, size }: Content, begin: number, part: Uint8Array, signal: AbortSignal): Call {
  if (part.length === 0 && begin < size)
    throw new InputError('checkpoint.changed', `checkpoint: a file of ${size} bytes has become shorter while it was sent; send it again`);
  return {
    method: 'PUT',
    path: `${pathOf(digest)}?${query}`,
    body: part,
    headers: rangeOf(begin, part.length, size),
    signal,
    answerMilliseconds: SLOW_ANSWER_MILLISECONDS,
  };
}

function rangeOf(begin: number, length: number, size: number): Readonly<Record<string, string>> {
  // All of it had come before the connection broke.
  if (length === 0 && size > 0) return { 'content-range': `bytes */${size}` };
  return length < size ? { 'content-range': `bytes ${begin}-${begin + length - 1}/${size}` } : {};
}

/** 202 says that more is to come. */
function nextOffset(answer: Answer, sent: number, size: number): number | undefined {
  return answer.status === 202 || sent < size ? offsetIn(answer, sent) : undefined;
}

function offsetIn({ headers }: Answer, otherwise: number): number {
  const text = headers[OFFSET];
  return typeof text === 'string' && /^\d{1,16}$/.test(text) ? Number(text) : otherwise;
}

/** What is worth another try, as what patience knows to be so. */
function passing(error: unknown): unknown {
  return error instanceof RefusedError && ELSEWHERE.has(error.code)
    ? new UnavailableError(error.code, error.message, { cause: error })
    : error;
}

function pathOf(digest: Digest): string {
  return `/v1/checkpoints/${digestHex(digest)}`;
}
