import { InfrastructureError, getMessage, MusterError } from '../../../kernel/errors.ts';
import { getErrorCode } from '../../../kernel/errno.ts';

/** The daemon's refusal of a request, with its own words. */
export class DaemonRefusal extends Error {
  override readonly name = 'DaemonRefusal';
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Returns the HTTP status with which the daemon refused a request; undefined for any other error. */
export function getStatus(error: unknown): number | undefined {
  return error instanceof DaemonRefusal ? error.status : undefined;
}

/** Turns a failure at the daemon into an error that names the remedy where there is one. */
export function createDaemonError(socket: string, error: unknown, what: string): MusterError {
  if (error instanceof MusterError) return error;
  const code = getErrorCode(error);
  const remedy = typeof code === 'string' ? REMEDIES.get(code) : undefined;
  if (remedy !== undefined) {
    return new InfrastructureError('docker.unreachable', `no Docker daemon answers at ${socket} (${String(code)}): ${remedy}`, {
      cause: error,
    });
  }
  return new InfrastructureError('docker.failed', `Docker: ${what}: ${getMessage(error)}`, { cause: error });
}

const START = 'install and start Docker (Debian: apt install docker.io; systemctl start docker), or set docker.socket';
const REMEDIES: ReadonlyMap<string, string> = new Map([
  ['ENOENT', START],
  ['ECONNREFUSED', START],
  ['EACCES', 'let this user use it (usermod -aG docker USER, which gives the user the rights of root), or set docker.socket'],
]);
