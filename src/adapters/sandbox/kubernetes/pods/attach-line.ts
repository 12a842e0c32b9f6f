import { PROGRAM_CONTAINER } from './container-names.ts';
import { EXEC_HOLD, type ExecLine } from '../exec/exec-line.ts';
import type { PodHold, PodLine } from '../exec/pod-line.ts';
import type { ProgramChannel, ProgramEnd } from '../exec/program-channel.ts';

/**
 * The program is the first process of its container, where no process that it starts can end it. Its output before Muster is attached is lost, so it
 * waits for a line. Everything else is an exec.
 */
export class AttachLine implements PodLine {
  readonly hold: PodHold;
  readonly start = [];
  readonly endsContainer = true;
  readonly spoilt = new Promise<never>(() => {});
  readonly #exec: ExecLine;

  /** @param program which takes `--await-line` as a further argument. */
  constructor(exec: ExecLine, program: readonly string[]) {
    this.#exec = exec;
    // Kubernetes would substitute anything that looks like a variable.
    const command = [...program, '--await-line', '1'].map((word) => word.replaceAll('$', '$$$$'));
    const waiting = { command, env: [], stdin: true, stdinOnce: true };
    this.hold = { hostAliases: [], container: (name) => (name === PROGRAM_CONTAINER ? waiting : EXEC_HOLD.container(name)) };
  }

  async exec(pod: string, container: string, command: readonly string[], signal: AbortSignal): Promise<ProgramChannel> {
    if (container !== PROGRAM_CONTAINER) return await this.#exec.exec(pod, container, command, signal);
    const channel = await this.#exec.attach(pod, container, signal);
    channel.stdin.write('\n');
    const { stdin, stdout, stderr } = channel;
    return {
      stdin,
      stdout,
      stderr,
      ended: channel.ended.then(hideCode),
      answers: (asking) => channel.answers(asking),
      terminate: () => channel.terminate(),
    };
  }

  [Symbol.dispose](): void {}
}

/** The status of an attachment is not its program's: the pod reports how that ended. */
function hideCode(end: ProgramEnd): ProgramEnd {
  return end.kind === 'exited' ? { kind: 'dropped', detail: 'its program has ended' } : end;
}
