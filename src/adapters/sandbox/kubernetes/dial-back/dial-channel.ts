import { WebSocket, type RawData } from 'ws';
import type { Clock } from '../../../../kernel/clock.ts';
import { ExecOutput } from '../exec/exec-output.ts';
import type { Heartbeats } from '../exec/heartbeats.ts';
import { isAnsweringPing } from '../exec/ping.ts';
import type { ProgramChannel, ProgramEnd } from '../exec/program-channel.ts';
import { toBuffer, SocketInput } from '../exec/socket-input.ts';
import { CHANNEL, encodeCredit, formatOrderMessage, parseInputCredit, parseStatus } from './messages.ts';

/** Bytes of each output that may be sent before they are read. */
const WINDOW_BYTES = 256 * 1024;
/** A dialler shares its container's processors with the program, and may have to wait for its turn: this many questions may go unanswered. */
const UNANSWERED_MAX = 3;
/** The time from the status to the end of the connection, which the dialler closes. */
const CLOSE_MS = 5_000;

/** An output, and what its sender knows of it. */
interface Flow {
  readonly stream: number;
  readonly output: ExecOutput;
  /** Bytes that may still come. */
  credit: number;
  /** Bytes that came since credit was given last. */
  taken: number;
}

/**
 * The streams of one command over a connection that came from its container.
 *
 * It waits until it is started, then carries the command's streams until the status has come, or the connection is lost. Neither side sends more of a
 * stream than the other has granted. So unread output stops the program only, and pings are always answered.
 */
export class DialChannel implements ProgramChannel {
  readonly stdin: SocketInput;
  readonly stdout: ExecOutput;
  readonly stderr: ExecOutput;
  readonly ended: Promise<ProgramEnd>;
  /** Resolves when the dialler has taken the order, or went away without. */
  readonly begun: Promise<void>;
  readonly #socket: WebSocket;
  readonly #clock: Clock;
  readonly #pulse: Disposable;
  readonly #flows: readonly Flow[];
  readonly #begun = Promise.withResolvers<void>();
  #isStarted = false;
  #unanswered = 0;
  #status: ProgramEnd | undefined;
  #lastError = '';
  #closeTimer: Disposable | undefined;

  /** @param socket open, with nothing read from it. */
  constructor(socket: WebSocket, clock: Clock, heartbeats: Heartbeats) {
    this.#socket = socket;
    this.#clock = clock;
    this.stdin = SocketInput.createForDialler(socket);
    const [out, err] = [this.#getFlow(CHANNEL.stdout), this.#getFlow(CHANNEL.stderr)];
    this.#flows = [out, err];
    this.stdout = out.output;
    this.stderr = err.output;
    const { promise, resolve } = Promise.withResolvers<ProgramEnd>();
    this.ended = promise;
    this.begun = Promise.race([this.#begun.promise, promise.then(() => undefined)]);
    socket.on('message', (data, isBinary) => this.#onMessage(data, isBinary));
    socket.on('pong', () => (this.#unanswered = 0));
    socket.on('error', (error) => (this.#lastError ||= error.message));
    socket.once('close', (code, reason) => resolve(this.#onClose(code, reason.toString())));
    this.#pulse = heartbeats.add({ beat: () => this.#beat() });
  }

  /** Call it once. @param next token of the dialler's next connection. */
  start(command: readonly string[], next: string | undefined): void {
    this.#isStarted = true;
    this.#socket.send(formatOrderMessage(command, next));
    for (const flow of this.#flows) this.#giveCredit(flow);
  }

  answers(signal: AbortSignal): Promise<boolean> {
    return isAnsweringPing(this.#socket, signal);
  }

  terminate(): void {
    this.stdout.drain();
    this.stderr.drain();
    this.#socket.terminate();
  }

  #getFlow(stream: number): Flow {
    const flow: Flow = { stream, output: new ExecOutput(() => this.#giveCredit(flow)), credit: 0, taken: WINDOW_BYTES };
    return flow;
  }

  #beat(): void {
    if (this.#socket.readyState !== WebSocket.OPEN) return;
    if (this.#unanswered >= UNANSWERED_MAX) return this.#giveUp(`its pod did not answer ${UNANSWERED_MAX} pings`);
    this.#unanswered += 1;
    this.#socket.ping();
  }

  #giveUp(why: string): void {
    this.#lastError = why;
    this.#socket.terminate();
  }

  #onMessage(data: RawData, isBinary: boolean): void {
    this.#unanswered = 0;
    const bytes = toBuffer(data);
    const problem = isBinary && this.#isStarted && this.#status === undefined ? this.#take(bytes) : 'a message out of turn';
    if (problem !== undefined) this.#giveUp(`its dialler broke the protocol: ${problem}`);
  }

  /** @returns what is wrong with it. */
  #take(message: Buffer): string | undefined {
    switch (message[0]) {
      case CHANNEL.stdout:
      case CHANNEL.stderr:
        return this.#onOutput(message[0], message.subarray(1));
      case CHANNEL.credit:
        return this.#onCredit(parseInputCredit(message));
      case CHANNEL.status:
        return this.#onStatus(parseStatus(message.subarray(1)));
      default:
        return `a message of the unknown kind ${message[0] ?? 'none'}`;
    }
  }

  #onOutput(stream: number, bytes: Buffer): string | undefined {
    const flow = this.#flows.find((each) => each.stream === stream);
    if (!flow || bytes.length > flow.credit) return 'more output than it was asked for';
    flow.credit -= bytes.length;
    flow.taken += bytes.length;
    if (flow.output.accept(bytes)) this.#giveCredit(flow);
    return undefined;
  }

  #onCredit(bytes: number | undefined): string | undefined {
    if (bytes === undefined) return 'a credit that makes no sense';
    this.stdin.grant(bytes);
    this.#begun.resolve();
    return undefined;
  }

  #onStatus(status: ProgramEnd | undefined): string | undefined {
    if (status === undefined) return 'a status that makes no sense';
    this.#status = status;
    this.#closeTimer ??= this.#clock.after(CLOSE_MS, () => this.#socket.terminate());
    return undefined;
  }

  /** Grants credit for larger amounts of consumed data, not for each piece: half a window is always on its way. */
  #giveCredit(flow: Flow): void {
    if (!this.#isStarted || flow.taken < WINDOW_BYTES / 2 || this.#socket.readyState !== WebSocket.OPEN) return;
    this.#socket.send(encodeCredit(flow.stream, flow.taken));
    flow.credit += flow.taken;
    flow.taken = 0;
  }

  #onClose(code: number, reason: string): ProgramEnd {
    this.#pulse[Symbol.dispose]();
    this.#closeTimer?.[Symbol.dispose]();
    this.stdin.release();
    this.stdout.finish();
    this.stderr.finish();
    const why = this.#lastError || reason || `code ${code}`;
    return this.#status ?? { kind: 'dropped', detail: `the connection to its program was lost (${why})` };
  }
}
