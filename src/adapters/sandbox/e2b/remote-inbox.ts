import path from 'node:path';
import type { Sandbox } from 'e2b';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { createAbortError, raceWithAbort } from '../../../kernel/abort.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { InfrastructureError } from '../../../kernel/errors.ts';
import type { UploadContent } from '../../../pool/ports/upload-target.ts';
import { checkUploadPath, INBOX } from '../upload-path.ts';
import { toE2bError } from './failure.ts';
import { retryPatiently } from './patience.ts';
import { FILES_USER, INCOMPLETE, sendFile } from './root-files.ts';

/** The inbox inside of an E2B sandbox: every file is streamed there, piece by piece, and moved to its place when it is whole. */
export class RemoteInbox {
  readonly #remote: Sandbox;
  readonly #clock: Clock;
  readonly #closed = new AbortController();
  #count = 0;

  constructor(remote: Sandbox, clock: Clock) {
    this.#remote = remote;
    this.#clock = clock;
  }

  /** See `Sandbox.upload`. */
  async receive(target: string, content: UploadContent, signal: AbortSignal): Promise<string> {
    checkUploadPath(target);
    const either = AbortSignal.any([signal, this.#closed.signal]);
    const inside = path.posix.join(INBOX, target);
    try {
      if (either.aborted) throw createAbortError(either);
      const incomplete = await this.#bring(content, either);
      // Moving is not repeated: a moved file would no longer be found.
      await raceWithAbort(this.#remote.files.rename(incomplete, inside, { user: FILES_USER, signal: either }), either);
      return inside;
    } catch (error) {
      if (content.kind === 'stream') content.stream.destroy();
      if (either.aborted) throw createAbortError(either);
      const failure = toE2bError(error, `take in "${target}"`);
      throw new InfrastructureError('sandbox.upload', `upload of "${target}" to ${inside} failed: ${failure.message}`, { cause: failure });
    }
  }

  /** Ends the uploads that are under way and accepts no more. */
  close(): void {
    this.#closed.abort(new InfrastructureError('sandbox.gone', 'the sandbox has ended'));
  }

  /** A host's file can be read again when the connection broke; a stream cannot. */
  async #bring(content: UploadContent, signal: AbortSignal): Promise<string> {
    if (content.kind === 'stream') return this.#send(content.stream, signal);
    const { hostPath } = content;
    if (!(await stat(hostPath)).isFile()) throw new Error(`${hostPath} is not a regular file`);
    return retryPatiently(this.#clock, signal, () => this.#send(createReadStream(hostPath), signal));
  }

  /** Each attempt has a name of its own: a broken one may still be written to. */
  async #send(source: Readable, signal: AbortSignal): Promise<string> {
    const incomplete = `${INCOMPLETE}/${(this.#count += 1)}`;
    await sendFile(this.#remote, incomplete, source, signal);
    return incomplete;
  }
}
