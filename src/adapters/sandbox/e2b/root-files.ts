import type { Readable } from 'node:stream';
import { CommandExitError, type Sandbox } from 'e2b';
import { raceWithAbort } from '../../../kernel/abort.ts';
import { InfrastructureError, toError } from '../../../kernel/errors.ts';

/** Files grow here until they are whole. */
export const INCOMPLETE = '/muster/incomplete';
/** Files are this user's, so that the program, which is another one, cannot change them. */
export const FILES_USER = 'root';
/** The longest time for a command that unpacks an archive. */
const UNPACKING_MS = 120_000;

/** Runs a command as root, to its end. @param problem for people, when it fails. @throws InfrastructureError `e2b.unpacking` */
export async function runAsRoot(remote: Sandbox, command: string, problem: string, signal: AbortSignal): Promise<void> {
  try {
    const limits = { timeoutMs: UNPACKING_MS, requestTimeoutMs: UNPACKING_MS, signal };
    await remote.commands.run(command, { user: FILES_USER, ...limits, background: false });
  } catch (error) {
    if (!(error instanceof CommandExitError)) throw error;
    const said = error.stderr.trim().slice(-500) || `exit code ${error.exitCode}`;
    throw new InfrastructureError('e2b.unpacking', `${problem}: ${said}`, { cause: error });
  }
}

/** Streams a file into a sandbox, in one attempt. */
export async function sendFile(remote: Sandbox, inside: string, source: Readable, signal: AbortSignal): Promise<void> {
  const body = new UploadBody(source);
  try {
    const written = remote.files.write(inside, body.stream, { user: FILES_USER, signal, requestTimeoutMs: 0 });
    await raceWithAbort(written, signal);
  } catch (error) {
    source.destroy();
    // A failure of the source says more than the request's error, which follows from it.
    throw body.failure ?? error;
  }
}

/**
 * A source as the body of a request: it is read only as far as the request has come. Node's own conversion copies every piece, and reads ahead.
 */
class UploadBody {
  readonly stream: ReadableStream<Uint8Array>;
  #failure: Error | undefined;

  constructor(source: Readable) {
    const pieces: AsyncIterator<unknown> = source[Symbol.asyncIterator]();
    let isWanted = true;
    const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
      try {
        const { done, value } = await pieces.next();
        if (!isWanted) return;
        if (done === true) controller.close();
        else controller.enqueue(value instanceof Uint8Array ? value : Buffer.from(String(value)));
      } catch (error) {
        if (!isWanted) return;
        this.#failure = toError(error);
        controller.error(error);
      }
    };
    const cancel = (): void => {
      isWanted = false;
      source.destroy();
    };
    this.stream = new ReadableStream({ pull, cancel }, { highWaterMark: 0 });
  }

  /** The source's error, if it came while the body was read. */
  get failure(): Error | undefined {
    return this.#failure;
  }
}
