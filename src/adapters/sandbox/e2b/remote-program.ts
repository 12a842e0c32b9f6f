import { CommandExitError, NotFoundError, RateLimitError, type CommandHandle, type Sandbox } from 'e2b';
import { raceWithAbort } from '../../../kernel/abort.ts';
import { sleep, type Clock } from '../../../kernel/clock.ts';
import { getMessage } from '../../../kernel/errors.ts';
import { computeBackoffMs } from '../../../pool/planning/backoff.ts';
import { toE2bError } from './failure.ts';
import { RemoteInput } from './remote-input.ts';
import { RemoteOutput } from './remote-output.ts';
import { formatShellLine } from './shell-words.ts';

export interface ProgramOrder {
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly clock: Clock;
  /** When it is left out, the E2B template's own user runs the program. */
  readonly user?: 'root';
}

/** How the program ended, as far as that is known. */
export type RemoteEnd = { readonly kind: 'exited'; readonly code: number } | { readonly kind: 'lost'; readonly detail: string };

/** The program's surroundings as every sandbox has them, wherever it is. */
const SURROUNDINGS = { HOME: '/tmp', TMPDIR: '/tmp', LANG: 'C.UTF-8' };
/** The time from the request to the program's start. */
const START_MS = 30_000;

/**
 * The only program of a sandbox, as a command in the background. It lives as long as the connection for its output: E2B drops output without a
 * connection, so a program whose connection breaks counts as lost, because continuing would leave a gap.
 */
export class RemoteProgram {
  readonly stdin: RemoteInput;
  readonly stdout = new RemoteOutput();
  readonly stderr = new RemoteOutput();
  /** Resolves when all of its output can be read, or when it was abandoned; never rejects. */
  readonly ended: Promise<RemoteEnd>;
  /** Called and awaited before each request. */
  wake: () => Promise<void> | undefined = () => undefined;
  readonly #remote: Sandbox;
  readonly #clock: Clock;
  readonly #end = Promise.withResolvers<RemoteEnd>();
  readonly #over = new AbortController();
  #handle: CommandHandle | undefined;
  #pid = 0;

  private constructor(remote: Sandbox, clock: Clock) {
    this.#remote = remote;
    this.#clock = clock;
    this.ended = this.#end.promise;
    const send = (act: (handle: CommandHandle) => Promise<void>): Promise<void> => this.#request(act);
    // A program that does not read its input for long delays a request: it may do that, so only its end limits the request.
    const options = { signal: this.#over.signal, requestTimeoutMs: 0 };
    this.stdin = new RemoteInput(
      {
        send: (bytes) => send((handle) => handle.sendStdin(bytes, options)),
        close: () => send((handle) => handle.closeStdin(options)),
      },
      (error) => this.#lose(`its input was lost: ${getMessage(error)}`),
    );
  }

  /** @throws as `toE2bError` has it, when the program could not be started. */
  static async start(remote: Sandbox, { command, environment, clock, user }: ProgramOrder): Promise<RemoteProgram> {
    const program = new RemoteProgram(remote, clock);
    try {
      program.#listenTo(
        await remote.commands.run(wrapInShell(command, user === 'root' ? '' : END_OTHERS), {
          ...(user && { user }),
          background: true,
          stdin: true,
          cwd: '/tmp',
          envs: { ...SURROUNDINGS, ...environment },
          ...program.#connection,
        }),
      );
    } catch (error) {
      throw toE2bError(error, 'start the program');
    }
    return program;
  }

  /** Aborted when it has ended. */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  /** Stops listening; further output of the program is lost. */
  async detach(): Promise<void> {
    const handle = this.#handle;
    this.#handle = undefined;
    await handle?.disconnect();
  }

  /** @throws InfrastructureError when the program cannot be found again. */
  async attach(): Promise<void> {
    try {
      this.#listenTo(await this.#remote.commands.connect(this.#pid, this.#connection));
    } catch (error) {
      throw toE2bError(error, 'find the program again');
    }
  }

  get #connection() {
    return {
      timeoutMs: 0,
      requestTimeoutMs: START_MS,
      signal: this.#over.signal,
      onStdout: (text: string) => this.#take(this.stdout, '_stdout', text),
      onStderr: (text: string) => this.#take(this.stderr, '_stderr', text),
    };
  }

  #listenTo(handle: CommandHandle): void {
    this.#handle = handle;
    this.#pid = handle.pid;
    void this.#watch(handle);
  }

  /** Gives the program up: the sandbox is removed. */
  abandon(): void {
    this.#settle({ kind: 'lost', detail: 'it was abandoned' });
  }

  /** The SDK appends all output to the handle's text for a result that is never read: hours of it would fill Muster's memory. */
  #take(output: RemoteOutput, kept: '_stdout' | '_stderr', text: string): Promise<void> | undefined {
    if (this.#handle) Reflect.set(this.#handle, kept, '');
    return output.offer(text);
  }

  async #watch(handle: CommandHandle): Promise<void> {
    try {
      await handle.wait();
      this.#settle({ kind: 'exited', code: 0 });
    } catch (error) {
      if (handle !== this.#handle) return;
      // Codes below 0 are signals from outside of the sandbox's shell.
      const isExit = error instanceof CommandExitError && error.exitCode >= 0;
      if (isExit) this.#settle({ kind: 'exited', code: error.exitCode });
      else this.#lose(getMessage(error));
    }
  }

  /** Repeats a request only when it was refused for coming too fast: any other may have arrived. */
  async #request(act: (handle: CommandHandle) => Promise<void>): Promise<void> {
    await this.wake();
    for (let attempt = 1; this.#handle && !this.#over.signal.aborted; attempt++) {
      try {
        return await raceWithAbort(act(this.#handle), this.#over.signal);
      } catch (error) {
        // A program that is gone, or no longer reads, reports the reason by its exit.
        if (this.#over.signal.aborted || error instanceof NotFoundError || isClosedPipe(error)) return;
        if (!(error instanceof RateLimitError)) throw error;
        await sleep(this.#clock, computeBackoffMs(attempt), this.#over.signal).catch(() => undefined);
      }
    }
  }

  #lose(detail: string): void {
    this.#settle({ kind: 'lost', detail: `E2B lost the sandbox or the connection to it: ${detail}` });
  }

  #settle(end: RemoteEnd): void {
    this.#end.resolve(end);
    this.#over.abort(new DOMException('the program has ended', 'AbortError'));
    this.stdout.finish();
    this.stderr.finish();
  }
}

/**
 * Ends all that runs in the sandbox but the shell and its parent, which is E2B's daemon. A user's shell cannot reach root's processes. It is not used
 * for a program of root, which ends its own leftovers: it would end the machine's own programs.
 */
const END_OTHERS = 'for p in /proc/[0-9]*; do p=${p#/proc/}; ((p == $$ || p == PPID)) || kill -KILL $p; done 2>/dev/null; ';

/**
 * A shell stays in front of the program and reports by which signal it died. E2B reports a program's end only when no process has its output open any
 * more, so its remaining processes are ended first.
 */
function wrapInShell(command: readonly string[], clear: string): string {
  return `${formatShellLine(command)}; code=$?; ${clear}exit $code`;
}

/** Recognises how the sandbox's daemon reports that the program has closed its input. */
function isClosedPipe(error: unknown): boolean {
  return /writing to stdin|stdin not enabled or closed|closing stdin/.test(getMessage(error));
}
