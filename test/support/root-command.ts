import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { buildSystemArguments } from '../../src/adapters/sandbox/bubblewrap/command/command-line.ts';
import { readSystemView } from '../../src/adapters/sandbox/local/template/system-view.ts';
import type { Sandbox, SandboxExit } from '../../src/pool/ports/sandbox.ts';
import type { Mount } from '../../src/pool/ports/template.ts';

/** What a simulator does with whatever runs in its sandboxes. */
export type RunningCommand = Pick<Sandbox, 'stdin' | 'stdout' | 'stderr' | 'exit' | 'destroy'>;

export interface RootCommand {
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Host directory that is `target` inside, and may be written. */
  readonly files: string;
  readonly target: string;
  readonly baked: readonly Mount[];
  /** Whether it may connect to anything. */
  readonly hasNetwork: boolean;
  /** Whether it is root of a machine of its own, and may make walls there; it takes root here. */
  readonly isPrivileged?: boolean;
}

/** A command that runs as a container's root: what it writes below `target` stays, and programs of sandboxes cannot change it. */
export async function startRootCommand(wanted: RootCommand): Promise<RunningCommand> {
  const { command, environment, files, target, baked } = wanted;
  const system = buildSystemArguments(await readSystemView());
  const walls = [...buildWalls(wanted), '--die-with-parent', '--clearenv'];
  const variables = Object.entries({ PATH: '/usr/bin:/bin', ...environment }).flatMap(([name, value]) => ['--setenv', name, value]);
  const writable = ['--dev', '/dev', '--proc', '/proc', '--tmpfs', '/tmp', '--bind', files, target];
  const layers = baked.flatMap((mount) => ['--ro-bind', mount.source, mount.target]);
  const child = spawn('bwrap', [...walls, ...variables, ...system, ...writable, ...layers, '--', ...command], {
    stdio: 'pipe',
    detached: true,
  });
  child.stdin.on('error', () => {});
  const exit = once(child, 'close').then((): SandboxExit => {
    return child.exitCode === null ? { kind: 'destroyed' } : { kind: 'exited', code: child.exitCode };
  });
  const destroy = async (): Promise<void> => {
    killGroup(child);
    await exit;
  };
  return { stdin: child.stdin, stdout: child.stdout, stderr: child.stderr, exit, destroy };
}

function buildWalls({ hasNetwork, isPrivileged = false }: RootCommand): readonly string[] {
  if (!isPrivileged) return ['--unshare-all', ...(hasNetwork ? ['--share-net'] : [])];
  return ['--unshare-pid', '--unshare-ipc', '--unshare-uts', ...(hasNetwork ? [] : ['--unshare-net']), '--cap-add', 'ALL'];
}

/**
 * Of a bubblewrap that leads a process group, all of it: its second process asks to die with the first a moment after it began, and waits for
 * it for ever when it was killed within that moment.
 */
export function killGroup({ pid, exitCode, signalCode }: ChildProcess): void {
  if (pid === undefined || exitCode !== null || signalCode !== null) return;
  process.kill(-pid, 'SIGKILL');
}
