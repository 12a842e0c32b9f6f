import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createBubblewrapProvider } from '../../../src/adapters/sandbox/bubblewrap/bubblewrap-provider.ts';
import type { E2bAccount } from '../../../src/adapters/sandbox/e2b/account.ts';
import { type Clock, systemClock } from '../../../src/kernel/clock.ts';
import { parseOwnerId } from '../../../src/kernel/ids.ts';
import type { SandboxProvider } from '../../../src/pool/ports/sandbox.ts';
import type { Mount } from '../../../src/pool/ports/template.ts';
import { Account, UNLIMITED, type Plan } from './account.ts';
import { CONTROL_PLANE } from './control-plane.ts';
import { DAEMON } from './daemon.ts';
import type { RealDaemons } from './real-daemons.ts';
import { FaultScript, type Fault, type FaultKind, type InjectedFault, type Route } from './faults.ts';
import { answerRefusal, Refusal } from './wire.ts';

export interface SimulatorOptions {
  readonly plan?: Plan;
  readonly clock?: Clock;
  readonly faults?: readonly Fault[];
  /** What the template has baked in; without them, nothing but the system. */
  readonly baked?: readonly Mount[];
  /** What answers in a sandbox, in place of the simulator. */
  readonly daemons?: RealDaemons;
  /** In place of real local sandboxes. */
  readonly provider?: SandboxProvider;
  readonly skewMs?: number;
}

export const SIMULATED_TEMPLATE = 'muster-runner';
const API_KEY = 'e2b_0000000000000000000000000000000000000000';
/** As long as a few requests take, so that they overtake the one that is delayed. */
const DELAY_MS = 20;

/** Faults that have their effect while the request is answered. */
const LATER: ReadonlySet<FaultKind> = new Set(['answer-dropped', 'cut', 'dies']);

const ROUTES: Readonly<Record<string, Route>> = {
  'POST /v2/sandboxes': 'create',
  'GET /v2/sandboxes': 'list',
  'GET /sandboxes/{}': 'info',
  'DELETE /sandboxes/{}': 'kill',
  'POST /sandboxes/{}/timeout': 'extend',
  'POST /v2/sandboxes/{}/connect': 'resume',
  'POST /sandboxes/{}/pause': 'pause',
  'GET /templates/aliases/{}': 'template',
  'GET /health': 'health',
  'POST /process.Process/Start': 'start',
  'POST /process.Process/Connect': 'attach',
  'POST /process.Process/SendInput': 'input',
  'POST /process.Process/CloseStdin': 'close-input',
  'POST /process.Process/SendSignal': 'signal',
  'POST /process.Process/List': 'processes',
  'POST /filesystem.Filesystem/Move': 'move',
  'POST /files': 'upload',
};

/**
 * E2B on this machine, for the real SDK over real sockets: control plane and sandbox daemons at one address, distinguished by the header
 * with a sandbox's id. What it does was held against E2B's own daemon and API.
 */
export class E2bSimulator implements AsyncDisposable {
  readonly account: Account;
  readonly faults: FaultScript;
  readonly #server: Server;
  readonly #provider: SandboxProvider;
  readonly #daemons: RealDaemons | undefined;
  readonly #directory: string;

  private constructor(server: Server, directory: string, options: SimulatorOptions) {
    this.#server = server;
    this.#directory = directory;
    this.faults = new FaultScript(options.faults);
    this.#daemons = options.daemons;
    const stateDir = path.join(directory, 'state');
    const owner = parseOwnerId(
      `e2b-${path
        .basename(directory)
        .toLowerCase()
        .replaceAll(/[^a-z0-9]/g, '')}`,
    );
    this.#provider = options.provider ?? createBubblewrapProvider({ stateDir, owner, clock: systemClock });
    // More disk than memory, as the service has it: a program that fills both is ended by the limit of its memory, each time.
    const limits = { memoryBytes: 512 * 2 ** 20, processes: 64, cpus: 2, diskBytes: 2 ** 30, lifetimeSeconds: 86_400 };
    const context = {
      provider: this.#provider,
      directory: path.join(directory, 'files'),
      baked: options.baked ?? [],
      limits,
      daemons: options.daemons,
    };
    this.account = new Account(options.plan ?? UNLIMITED, options.clock ?? systemClock, context, [SIMULATED_TEMPLATE], options.skewMs);
    server.on('request', (request: IncomingMessage, response: ServerResponse) => void this.#serve(request, response));
  }

  static async open(options: SimulatorOptions = {}): Promise<E2bSimulator> {
    const server = createServer({ keepAliveTimeout: 60_000 });
    const simulator = new E2bSimulator(server, await mkdtemp(path.join(tmpdir(), 'muster-e2b-')), options);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return simulator;
  }

  /** How to reach it. */
  get credentials(): E2bAccount & { readonly apiUrl: string; readonly sandboxUrl: string } {
    const address = this.#server.address();
    const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
    return { apiKey: API_KEY, apiUrl: url, sandboxUrl: url };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const tenant of this.account.tenants) await this.account.end(tenant);
    await this.#daemons?.[Symbol.asyncDispose]();
    await this.#provider[Symbol.asyncDispose]();
    this.#server.closeAllConnections();
    this.#server.close();
    await rm(this.#directory, { recursive: true, force: true });
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const url = new URL(request.url ?? '', 'http://e2b');
      const { key, id } = findCall(request.method ?? '', url.pathname);
      const fault = this.faults.next(ROUTES[key] ?? 'other');
      if (fault) await strike(fault, response);
      if (response.destroyed) return;
      const sandboxId = request.headers['e2b-sandbox-id'];
      if (typeof sandboxId === 'string') await this.#daemon(key, sandboxId, request, response, fault);
      else await this.#control(key, id, url, request, response);
    } catch (error) {
      answerRefusal(response, error);
    }
  }

  async #control(key: string, id: string, url: URL, request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.headers['x-api-key'] !== API_KEY) throw new Refusal(401, 'Invalid API key');
    const call = CONTROL_PLANE[key];
    if (!call) throw new Refusal(404, `no such path: ${key}`);
    await call(this.account, request, response, id, url);
  }

  async #daemon(key: string, id: string, request: IncomingMessage, response: ServerResponse, fault?: InjectedFault): Promise<void> {
    const machine = this.account.machine(id);
    if (!machine) throw new Refusal(502, 'The sandbox was not found');
    if (request.headers['x-access-token'] !== `token-${id}`) throw new Refusal(401, 'unauthenticated');
    if (fault?.kind === 'dies' && key !== 'POST /process.Process/Start') {
      fault.strike();
      await this.account.end(this.account.tenant(id));
      throw new Refusal(502, 'The sandbox was not found');
    }
    if (this.#daemons) return this.#daemons.forward(id, request, response, fault);
    const call = DAEMON[key];
    if (!call) throw new Refusal(404, `no such path: ${key}`);
    await call(machine, request, response, fault);
  }
}

/** The path with the id taken out of it. */
function findCall(method: string, pathname: string): { key: string; id: string } {
  const match = /^(\/v2\/sandboxes|\/sandboxes|\/templates\/aliases)\/([^/]+)(.*)$/.exec(pathname);
  if (!match) return { key: `${method} ${pathname}`, id: '' };
  const [, before = '', id = '', behind = ''] = match;
  return { key: `${method} ${before}/{}${behind}`, id: decodeURIComponent(id) };
}

async function strike(fault: InjectedFault, response: ServerResponse): Promise<void> {
  if (!LATER.has(fault.kind)) fault.strike();
  switch (fault.kind) {
    case 'busy':
      throw new Refusal(429, 'Rate limit exceeded');
    case 'busy-for-a-second':
      throw new Refusal(429, 'Rate limit exceeded', { 'retry-after': '1' });
    case 'failing':
      throw new Refusal(500, 'Internal Server Error');
    case 'unavailable':
      throw new Refusal(503, 'Service Unavailable');
    case 'conflict':
      throw new Refusal(409, 'Sandbox is being placed');
    case 'dropped':
      response.destroy();
      return;
    case 'answer-dropped':
      // Answers begin when everything is done that was asked for.
      response.writeHead = () => {
        fault.strike();
        return response.destroy();
      };
      return;
    case 'delayed':
      await pause(DELAY_MS);
      return;
    case 'cut':
    case 'dies':
      return;
  }
}
