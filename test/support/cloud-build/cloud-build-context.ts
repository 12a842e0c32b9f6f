import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { homedir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { parse } from 'yaml';
import { createCloudBuildProvider } from '../../../src/adapters/sandbox/cloud-build/cloud-build-provider.ts';
import { createCloudBuildTemplate } from '../../../src/adapters/sandbox/cloud-build/cloud-build-template.ts';
import { TAG } from '../../../src/adapters/sandbox/cloud-build/owned-builds.ts';
import { cloudBuildSchema, type CloudBuildSettings } from '../../../src/adapters/sandbox/cloud-build/settings.ts';
import { type OwnerId, parseOwnerId, parseSandboxId, type SandboxId } from '../../../src/kernel/ids.ts';
import { PACKAGE_ROOT } from '../../../src/kernel/package-root.ts';
import type { SandboxProvider } from '../../../src/pool/ports/sandbox.ts';
import type { Mount, SandboxTemplate } from '../../../src/pool/ports/template.ts';
import type { SandboxContext } from '../../contract/sandbox-provider.ts';
import { freePort } from '../free-port.ts';
import type { DialBackImage } from '../kubernetes/dial-back-image.ts';
import { SkippableClock } from '../skippable-clock.ts';
import { SimulatedCloudBuild } from './simulated-cloud-build.ts';
import { STEPS_OWN } from './step-container.ts';

const CRASHING_OWNER = path.join(import.meta.dirname, 'crashing-owner.ts');
const DEFAULTS = path.join(PACKAGE_ROOT, 'src/adapters/sandbox/cloud-build/defaults.yaml');
let contexts = 0;

/** The settings with their defaults. */
export function completeSettings(given: object): object {
  const { 'cloud-build': defaults } = parse(readFileSync(DEFAULTS, 'utf8'));
  return { ...defaults, ...given, dialBack: { ...defaults.dialBack, ...('dialBack' in given ? Object(given.dialBack) : {}) } };
}

/** Another Muster that creates sandboxes and dies without warning. */
export async function crashOwner(
  owner: OwnerId,
  settings: CloudBuildSettings,
  commands: readonly (readonly string[])[],
): Promise<readonly SandboxId[]> {
  const child = spawn(process.execPath, [CRASHING_OWNER, JSON.stringify({ owner, settings, commands })], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  for await (const line of createInterface({ input: child.stdout })) {
    child.kill('SIGKILL');
    await once(child, 'exit');
    return line.split(' ').map(parseSandboxId);
  }
  throw new Error('the other Muster ended before its sandboxes ran');
}

/** As a template for the simulated service has them. */
export function simulatedSettings(
  simulated: SimulatedCloudBuild,
  image: DialBackImage,
  visible: readonly string[] = [],
): CloudBuildSettings {
  const { host, port, advertise, plaintext, dialler } = image.transport;
  const { visible: usual } = cloudBuildSchema.parse(completeSettings({}));
  const settings = {
    project: simulated.project,
    region: simulated.region,
    image: simulated.image,
    serviceAccount: 'muster-sandbox@muster-test.iam.gserviceaccount.com',
    endpoint: simulated.endpoint,
    python: image.python,
    visible: [...usual, ...visible],
    dialBack: { host, port, advertise, plaintext, dialler },
  };
  return cloudBuildSchema.parse(completeSettings(settings));
}

/** A simulated Cloud Build, and owners that are unique to one test. */
export class CloudBuildContext implements SandboxContext {
  readonly clock = new SkippableClock();
  readonly simulated: SimulatedCloudBuild;
  readonly settings: CloudBuildSettings;
  readonly additions: Partial<SandboxTemplate>;
  readonly hiddenPaths: readonly string[];
  readonly #owners: OwnerId[] = [];
  readonly #name = `builds-${process.pid}-${(contexts += 1)}`;
  #proxy: HoldingProxy | undefined;

  private constructor(simulated: SimulatedCloudBuild, settings: CloudBuildSettings, mounts: readonly Mount[]) {
    this.simulated = simulated;
    this.settings = settings;
    const { providerPart } = createCloudBuildTemplate('contract', { ...TEMPLATE, command: ['true'] }, settings);
    this.additions = { ...(providerPart && { providerPart }), mounts: [] };
    const places = [PACKAGE_ROOT, homedir(), '/home', ...STEPS_OWN];
    this.hiddenPaths = places.filter((place) => !mounts.some(({ target }) => target.startsWith(place)));
  }

  /** @param mounts layers of the image besides. */
  static async open(image: DialBackImage, mounts: readonly Mount[] = []): Promise<CloudBuildContext> {
    const targets = new Set(image.image.mounts.map(({ target }) => target));
    const layers = [...image.image.mounts, ...mounts.filter(({ target }) => !targets.has(target))];
    const simulated = await SimulatedCloudBuild.start(layers);
    return new CloudBuildContext(
      simulated,
      simulatedSettings(
        simulated,
        image,
        layers.map(({ target }) => target),
      ),
      layers,
    );
  }

  provider(): SandboxProvider {
    return createCloudBuildProvider({ owner: this.#newOwner(), clock: this.clock, places: [this.place] });
  }

  get place(): { readonly endpoint: string; readonly project: string; readonly region: string } {
    const { endpoint, project, region } = this.simulated;
    return { endpoint, project, region };
  }

  async traces(): Promise<readonly string[]> {
    return this.simulated.running.map(({ id }) => id);
  }

  async killFromOutside({ owner }: SandboxProvider, id: SandboxId): Promise<void> {
    const found = this.simulated.running.find(
      ({ tags, env }) => tags.includes(`${TAG}-${owner}`) && env.some((each) => each.includes(`"id":"${id}"`)),
    );
    if (!found) throw new Error(`no build of ${owner} is the sandbox ${id}`);
    await this.simulated.cancel(found.id);
  }

  /** Its machine has gone, too: nothing tells the builds that their connections are broken. */
  async crashedOwner(commands: readonly (readonly string[])[]): Promise<readonly SandboxId[]> {
    const port = await freePort();
    this.#proxy = await HoldingProxy.open(port);
    const dialBack = { ...this.settings.dialBack, port, advertise: `ws://127.0.0.1:${this.#proxy.port}` };
    return crashOwner(this.#newOwner(), { ...this.settings, dialBack }, commands);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const left = await this.traces();
    await this.simulated[Symbol.asyncDispose]();
    await this.#proxy?.[Symbol.asyncDispose]();
    if (left.length > 0) throw new Error(`builds were left behind: ${left.join(', ')}`);
  }

  #newOwner(): OwnerId {
    const owner = parseOwnerId(`${this.#name}-${this.#owners.length}`);
    this.#owners.push(owner);
    return owner;
  }
}

export const TEMPLATE = {
  python: 'auto',
  imports: [],
  environment: {},
  mounts: [],
  network: 'none',
  limits: { memoryBytes: 2 ** 28, processes: 64, cpus: 1, diskBytes: 2 ** 24, lifetimeSeconds: 600 },
  demands: [],
  start: 'auto',
} as const;

/** Forwards connections, and keeps one side open when the other breaks. */
class HoldingProxy implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server) {
    this.#server = server;
  }

  static async open(target: number): Promise<HoldingProxy> {
    const server = createServer();
    const proxy = new HoldingProxy(server);
    server.on('connection', (client: Socket) => {
      const behind = connect(target, '127.0.0.1');
      for (const socket of [client, behind]) proxy.#sockets.add(socket.on('error', () => undefined));
      client.pipe(behind, { end: false });
      behind.pipe(client, { end: false });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return proxy;
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
