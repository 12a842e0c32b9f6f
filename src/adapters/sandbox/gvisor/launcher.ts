import { pipeline } from 'node:stream';
import type { DescriptorCover } from '../local/host/inherited-descriptors.ts';
import { ENTER_GROUPS, startLauncher } from '../local/program/launcher.ts';
import type { LaunchedProcess } from '../local/program/launched-program.ts';
import { StartMark } from './start-mark.ts';

/**
 * Enters the control groups, asks to die with Muster, then becomes runsc, whose other processes die with it: whatever it
 * starts is in the groups from its first instruction. Arguments: files to write the process id to, `--`, the command.
 */
const LAUNCH = `ulimit -c 0; ${ENTER_GROUPS}; exec setpriv --pdeathsig KILL -- "$@"`;

export interface Launch {
  /** runsc with its arguments. */
  readonly command: readonly string[];
  /** Makes up for descriptors of Muster's that a child would inherit. */
  readonly covered: DescriptorCover;
  /** Where to write the process id to, before anything is forked. */
  readonly memberFiles: readonly string[];
}

/** @throws InfrastructureError when the machine is out of processes or file descriptors. */
export async function launch({ command, covered, memberFiles }: Launch): Promise<LaunchedProcess> {
  const launcher = await startLauncher(LAUNCH, [...memberFiles, '--', ...command], ['ignore', 'ignore', ...covered.stdio]);
  const mark = new StartMark();
  // The end of either is the end of both; its exit says how the program ended.
  pipeline(launcher.stdout, mark, () => {});
  return { ...launcher, stdout: mark, started: mark.seen };
}
