import { once } from 'node:events';
import type { Clock } from '../../kernel/clock.ts';
import { withStallTimeout } from '../../kernel/deadline.ts';
import { InfrastructureError } from '../../kernel/errors.ts';
import type { Sandbox } from '../../pool/ports/sandbox.ts';
import { DATA_BYTES } from './workspace-frames.ts';

/** What goes to the program in a workspace, in order and no faster than the program takes it. */
export class OutgoingFrames {
  readonly #stdin: Sandbox['stdin'];
  readonly #clock: Clock;
  readonly #gone: Promise<unknown>;
  /**
   * The time at which the program last sent a frame, or took data that had waited for room. A busy machine delays large data, which is not silence.
   */
  #progressedAt = -Infinity;
  #turn = Promise.resolve();
  #isOver = false;

  /** @param gone resolves when the program takes nothing any more. */
  constructor(stdin: Sandbox['stdin'], clock: Clock, gone: Promise<unknown>) {
    this.#stdin = stdin;
    this.#clock = clock;
    this.#gone = gone;
    void gone.then(() => (this.#isOver = true));
  }

  noteProgress(): void {
    this.#progressedAt = this.#clock.now();
  }

  async send(frame: object): Promise<void> {
    // Requests of one turn are written together, since each write wakes the program.
    this.#stdin.cork();
    process.nextTick(() => this.#stdin.uncork());
    if (this.#stdin.write(`${JSON.stringify(frame)}\n`) || this.#isOver) return;
    await Promise.race([once(this.#stdin, 'drain'), this.#gone]);
    this.noteProgress();
  }

  /** Sends after the frames of earlier requests, so that frames of different requests are not interleaved. */
  sendInTurn(send: () => Promise<void>): Promise<void> {
    const sent = this.#turn.then(send);
    this.#turn = sent.catch(() => undefined);
    return sent;
  }

  /** @throws InfrastructureError `workspace.silent` when there is no progress for so long. */
  unlessSilent<Result>(milliseconds: number, result: Promise<Result>, signal: AbortSignal): Promise<Result> {
    const late = (): Error => new InfrastructureError('workspace.silent', `a workspace said nothing for ${milliseconds / 1000} s`);
    return withStallTimeout(this.#clock, milliseconds, () => this.#progressedAt, result, late, signal);
  }
}

/** Base64, in pieces that fit a frame. */
export function splitChunks(content: Uint8Array): readonly string[] {
  const buffer = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  const count = Math.ceil(buffer.length / DATA_BYTES);
  return Array.from({ length: count }, (_, i) => buffer.toString('base64', i * DATA_BYTES, (i + 1) * DATA_BYTES));
}
