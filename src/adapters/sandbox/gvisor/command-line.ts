import { createHash } from 'node:crypto';
import path from 'node:path';
import { InfrastructureError } from '../../../kernel/errors.ts';
import type { SandboxTemplate } from '../../../pool/ports/template.ts';

/** How gVisor intercepts a program's system calls. systrap is far faster; ptrace is the only one in older versions. */
export const PLATFORMS = ['systrap', 'ptrace'] as const;
export type Platform = (typeof PLATFORMS)[number];

/** The version of runsc, as far as its command line depends on it. */
export interface Runsc {
  readonly path: string;
  readonly platform: Platform;
  /** Newer versions would otherwise leave a mounted network namespace in the state directory. */
  readonly hasGoferNetwork: boolean;
}

/** A path by which a Unix socket is bound, in bytes. */
const SOCKET_PATH_MAX = 107;
/** Longest name that runsc gives a file in its state directory for a container of our naming: its control socket. */
const STATE_FILE_LENGTH = '/runsc-.sock'.length + 12;

/** Returns the directory in which runsc stores the state of a sandbox's only container. */
export const getStateDirectory = (directory: string): string => path.join(directory, 'r');

/** Some versions name an abstract socket after the container, so the name is unique on the whole machine; and short. */
export function nameContainer(directory: string): string {
  return createHash('sha256').update(directory).digest('hex').slice(0, 12);
}

/** @throws InfrastructureError when runsc could not bind its socket in the sandbox's directory, and would use another place. */
export function checkSocketPath(directory: string): void {
  const excess = Buffer.byteLength(getStateDirectory(directory)) + STATE_FILE_LENGTH - SOCKET_PATH_MAX;
  if (excess <= 0) return;
  const problem = `gVisor's control socket in ${directory} would have a path that is ${excess} bytes too long`;
  throw new InfrastructureError('sandbox.unavailable', `${problem}; set stateDir to a shorter path`);
}

/** Builds runsc's command, which every user can read in the process table: secrets are in the bundle. */
export function buildRunscCommand(
  { path: runsc, platform, hasGoferNetwork }: Runsc,
  network: SandboxTemplate['network'],
  directory: string,
): readonly string[] {
  return [
    runsc,
    `--root=${getStateDirectory(directory)}`,
    `--platform=${platform}`,
    `--network=${network}`,
    // The whole of it is in the sandbox's control group already.
    '--ignore-cgroups',
    '--oci-seccomp',
    // A root file system that is read-only needs no layer to write to.
    '--overlay2=none',
    // Errors go to stderr in any case.
    '--log=/dev/null',
    ...(hasGoferNetwork ? ['--gofer-network-namespace=new'] : []),
    ...(process.getuid?.() === 0 ? [] : ['--rootless']),
    'run',
    `--bundle=${directory}`,
    nameContainer(directory),
  ];
}
