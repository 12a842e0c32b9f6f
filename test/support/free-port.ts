import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';

const FIRST = 10_000;
const LAST = 65_535;
/** The kernel's range of ephemeral ports: the first and the last. */
const GIVEN_TO_ANYBODY = '/proc/sys/net/ipv4/ip_local_port_range';

/**
 * A free port of the loopback, for programs whose port is set from outside. It stays free until they do, and while they are killed
 * and started again: it is outside the range of ephemeral ports.
 */
export async function freePort(): Promise<number> {
  const [given = 0] = (await readFile(GIVEN_TO_ANYBODY, 'utf8')).split('\t').map(Number);
  for (;;) {
    // Where the kernel gives nearly all of them, there is none that it does not.
    const port = randomInt(FIRST, given - FIRST > 1000 ? given : LAST);
    if (await isFree(port)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const probe = createServer();
  const listening = once(probe, 'listening').then(
    () => true,
    () => false,
  );
  probe.listen(port, '127.0.0.1');
  if (!(await listening)) return false;
  probe.close();
  await once(probe, 'close');
  return true;
}
