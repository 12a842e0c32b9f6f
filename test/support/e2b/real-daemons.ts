import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { dependent } from '../../../scripts/dependent-process.ts';
import { freePort } from '../free-port.ts';
import { PROJECT } from './e2b-context.ts';
import type { InjectedFault } from './faults.ts';

/**
 * Directories of its own hide this machine's: what is written there is the sandbox's. The daemon and the checkout, whose runner its programs
 * are, may lie in one of them: they are held open, and put back over what hides them. Arguments: the daemon, its port, the checkout.
 */
const SECLUDED = `
mount --make-rprivate / && mkdir -p /muster && exec 3<"$1" 4<"$3" || exit
for each in /run /muster /tmp; do mount -t tmpfs none $each || exit; done
[ -d "$3" ] || { mkdir -p "$3" && mount --no-canonicalize --bind /proc/self/fd/4 "$3"; } || exit
exec 4<&-; exec /proc/self/fd/3 -isnotfc -no-cgroups -port "$2"`;
const HEALTHY_MS = 60_000;
/** Output after which a connection is cut, so that some of it has passed. */
const CHUNKS_BEFORE_CUT = 3;

interface Daemon {
  readonly port: number;
  readonly child: ChildProcess;
}

/**
 * E2B's own sandbox daemon (`envd`), one for each simulated sandbox. Outside of its virtual machine it needs root, and is walled in by
 * namespaces of mounts and processes alone: for programs that are trusted.
 */
export class RealDaemons implements AsyncDisposable {
  readonly #program: string;
  readonly #checkout: string;
  readonly #daemons = new Map<string, Promise<Daemon>>();

  /** @param checkout of Muster, which programs in the sandboxes find at the same path. */
  constructor(program: string, checkout = PROJECT) {
    this.#program = program;
    this.#checkout = checkout;
  }

  /** Has the sandbox's daemon answer. */
  async forward(id: string, request: IncomingMessage, response: ServerResponse, fault?: InjectedFault): Promise<void> {
    const starting = this.#daemons.get(id) ?? this.#start();
    this.#daemons.set(id, starting);
    const { port, child } = await starting;
    const { method, url, headers } = request;
    const forwarded = http.request({ host: '127.0.0.1', port, method, path: url, headers: { ...headers, host: 'localhost' } });
    const giveUp = (): void => {
      forwarded.destroy();
      response.destroy();
    };
    child.once('exit', giveUp);
    response.once('close', () => {
      child.off('exit', giveUp);
      forwarded.destroy();
    });
    forwarded.on('error', giveUp).on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      response.flushHeaders();
      let chunks = 0;
      const cut = (): void => {
        fault?.strike();
        giveUp();
      };
      if (fault?.kind === 'cut') answer.on('data', () => (chunks += 1) > CHUNKS_BEFORE_CUT && cut());
      answer.on('error', giveUp).pipe(response);
    });
    request.pipe(forwarded);
  }

  /** Whatever ran in it is gone afterwards. */
  async end(id: string): Promise<void> {
    const starting = this.#daemons.get(id);
    this.#daemons.delete(id);
    const { child } = (await starting?.catch(() => undefined)) ?? {};
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#daemons.keys()].map((id) => this.end(id)));
  }

  async #start(): Promise<Daemon> {
    const port = await freePort();
    const walls = ['--mount', '--pid', '--fork', '--kill-child=SIGKILL', '--mount-proc'];
    const child = spawn(
      ...dependent('unshare', [...walls, '/bin/sh', '-c', SECLUDED, 'envd', this.#program, String(port), this.#checkout]),
      {
        stdio: 'ignore',
        // The directory of the tests may be hidden: some programs do not start in one that is not there.
        cwd: '/',
      },
    );
    const url = `http://127.0.0.1:${port}`;
    const deadline = performance.now() + HEALTHY_MS;
    while (!(await isHealthy(url))) {
      if (child.exitCode !== null || performance.now() > deadline) {
        child.kill('SIGKILL');
        throw new Error(`${this.#program} does not answer; it needs root`);
      }
      await pause(10);
    }
    const body = JSON.stringify({ defaultUser: 'root' });
    await fetch(`${url}/init`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    return { port, child };
  }
}

async function isHealthy(url: string): Promise<boolean> {
  const answer = await fetch(`${url}/health`).catch(() => undefined);
  return answer?.ok === true;
}
