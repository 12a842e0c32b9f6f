import { text } from 'node:stream/consumers';
import { untilAborted } from '../../../kernel/abort.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { InfrastructureError } from '../../../kernel/errors.ts';
import { childrenOf, killProcess, startTimeOf, untilGone } from '../local/process-table.ts';
import { ProgramInput } from '../local/program-input.ts';
import { ProgramOutput } from '../local/program-output.ts';
import type { ProgramEnd, SandboxedProgram } from '../local/sandboxed-program.ts';
import { killSandboxProcesses } from '../local/sweep.ts';
import type { LaunchedProcess } from './launcher.ts';

const SAID_MAX_CHARACTERS = 2000;

/**
 * A program in a bubblewrap process of its own.
 *
 * Killing bubblewrap's monitor makes the kernel kill its child, the first process of the sandbox's pid namespace, and with that one
 * everything in it. The child asks the kernel for this only a moment after it was forked, so it is killed as well: by its control
 * group, by its id, or, when neither is known yet, after a search of the process table.
 */
export class PlainProgram implements SandboxedProgram {
  readonly stdin: ProgramInput;
  readonly stdout: ProgramOutput;
  readonly stderr: ProgramOutput;
  readonly ended: Promise<ProgramEnd>;
  readonly #launched: LaunchedProcess;
  readonly #directory: string;
  readonly #clock: Clock;
  #hasEnded = false;
  #wasSignalled = false;
  /** bubblewrap's child, pid 1 inside; only asked for where no control group knows the processes. */
  #firstProcess: { readonly pid: number; readonly startTime: string } | undefined;

  /** @param directory the sandbox's own, which bubblewrap's command line names. */
  constructor(launched: LaunchedProcess, directory: string, clock: Clock) {
    this.#launched = launched;
    this.#directory = directory;
    this.#clock = clock;
    this.stdin = new ProgramInput(launched.stdin);
    this.stdout = new ProgramOutput(launched.stdout);
    this.stderr = new ProgramOutput(launched.stderr);
    const { promise, resolve } = Promise.withResolvers<ProgramEnd>();
    this.ended = promise;
    launched.process.once('exit', (code, signal) => {
      this.#hasEnded = true;
      this.#wasSignalled = signal !== null;
      resolve(endOf(code, signal));
    });
  }

  /**
   * Resolves when the program is about to begin. One that has not begun leaves nothing behind but, perhaps, processes in a control group.
   *
   * @param findFirst whether its first process must be known to be killed, for want of a control group.
   * @throws InfrastructureError `sandbox.start` with what bubblewrap had to say.
   */
  async begin(findFirst: boolean, signal: AbortSignal): Promise<void> {
    try {
      if (!(await untilAborted(this.#hasBegun(), signal))) throw await this.#startError();
      if (findFirst) this.#firstProcess = await childOf(this.#launched.pid);
    } catch (error) {
      this.kill();
      await (findFirst ? this.gone() : this.ended);
      for (const stream of [this.stdin, this.stdout, this.stderr]) stream.destroy();
      throw error;
    }
  }

  async #hasBegun(): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const { started } = this.#launched;
    started.once('data', () => resolve(true));
    started.once('close', () => resolve(false));
    started.on('error', () => resolve(false));
    const hasBegun = await promise;
    started.destroy();
    return hasBegun;
  }

  async #startError(): Promise<InfrastructureError> {
    const end = await this.ended;
    const said = (await text(this.stderr)).trim().slice(0, SAID_MAX_CHARACTERS);
    const how = end.kind === 'exited' ? `exit code ${end.code}` : end.detail;
    return new InfrastructureError('sandbox.start', `bubblewrap did not start the program (${how}): ${said || 'it said nothing'}`);
  }

  kill(): void {
    if (this.#hasEnded) return;
    this.#launched.process.kill('SIGKILL');
    if (this.#firstProcess) killProcess(this.#firstProcess.pid);
  }

  /** Once its first process is gone the kernel has seen to it that all others of its pid namespace are. */
  async gone(): Promise<void> {
    await this.ended;
    const first = this.#firstProcess;
    if (first)
      await untilGone(`processes of ${this.#directory}`, async () => (await startTimeOf(first.pid)) !== first.startTime, this.#clock);
    else if (this.#wasSignalled) await killSandboxProcesses(this.#directory, this.#clock);
  }
}

async function childOf(pid: number): Promise<{ pid: number; startTime: string } | undefined> {
  const child = (await childrenOf(pid))?.[0];
  const startTime = child && (await startTimeOf(child));
  return child && startTime ? { pid: child, startTime } : undefined;
}

/** bubblewrap ends with its program's code. */
function endOf(code: number | null, signal: NodeJS.Signals | null): ProgramEnd {
  if (code !== null) return { kind: 'exited', code };
  const detail = `bubblewrap was ended by ${signal ?? 'an unknown signal'} from outside of Muster`;
  return { kind: 'lost', detail, wasKilled: signal === 'SIGKILL' };
}
