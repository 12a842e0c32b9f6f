import { setImmediate } from 'node:timers';
import { WebSocket, type RawData } from 'ws';
import { z } from 'zod';
import type { Clock } from '../../../../kernel/clock.ts';
import { tryParseJson } from '../../../../kernel/json-bounds.ts';
import { toBuffer, SocketInput } from './socket-input.ts';
import { ExecOutput } from './exec-output.ts';
import type { Heartbeats } from './heartbeats.ts';
import { isAnsweringPing } from './ping.ts';
import type { ProgramChannel, ProgramEnd } from './program-channel.ts';

const STDOUT = 1;
const STDERR = 2;
const STATUS = 3;
/** The time from the status to the end of the connection. Output may still arrive after the status, and a server closes at once. */
const CLOSE_MS = 2_000;

const statusSchema = z.object({
  status: z.string(),
  message: z.string().default(''),
  reason: z.string().default(''),
  details: z
    .object({ causes: z.array(z.object({ reason: z.string().default(''), message: z.string().default('') })).default([]) })
    .prefault({}),
});

/**
 * The streams of one command over one WebSocket (v5.channel.k8s.io): each message begins with the number of its stream.
 *
 * It is open until the status has come and the connection is closed, or the connection is lost. Unread output stops the whole connection, and with it
 * the program, so no ping is sent then.
 */
export class ExecChannel implements ProgramChannel {
  readonly stdin: SocketInput;
  readonly stdout: ExecOutput;
  readonly stderr: ExecOutput;
  readonly ended: Promise<ProgramEnd>;
  readonly #socket: WebSocket;
  readonly #pulse: Disposable;
  readonly #clock: Clock;
  readonly #full = new Set<ExecOutput>();
  #status: ProgramEnd | undefined;
  #lastError = '';
  #isAsked = false;
  #closeTimer: Disposable | undefined;

  /** @param socket open and paused, with nothing read from it. */
  constructor(socket: WebSocket, clock: Clock, heartbeats: Heartbeats) {
    this.#socket = socket;
    this.#clock = clock;
    this.stdin = SocketInput.createForExec(socket);
    this.stdout = new ExecOutput(() => this.#resumeReading(this.stdout));
    this.stderr = new ExecOutput(() => this.#resumeReading(this.stderr));
    const { promise, resolve } = Promise.withResolvers<ProgramEnd>();
    this.ended = promise;
    socket.on('message', (data) => this.#onMessage(data));
    socket.on('pong', () => (this.#isAsked = false));
    socket.on('error', (error) => (this.#lastError = error.message));
    socket.once('close', (code, reason) => resolve(this.#onClose(code, reason.toString())));
    this.#pulse = heartbeats.add({ beat: () => this.#beat() });
    socket.resume();
  }

  answers(signal: AbortSignal): Promise<boolean> {
    return isAnsweringPing(this.#socket, signal);
  }

  terminate(): void {
    this.stdout.drain();
    this.stderr.drain();
    this.#socket.terminate();
  }

  #beat(): void {
    if (this.#full.size > 0 || this.#socket.readyState !== WebSocket.OPEN) return;
    if (this.#isAsked) {
      this.#lastError = 'the API server did not answer a ping in time';
      return this.#socket.terminate();
    }
    this.#isAsked = true;
    this.#socket.ping();
  }

  #onMessage(data: RawData): void {
    this.#isAsked = false;
    const bytes = toBuffer(data);
    // An empty message on each stream says that the server is ready.
    if (bytes.length < 2) return;
    const payload = bytes.subarray(1);
    switch (bytes[0]) {
      case STDOUT:
        return this.#pushOutput(this.stdout, payload);
      case STDERR:
        return this.#pushOutput(this.stderr, payload);
      case STATUS:
        return this.#onStatus(payload.toString());
      default:
        return;
    }
  }

  #pushOutput(output: ExecOutput, bytes: Buffer): void {
    if (output.accept(bytes)) return;
    this.#full.add(output);
    this.#socket.pause();
  }

  #resumeReading(output: ExecOutput): void {
    if (!this.#full.delete(output) || this.#full.size > 0) return;
    // The answer to an earlier ping may come after what is read now.
    this.#isAsked = false;
    setImmediate(() => {
      if (this.#full.size === 0) this.#socket.resume();
    });
  }

  #onStatus(text: string): void {
    this.#status = toProgramEnd(text);
    this.#closeTimer ??= this.#clock.after(CLOSE_MS, () => this.#socket.terminate());
  }

  #onClose(code: number, reason: string): ProgramEnd {
    this.#pulse[Symbol.dispose]();
    this.#closeTimer?.[Symbol.dispose]();
    this.stdout.finish();
    this.stderr.finish();
    return (
      this.#status ?? { kind: 'dropped', detail: `the connection to its program was lost (${reason || this.#lastError || `code ${code}`})` }
    );
  }
}

/** Reads a status as Kubernetes writes it: success, an exit code among the causes, or what went wrong. */
function toProgramEnd(text: string): ProgramEnd {
  const parsed = statusSchema.safeParse(tryParseJson(text));
  if (!parsed.success) return { kind: 'failed', detail: `the API server sent a status that makes no sense: ${text.slice(0, 200)}` };
  const { status, message, reason, details } = parsed.data;
  if (status === 'Success') return { kind: 'exited', code: 0 };
  const code = Number(details.causes.find((cause) => cause.reason === 'ExitCode')?.message);
  if (reason === 'NonZeroExitCode' && Number.isInteger(code)) return { kind: 'exited', code };
  return { kind: 'failed', detail: `its node could not run the program: ${message || reason}` };
}
