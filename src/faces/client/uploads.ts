import { InputError } from '../../kernel/errors.ts';
import type { Digest } from '../../kernel/ids.ts';
import { getDigestHex } from '../../policy-distribution/checkpoint.ts';
import type { CheckpointSource } from '../../policy-distribution/checkpoint-source.ts';
import { SLOW_ANSWER_MILLISECONDS, type Answer, type Call, type Calls } from './calls.ts';
import { RefusedError, UnavailableError, type RefusalReason } from './client-errors.ts';
import { FileParts } from './file-parts.ts';
import { readCheckpoint, type LocalCheckpoint, type LocalFile } from './local-checkpoint.ts';
import { Patience } from './patience.ts';
import { SentBefore } from './sent-before.ts';

/** Progress of an upload. `reading` computes the digest; `sending` sends what the server does not have. */
export interface UploadProgress {
  readonly phase: 'reading' | 'sending';
  readonly bytes: number;
  /** Total of the phase. */
  readonly allBytes: number;
}

export interface UploadOptions {
  readonly signal: AbortSignal;
  readonly onProgress?: ((progress: UploadProgress) => void) | undefined;
  /** Path of a checkpoint that the server may have, for example the run's previous one: only the difference is sent, where that is smaller. */
  readonly base?: string | undefined;
}

/**
 * The bytes of a part, which is in memory while it is sent. Smaller parts would wait for more answers; larger ones would repeat more after
 * a broken connection.
 */
const PART_BYTES = 16 * 2 ** 20;

/** The header with the number of received bytes. */
const OFFSET = 'upload-offset';
/** The server has another part of the upload than this client thinks: ask, and continue from there. */
const ELSEWHERE = new Set(['upload.offset', 'upload.stalled', 'upload.superseded']);

/** After these, sending the whole file may succeed: its base is gone, or the server accepts no deltas. */
const TAKES_NO_DELTA: ReadonlySet<RefusalReason> = new Set(['bad-request', 'not-found', 'conflict']);

/** Something that is sent under its digest. */
interface Content {
  readonly digest: Digest;
  readonly kind: 'file' | 'delta' | 'manifest';
  /** Name of the file, also when a delta is sent. */
  readonly name?: string;
  readonly size: number;
  readonly readFrom: (offset: number) => Promise<Uint8Array>;
}

/**
 * Uploads checkpoints to a server: only what it does not have, in parts, continuing where an upload was interrupted. Of a file that is similar to an
 * earlier one only the difference is sent, where that is smaller, and the whole file when the server cannot use it.
 */
export class Uploader {
  readonly #calls: Calls;
  readonly #source: CheckpointSource;
  readonly #partBytes: number;
  readonly #before: SentBefore;

  constructor(calls: Calls, source: CheckpointSource, partBytes = PART_BYTES) {
    this.#calls = calls;
    this.#source = source;
    this.#before = new SentBefore(source);
    this.#partBytes = partBytes;
  }

  /** Uploads what the server lacks of a file or directory, and returns its digest. @throws as `readCheckpoint` and `Calls.send` do. */
  async bring(path: string, { signal, onProgress, base }: UploadOptions): Promise<Digest> {
    const onRead = (bytes: number, allBytes: number): void => onProgress?.({ phase: 'reading', bytes, allBytes });
    const local = await readCheckpoint(this.#source, path, { signal, onRead });
    if (base !== undefined) this.#before.remember((await readCheckpoint(this.#source, base, { signal, onRead })).files);
    const [file] = local.manifest ? [] : local.files;
    if ((await this.#readOffset({ digest: local.digest, ...(file ? { name: getFileName(file) } : {}) }, signal)) !== undefined)
      await this.#bringAll(local, { signal, onProgress });
    this.#before.remember(local.files);
    return local.digest;
  }

  async #bringAll(local: LocalCheckpoint, { signal, onProgress }: UploadOptions): Promise<void> {
    const allBytes = local.files.reduce((sum, { size }) => sum + size, 0);
    let before = 0;
    for (const file of local.files) {
      const begun = before;
      await this.#uploadFile(file, signal, (bytes) => onProgress?.({ phase: 'sending', bytes: begun + bytes, allBytes }));
      before += file.size;
    }
    await this.#uploadManifest(local, signal);
  }

  async #uploadFile(file: LocalFile, signal: AbortSignal, onSent: (bytes: number) => void): Promise<void> {
    if (await this.#tryDelta(file, signal)) return onSent(file.size);
    await using parts = new FileParts(this.#source, file, this.#partBytes, signal);
    const readFrom = (offset: number): Promise<Uint8Array> => parts.readFrom(offset);
    await this.#send({ digest: file.digest, kind: 'file', name: getFileName(file), size: file.size, readFrom: readFrom }, signal, onSent);
  }

  /** @returns whether the server has the file now. */
  async #tryDelta(file: LocalFile, signal: AbortSignal): Promise<boolean> {
    const bases = this.#before.listSimilar(file);
    // A begun upload is continued; what the server has is not sent.
    if (bases.length === 0 || (await this.#readOffset({ digest: file.digest, name: getFileName(file) }, signal)) !== 0) return false;
    for (const base of bases) {
      if ((await this.#readOffset(base, signal)) !== undefined) continue;
      const delta = await this.#before.encodeDifference(file, base, signal);
      if (delta) return this.#sendDelta(file, delta, signal);
    }
    return false;
  }

  async #sendDelta(file: LocalFile, delta: Uint8Array, signal: AbortSignal): Promise<boolean> {
    const readFrom = async (offset: number): Promise<Uint8Array> => delta.subarray(offset, offset + this.#partBytes);
    try {
      await this.#send({ digest: file.digest, kind: 'delta', name: getFileName(file), size: delta.length, readFrom: readFrom }, signal);
      return true;
    } catch (error) {
      if (error instanceof RefusedError && TAKES_NO_DELTA.has(error.reason)) return false;
      throw error;
    }
  }

  /** Uploads the last file of a directory, after which the server assembles it. */
  async #uploadManifest({ digest, manifest }: LocalCheckpoint, signal: AbortSignal): Promise<void> {
    if (!manifest) return;
    const from = async (offset: number): Promise<Uint8Array> => manifest.subarray(offset, offset + this.#partBytes);
    await this.#send({ digest, kind: 'manifest', size: manifest.length, readFrom: from }, signal);
  }

  async #send(content: Content, signal: AbortSignal, onSent?: (bytes: number) => void): Promise<void> {
    const patience = new Patience(this.#calls.options);
    let offset = await this.#readOffset(content, signal);
    while (offset !== undefined) {
      const begin: number = offset <= content.size ? offset : 0;
      onSent?.(begin);
      const part = await content.readFrom(begin);
      try {
        const answer = await this.#calls.tryOnce(createPartCall(content, begin, part, signal));
        patience.onSuccess();
        offset = findNextOffset(answer, begin + part.length, content.size);
      } catch (error) {
        await this.#calls.pause(patience, toRetryable(error), signal);
        offset = await this.#readOffset(content, signal);
        if (offset !== undefined && offset > begin) patience.onSuccess();
      }
    }
    onSent?.(content.size);
  }

  /** Returns the bytes that the server has of an upload; undefined when it has all of it, under a name of the same format. */
  async #readOffset(content: Pick<Content, 'digest' | 'name'> & Partial<Content>, signal: AbortSignal): Promise<number | undefined> {
    const answer = await this.#calls.send({ method: 'HEAD', path: buildPath({ kind: 'file', ...content }), signal, also: [404] });
    return answer.status === 404 ? parseOffset(answer, 0) : undefined;
  }
}

function createPartCall(content: Content, begin: number, part: Uint8Array, signal: AbortSignal): Call {
  const { size } = content;
  if (part.length === 0 && begin < size)
    throw new InputError('checkpoint.changed', `checkpoint: a file of ${size} bytes became shorter while it was sent; send it again`);
  return {
    method: 'PUT',
    path: buildPath(content),
    body: part,
    headers: getRange(begin, part.length, size),
    signal,
    answerMilliseconds: SLOW_ANSWER_MILLISECONDS,
  };
}

function getRange(begin: number, length: number, size: number): Readonly<Record<string, string>> {
  // The server had received all of it before the connection broke.
  if (length === 0 && size > 0) return { 'content-range': `bytes */${size}` };
  return length < size ? { 'content-range': `bytes ${begin}-${begin + length - 1}/${size}` } : {};
}

/** 202 says that more is to come. */
function findNextOffset(answer: Answer, sent: number, size: number): number | undefined {
  return answer.status === 202 || sent < size ? parseOffset(answer, sent) : undefined;
}

function parseOffset({ headers }: Answer, otherwise: number): number {
  const text = headers[OFFSET];
  return typeof text === 'string' && /^\d{1,16}$/.test(text) ? Number(text) : otherwise;
}

/** Turns a temporary refusal into an UnavailableError, which is retried. */
function toRetryable(error: unknown): unknown {
  return error instanceof RefusedError && ELSEWHERE.has(error.code)
    ? new UnavailableError(error.code, error.message, { cause: error })
    : error;
}

function getFileName({ path }: LocalFile): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

function buildPath({ digest, kind, name }: Pick<Content, 'digest' | 'kind' | 'name'>): string {
  const query = new URLSearchParams({ kind, ...(name === undefined ? {} : { name }) });
  return `/v1/checkpoints/${getDigestHex(digest)}?${query.toString()}`;
}
