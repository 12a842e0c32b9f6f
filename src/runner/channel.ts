import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import type { Sandbox, SandboxExit } from '../pool/ports/sandbox.ts';
import { FrameReader } from './frame-reader.ts';
import {
  encodeFrame,
  MAX_RUNNER_FRAME_BYTES,
  parseRunnerFrame,
  type MalformedFrame,
  type MusterFrame,
  type RunnerFrame,
} from './frames.ts';
import { RecentText } from '../kernel/recent-text.ts';

/** The largest number of characters of stderr that are kept. */
const STDERR_KEPT = 8 * 1024;

export interface ChannelListener {
  onFrame(frame: RunnerFrame | MalformedFrame): void;
  /** Called last: all that the runner wrote before its end has been read. */
  onExit(exit: SandboxExit): void;
}

/** The connection to a runner over its sandbox's stdio: frames from stdout, printed text from stderr, and the end. */
export class Channel {
  readonly #sandbox: Sandbox;
  readonly #listener: ChannelListener;
  readonly #stderr = new RecentText(STDERR_KEPT);

  constructor(sandbox: Sandbox, listener: ChannelListener) {
    this.#sandbox = sandbox;
    this.#listener = listener;
    const reader = new FrameReader(
      MAX_RUNNER_FRAME_BYTES,
      (line) => listener.onFrame(parseRunnerFrame(line)),
      () => listener.onFrame({ type: 'malformed', problem: `more than ${MAX_RUNNER_FRAME_BYTES} bytes` }),
    );
    const decoder = new StringDecoder('utf8');
    sandbox.stdout.on('data', (chunk: Buffer) => reader.push(chunk));
    sandbox.stderr.on('data', (chunk: Buffer) => this.#stderr.append(decoder.write(chunk)));
    void this.#watchExit();
  }

  /** Sends a frame. At most two ranges, a load and a ping are in transit, so the pipe's content is bounded without waiting for `drain`. */
  send(frame: MusterFrame): void {
    this.#sandbox.stdin.write(encodeFrame(frame));
  }

  /** Returns the latest stderr, once. */
  takeStderr(): string {
    return this.#stderr.take();
  }

  /** Stops reading: further output waits in the pipe until the sandbox is destroyed. */
  mute(): void {
    this.#sandbox.stdout.pause();
    this.#sandbox.stderr.pause();
  }

  async #watchExit(): Promise<void> {
    const read = Promise.all([waitUntilRead(this.#sandbox.stdout), waitUntilRead(this.#sandbox.stderr)]);
    const exit = await this.#sandbox.exit;
    if (exit.kind !== 'destroyed') await read;
    this.#listener.onExit(exit);
  }
}

/** Resolves when the stream has ended, for whatever reason. */
function waitUntilRead(stream: Readable): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  stream.once('end', resolve);
  stream.once('close', resolve);
  stream.once('error', () => resolve());
  return promise;
}
