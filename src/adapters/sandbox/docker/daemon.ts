import Docker from 'dockerode';
import { InfrastructureError, messageOf, MusterError } from '../../../kernel/errors.ts';

/** What went wrong at the daemon, as an error that names the remedy where there is one. */
export function daemonError(socket: string, error: unknown, what: string): MusterError {
  if (error instanceof MusterError) return error;
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  const remedy = typeof code === 'string' ? REMEDIES.get(code) : undefined;
  if (remedy !== undefined) {
    return new InfrastructureError('docker.unreachable', `no Docker daemon answers at ${socket} (${String(code)}): ${remedy}`, {
      cause: error,
    });
  }
  return new InfrastructureError('docker.failed', `Docker: ${what}: ${messageOf(error)}`, { cause: error });
}

const START = 'install and start Docker (Debian: apt install docker.io; systemctl start docker), or set docker.socket';
const REMEDIES: ReadonlyMap<string, string> = new Map([
  ['ENOENT', START],
  ['ECONNREFUSED', START],
  ['EACCES', 'let this user use it (usermod -aG docker USER, which gives the user the rights of root), or set docker.socket'],
]);

/** The HTTP status with which the daemon refused a request; undefined when it did not. */
export function statusOf(error: unknown): number | undefined {
  return error instanceof Error && 'statusCode' in error && typeof error.statusCode === 'number' ? error.statusCode : undefined;
}

/** A client of the daemon at a socket. */
export function dockerAt(socket: string): Docker {
  return new Docker({ socketPath: socket });
}

/** Removes a container, with what runs in it. One that is gone or being removed is waited for. */
export async function removeContainer(container: Docker.Container): Promise<void> {
  try {
    await container.remove({ force: true, v: true });
  } catch (error) {
    if (statusOf(error) === 404) return;
    if (statusOf(error) !== 409) throw error;
    // Another request removes it.
    await container.wait({ condition: 'removed' }).catch((failure: unknown) => {
      if (statusOf(failure) !== 404) throw failure;
    });
  }
}
