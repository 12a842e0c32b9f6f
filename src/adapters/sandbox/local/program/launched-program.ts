import type { ChildProcess } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { raceWithAbort } from '../../../../kernel/abort.ts';
import { InfrastructureError } from '../../../../kernel/errors.ts';
import { ProgramInput } from './program-input.ts';
import { ProgramOutput } from './program-output.ts';
import type { ProgramEnd, SandboxedProgram } from './sandboxed-program.ts';

/** A process that Muster has launched to hold one program, and that ends with its program's code. */
export interface LaunchedProcess {
  readonly process: ChildProcess;
  readonly pid: number;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Whether the program is about to start; false when it never will. */
  readonly started: Promise<boolean>;
}

/** The processes of a sandbox besides the launched one, where no control group knows them. They end with it or soon after. */
export interface FurtherProcesses {
  /** Takes note of what has to be killed. Called when the program is about to begin. @param pid of the launched process. */
  find(pid: number): Promise<void>;
  /** Kills what `find` has noted. */
  kill(): void;
  /** Resolves when none is in the process table, after the launched one has ended. @param wasSignalled whether a signal ended that one. */
  waitUntilGone(wasSignalled: boolean): Promise<void>;
}

const SAID_MAX_CHARACTERS = 2000;

/** A program that is held by a process of its own, and ends with it. */
export class LaunchedProgram implements SandboxedProgram {
  readonly stdin: ProgramInput;
  readonly stdout: ProgramOutput;
  readonly stderr: ProgramOutput;
  readonly ended: Promise<ProgramEnd>;
  readonly #holder: string;
  readonly #launched: LaunchedProcess;
  readonly #further: FurtherProcesses;
  #hasEnded = false;
  #wasSignalled = false;

  /** @param holder what holds it, for messages. */
  constructor(holder: string, launched: LaunchedProcess, further: FurtherProcesses) {
    this.#holder = holder;
    this.#launched = launched;
    this.#further = further;
    this.stdin = new ProgramInput(launched.stdin);
    this.stdout = new ProgramOutput(launched.stdout);
    this.stderr = new ProgramOutput(launched.stderr);
    const { promise, resolve } = Promise.withResolvers<ProgramEnd>();
    this.ended = promise;
    launched.process.once('exit', (code, signal) => {
      this.#hasEnded = true;
      this.#wasSignalled = signal !== null;
      resolve(toProgramEnd(holder, code, signal));
    });
  }

  /**
   * Resolves when the program is about to begin. One that has not begun leaves nothing behind but, perhaps, processes in a control group.
   *
   * @param isGrouped whether a control group knows its processes. @throws InfrastructureError `sandbox.start` with its holder's message.
   */
  async begin(isGrouped: boolean, signal: AbortSignal): Promise<void> {
    try {
      if (!(await raceWithAbort(this.#launched.started, signal))) throw await raceWithAbort(this.#startError(), signal);
      if (!isGrouped) await this.#further.find(this.#launched.pid);
    } catch (error) {
      this.kill();
      for (const stream of [this.stdin, this.stdout, this.stderr]) stream.destroy();
      await (isGrouped ? this.ended : this.waitUntilGone());
      throw error;
    }
  }

  kill(): void {
    if (this.#hasEnded) return;
    this.#launched.process.kill('SIGKILL');
    this.#further.kill();
  }

  async waitUntilGone(): Promise<void> {
    await this.ended;
    await this.#further.waitUntilGone(this.#wasSignalled);
  }

  async #startError(): Promise<InfrastructureError> {
    const end = await this.ended;
    // Its output ends with the last of its processes.
    await this.waitUntilGone();
    const said = (await text(this.stderr)).trim().slice(0, SAID_MAX_CHARACTERS);
    const how = end.kind === 'exited' ? `exit code ${end.code}` : end.detail;
    return new InfrastructureError('sandbox.start', `${this.#holder} did not start the program (${how}): ${said || 'it said nothing'}`);
  }
}

function toProgramEnd(holder: string, code: number | null, signal: NodeJS.Signals | null): ProgramEnd {
  if (code !== null) return { kind: 'exited', code };
  const detail = `${holder} was ended by ${signal ?? 'an unknown signal'} from outside of Muster`;
  return { kind: 'lost', detail, wasKilled: signal === 'SIGKILL' };
}
