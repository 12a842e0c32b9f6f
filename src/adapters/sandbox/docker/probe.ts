import type { Finding } from '../finding.ts';
import { daemonError, dockerAt } from './daemon.ts';

/** Whether a daemon answers at each of these sockets. */
export async function probeDocker(sockets: readonly string[]): Promise<Finding> {
  const found: string[] = [];
  for (const socket of new Set(sockets)) {
    try {
      const { Version } = await dockerAt(socket).version();
      found.push(`${Version} at ${socket}`);
    } catch (error) {
      const { message } = daemonError(socket, error, `its version at ${socket} cannot be found out`);
      const [detail = message, ...remedy] = message.split(': ');
      return { state: 'missing', detail, remedy: remedy.join(': ') };
    }
  }
  return { state: 'available', detail: found.join(', ') };
}
