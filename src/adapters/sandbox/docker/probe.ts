import type { Finding } from '../finding.ts';
import { Daemon } from './daemon.ts';
import { createDaemonError } from './daemon-error.ts';

/** Whether a daemon answers at each of these sockets. */
export async function probeDocker(sockets: readonly string[]): Promise<Finding> {
  const found: string[] = [];
  for (const socket of new Set(sockets)) {
    try {
      found.push(`${await new Daemon(socket).version()} at ${socket}`);
    } catch (error) {
      const { message } = createDaemonError(socket, error, `its version at ${socket} cannot be read`);
      const [detail = message, ...remedy] = message.split(': ');
      return { state: 'missing', detail, remedy: remedy.join(': ') };
    }
  }
  return { state: 'available', detail: found.join(', ') };
}
