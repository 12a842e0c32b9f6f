import { createAbortError } from '../../../kernel/abort.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { InputError } from '../../../kernel/errors.ts';
import type { OwnerId, SandboxId } from '../../../kernel/ids.ts';
import type { Sandbox, SandboxProvider, SandboxSpec } from '../../../pool/ports/sandbox.ts';
import type { Isolation, SandboxTemplate } from '../../../pool/ports/template.ts';
import { getAdvertisedUrl } from '../kubernetes/dial-back/dial-address.ts';
import { DialBackGates } from '../kubernetes/dial-back/dial-back-gates.ts';
import { readAuthority } from '../kubernetes/dial-back/dial-back-line.ts';
import { checkTemplate } from '../local/template/template-check.ts';
import { ProviderSandboxes } from '../provider-sandboxes.ts';
import { bringMounts } from '../remote/brought-mounts.ts';
import { buildWalls, chooseUser } from '../remote/walls.ts';
import { BuildLine } from './build-line.ts';
import { type BuildLocation, BuildService } from './build-service.ts';
import { CloudBuildSandbox } from './cloud-build-sandbox.ts';
import { describeNewBuild, sweepBuilds, TAG } from './owned-builds.ts';
import { RunningBuild } from './running-build.ts';
import { getBuild } from './settings.ts';

export interface CloudBuildOptions {
  readonly owner: OwnerId;
  readonly clock: Clock;
  /** Reports problems that fail nothing. */
  readonly log?: (message: string) => void;
  /** The places to sweep before anything has been made there. */
  readonly places?: readonly BuildLocation[];
}

/** Sandboxes are builds, each with a machine of its own. A build has one step, which connects to Muster and lasts as long as the sandbox. */
export function createCloudBuildProvider(options: CloudBuildOptions): SandboxProvider {
  return new CloudBuildProvider(options);
}

class CloudBuildProvider implements SandboxProvider {
  readonly name = 'cloud-build';
  readonly owner: OwnerId;
  readonly #clock: Clock;
  readonly #log: (message: string) => void;
  /** Services by endpoint, project and region. */
  readonly #services = new Map<string, BuildService>();
  readonly #gates: DialBackGates;
  readonly #sandboxes = new ProviderSandboxes();
  #closed: Promise<void> | undefined;

  constructor({ owner, clock, log = () => {}, places = [] }: CloudBuildOptions) {
    this.owner = owner;
    this.#clock = clock;
    this.#log = log;
    this.#gates = new DialBackGates({ clock, log });
    for (const place of places) this.#getService(place);
  }

  async describe(template: SandboxTemplate): Promise<Isolation> {
    const isolation = describeBuildIsolation(template);
    const build = getBuild(template);
    getAdvertisedUrl(build.dialBack);
    await readAuthority(build.dialBack);
    await this.#gates.open(build.dialBack);
    await this.#getService(build).listRunning(TAG, this.#sandboxes.closing);
    return isolation;
  }

  create(spec: SandboxSpec, signal: AbortSignal): Promise<Sandbox> {
    return this.#sandboxes.create(signal, (either) => this.#create(spec, either));
  }

  async sweep(signal: AbortSignal): Promise<readonly SandboxId[]> {
    const swept: SandboxId[] = [];
    for (const service of this.#services.values()) swept.push(...(await sweepBuilds(service, this.owner, signal)));
    return swept;
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #create(spec: SandboxSpec, signal: AbortSignal): Promise<Sandbox> {
    const isolation = describeBuildIsolation(spec.template);
    const settings = getBuild(spec.template);
    const gate = await this.#gates.open(settings.dialBack);
    const line = await BuildLine.open(`${this.owner}-${spec.id}`, settings.dialBack, gate);
    let build: RunningBuild | undefined;
    try {
      if (signal.aborted) throw createAbortError(signal);
      build = await this.#start(spec, line);
      if (signal.aborted) throw createAbortError(signal);
      return await this.#enter(spec, isolation, build, line, signal);
    } catch (error) {
      line[Symbol.dispose]();
      await build?.end().catch((failure: unknown) => this.#log(`the build of ${spec.id} is left to end by itself: ${String(failure)}`));
      if (signal.aborted) throw createAbortError(signal);
      throw error;
    }
  }

  /** A requested build may exist: the request is not aborted before its answer has named the build. */
  async #start(spec: SandboxSpec, line: BuildLine): Promise<RunningBuild> {
    const service = this.#getService(getBuild(spec.template));
    const wanted = await describeNewBuild(spec, this.owner, line.variables);
    return new RunningBuild(await service.create(wanted, AbortSignal.timeout(ANSWER_MS)), service, this.#clock);
  }

  async #enter(spec: SandboxSpec, isolation: Isolation, build: RunningBuild, line: BuildLine, signal: AbortSignal): Promise<Sandbox> {
    const { id, template } = spec;
    const channel = await build.whileRunning(signal, async (either) => {
      await bringMounts(template.mounts, (command, bringing) => line.exec(command, bringing), either);
      return await line.exec(buildWalls(template, getBuild(template).visible, chooseUser()), either);
    });
    const { lifetimeSeconds } = template.limits;
    const parts = { id, isolation, build, line, channel, clock: this.#clock, lifetimeSeconds };
    return this.#sandboxes.hold((onGone) => new CloudBuildSandbox({ ...parts, onGone }));
  }

  #getService(place: BuildLocation): BuildService {
    const { endpoint, project, region } = place;
    const key = JSON.stringify([endpoint, project, region]);
    const service = this.#services.get(key) ?? new BuildService(place);
    this.#services.set(key, service);
    return service;
  }

  async #close(): Promise<void> {
    await this.#sandboxes.stopCreating();
    try {
      await this.#sandboxes.destroyAll();
    } finally {
      await this.#gates[Symbol.asyncDispose]();
    }
  }
}

const ANSWER_MS = 60_000;

/** @throws InputError `template.invalid`, `template.limit-unavailable` for what no build can be made of. */
function describeBuildIsolation(template: SandboxTemplate): Isolation {
  checkTemplate(template);
  if (template.network !== 'none')
    throw new InputError('template.invalid', `template "${template.name}": network is ${template.network}; expected none`);
  const isolation: Isolation = {
    mechanism: 'cloud-build',
    limits: {
      memory: { scope: 'process', by: 'rlimit' },
      processes: { scope: 'tree', by: 'rlimit' },
      // Its machine has as many processors as cloud-build.machineType says.
      cpu: { scope: 'none', by: 'none' },
      disk: { scope: 'tree', by: 'tmpfs' },
      lifetime: { scope: 'tree', by: 'timer' },
    },
  };
  const missing = template.demands.find((demand) => isolation.limits[demand].scope !== 'tree');
  if (missing === undefined) return isolation;
  const problem = `template "${template.name}" demands the limit "${missing}" for the whole process tree, which a build cannot be given`;
  throw new InputError('template.limit-unavailable', `${problem}: choose cloud-build.machineType, and drop the demand`);
}
