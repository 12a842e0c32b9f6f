import { pipeline, Transform, type TransformCallback } from 'node:stream';
import type { DescriptorCover } from '../local/host/inherited-descriptors.ts';
import type { LaunchedProcess } from '../local/program/launched-program.ts';
import { ENTER_GROUPS, startLauncher } from '../local/program/launcher.ts';

/**
 * Enters the control groups, requests to die with Muster, then becomes runsc, whose other processes die with it: everything that it starts is in the
 * groups from its first instruction. Arguments: files to write the process id to, `--`, the command.
 */
const LAUNCH = `ulimit -c 0; ${ENTER_GROUPS}; exec setpriv --pdeathsig KILL -- "$@"`;

export interface Launch {
  /** runsc with its arguments. */
  readonly command: readonly string[];
  /** Makes up for descriptors of Muster's that a child would inherit. */
  readonly covered: DescriptorCover;
  /** The launcher writes the process id into these files before it forks anything. */
  readonly memberFiles: readonly string[];
  /** Whether the program's own first byte reports that the sandbox is ready. */
  readonly startsByItself: boolean;
}

/** @throws InfrastructureError when the machine is out of processes or file descriptors. */
export async function launch({ command, covered, memberFiles, startsByItself }: Launch): Promise<LaunchedProcess> {
  const launcher = await startLauncher(LAUNCH, [...memberFiles, '--', ...command], ['ignore', 'ignore', ...covered.stdio]);
  const mark = new StartMark(startsByItself);
  // Both end together; the exit says how the program ended.
  pipeline(launcher.stdout, mark, () => {});
  return { ...launcher, stdout: mark, started: mark.seen };
}

/**
 * A program's output, whose first byte reports that the sandbox is ready; the byte is removed where it is not the program's. runsc passes no further
 * descriptor into a sandbox on which to report it.
 */
class StartMark extends Transform {
  /** Resolves with true when the mark has come, with false when the output ends without it. */
  readonly seen: Promise<boolean>;
  readonly #resolveSeen: (isStarted: boolean) => void;
  readonly #isOfProgram: boolean;
  #isSeen = false;

  constructor(isOfProgram: boolean) {
    super();
    this.#isOfProgram = isOfProgram;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.seen = promise;
    this.#resolveSeen = resolve;
    this.once('close', () => resolve(false));
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, callback: TransformCallback): void {
    if (this.#isSeen) return callback(null, chunk);
    this.#isSeen = true;
    this.#resolveSeen(true);
    const output = this.#isOfProgram ? chunk : chunk.subarray(1);
    return output.length > 0 ? callback(null, output) : callback();
  }
}
