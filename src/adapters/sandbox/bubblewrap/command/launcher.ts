import type { Duplex, Writable } from 'node:stream';
import type { SandboxLimits } from '../../../../pool/ports/template.ts';
import type { DescriptorCover } from '../../local/host/inherited-descriptors.ts';
import {
  ENTER_GROUPS,
  type Launcher,
  getPipe,
  type ShellStart,
  startJoinedLaunchers,
  startLauncher,
} from '../../local/program/launcher.ts';
import type { LaunchedProcess } from '../../local/program/launched-program.ts';
import { computeDataBytes } from '../../local/cgroups/enforced-limits.ts';
import { OPEN_FILES } from '../../local/host/open-files.ts';
import { ARGUMENTS_DESCRIPTOR, FILTER_DESCRIPTOR, NAMESPACE_DESCRIPTOR } from './command-line.ts';

/**
 * Opens the filter, enters the control groups, then becomes bubblewrap: everything that bubblewrap forks is in them from its first instruction.
 * Arguments: the filter's file, files to write the process id to, `--`, the command.
 */
const LAUNCH = `${openDescriptor(FILTER_DESCRIPTOR)}; ${ENTER_GROUPS}; exec "$@"`;
/** The same, with the file of a user namespace before all. */
const LAUNCH_WITHIN = `${openDescriptor(NAMESPACE_DESCRIPTOR)}; ${LAUNCH}`;

function openDescriptor(descriptor: number): string {
  return `exec ${descriptor}<"$1" || exit 125; shift`;
}

/** The start of the program is reported here. */
const STARTED_DESCRIPTOR = 3;
/** In a sandbox with two programs, each gets its end of their socket pair here, and finds it at descriptor 3. */
const LINE_DESCRIPTOR = NAMESPACE_DESCRIPTOR + 1;
const INPUT_DESCRIPTOR = LINE_DESCRIPTOR + 1;
/**
 * The first process inside: reports that the sandbox is ready, runs the program and reaps orphans until that has ended, then ends with its exit code.
 * bubblewrap's own first process would show its command line, and with it paths of the host. The shell's own messages about the program's end are
 * dropped. A missing program is exit code 127.
 */
const BEGIN = `echo started >&${STARTED_DESCRIPTOR} || exit 125; exec ${STARTED_DESCRIPTOR}>&- ${NAMESPACE_DESCRIPTOR}<&- 4>&2 2>/dev/null`;
const START = `${BEGIN}; (exec 2>&4 4>&-; exec "$@"); exit $?`;
/**
 * The same with a line to another program. The shell runs the program in the background and closes its own end of the line, which so ends when the
 * program closes it. A shell takes the input from programs in the background, so this one gets it by another descriptor.
 */
const START_JOINED = [
  `${BEGIN} ${INPUT_DESCRIPTOR}<&0`,
  `(exec 0<&${INPUT_DESCRIPTOR} 2>&4 ${STARTED_DESCRIPTOR}<&${LINE_DESCRIPTOR} 4>&- ${LINE_DESCRIPTOR}<&- ${INPUT_DESCRIPTOR}<&-; exec "$@") &`,
  `exec ${LINE_DESCRIPTOR}<&- ${INPUT_DESCRIPTOR}<&-; wait $!; exit $?`,
].join('\n');

export interface Launch {
  /** bubblewrap with its arguments, up to the program. */
  readonly bubblewrap: readonly string[];
  /** Arguments that bubblewrap reads from descriptor 4, without NUL characters. */
  readonly unlisted: readonly string[];
  /** The file with the system-call filter. */
  readonly filter: string;
  /** The file of a user namespace that bubblewrap finds at a descriptor of its own. */
  readonly userNamespace: string | undefined;
  readonly program: readonly string[];
  /** It is the first process itself: it reports its start and limits itself. */
  readonly isFirst: boolean;
  readonly limits: SandboxLimits;
  /** Makes up for descriptors of Muster's that a child would inherit. */
  readonly covered: DescriptorCover;
  /** The launcher writes the process id into these files before it forks anything. */
  readonly memberFiles: readonly string[];
  /** Limits to set for each process, for want of a control group. */
  readonly rlimits: { readonly memory: boolean; readonly processes: boolean };
}

/** @throws InfrastructureError when the machine is out of processes or file descriptors. */
export async function launch(plan: Launch): Promise<LaunchedProcess> {
  const { script, argv, beyond } = getShell(plan, START);
  return launchWith(await startLauncher(script, argv, beyond), plan);
}

/** Launches two that share a socket pair. @throws InfrastructureError as `launch` does; then neither is left. */
export async function launchJoined(one: Launch, other: Launch): Promise<readonly [LaunchedProcess, LaunchedProcess]> {
  const [first, second] = await startJoinedLaunchers(getShell(one, START_JOINED), getShell(other, START_JOINED), LINE_DESCRIPTOR);
  return [launchWith(first, one), launchWith(second, other)];
}

function getShell(plan: Launch, start: string): ShellStart {
  const { userNamespace } = plan;
  const outside = [...(userNamespace === undefined ? [] : [userNamespace]), plan.filter, ...plan.memberFiles, '--', ...plan.bubblewrap];
  const inside = plan.isFirst
    ? [...plan.program, ...limitArguments(plan)]
    : ['/bin/sh', '-c', `${formatInsideLimits(plan)}${start}`, 'muster-start', ...plan.program];
  return {
    script: `${formatOutsideLimits(plan.limits)}; ulimit -n ${OPEN_FILES} 2>/dev/null || :; ${userNamespace === undefined ? LAUNCH : LAUNCH_WITHIN}`,
    argv: [...outside, ...inside],
    beyond: ['pipe', 'pipe', ...plan.covered.stdio],
  };
}

function launchWith(launcher: Launcher, plan: Launch): LaunchedProcess {
  handOver(plan.unlisted, getPipe(launcher, ARGUMENTS_DESCRIPTOR));
  return { ...launcher, started: hasData(getPipe(launcher, STARTED_DESCRIPTOR)) };
}

/**
 * Launches bubblewrap with a program that makes sandboxes rather than being one. It has no limit on its own open files.
 *
 * @param descriptors to pass on, from descriptor 5 on. @throws InfrastructureError when the machine is out of processes or file descriptors.
 */
export async function launchHolder(
  plan: Pick<Launch, 'bubblewrap' | 'unlisted' | 'program' | 'limits' | 'covered'>,
  descriptors: readonly number[],
): Promise<Launcher> {
  const beyond = ['ignore', 'pipe', ...descriptors, ...plan.covered.stdio.slice(descriptors.length)] as const;
  const launcher = await startLauncher(`${formatOutsideLimits(plan.limits)}; exec "$@"`, [...plan.bubblewrap, ...plan.program], beyond);
  handOver(plan.unlisted, getPipe(launcher, ARGUMENTS_DESCRIPTOR));
  return launcher;
}

function handOver(words: readonly string[], pipe: Writable): void {
  // A launcher that dies before it has read them reports that by its exit.
  pipe.on('error', () => {});
  pipe.end(words.map((word) => `${word}\0`).join(''), () => pipe.destroy());
}

/** Whether the pipe has data before it ends. It is closed then. */
async function hasData(pipe: Duplex): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  pipe.once('data', () => resolve(true));
  pipe.once('close', () => resolve(false));
  pipe.on('error', () => resolve(false));
  const has = await promise;
  pipe.destroy();
  return has;
}

/** A limit that is lower already cannot be raised, and need not be. */
function formatOutsideLimits({ diskBytes }: SandboxLimits): string {
  return `ulimit -c 0; ulimit -f ${Math.ceil(diskBytes / 512)} 2>/dev/null || :`;
}

/** Lists the limits that a first process sets for itself. */
function limitArguments({ limits, rlimits }: Launch): readonly string[] {
  return [
    ...(rlimits.memory ? ['--address-space', `${limits.memoryBytes}`] : []),
    ...(rlimits.processes ? ['--processes', `${limits.processes + 1}`] : []),
  ];
}

/** The number of processes is counted within the sandbox's own user namespace, so it is set inside. Shells differ in the option. */
function formatInsideLimits({ limits, rlimits }: Launch): string {
  const memory = `ulimit -v ${Math.ceil(limits.memoryBytes / 1024)} || exit 125; `;
  const data = `ulimit -d ${Math.ceil(computeDataBytes(limits.memoryBytes) / 1024)} 2>/dev/null || :; `;
  // bubblewrap's monitor stays outside of the namespace, the first process counts.
  const count = limits.processes + 1;
  const processes = `ulimit -u ${count} 2>/dev/null || ulimit -p ${count} || exit 125; `;
  return `${rlimits.memory ? memory : data}${rlimits.processes ? processes : ''}`;
}
