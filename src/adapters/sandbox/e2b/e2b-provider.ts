import type { Sandbox as RemoteSandbox } from 'e2b';
import PQueue from 'p-queue';
import { createAbortError } from '../../../kernel/abort.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { getMessage, InputError } from '../../../kernel/errors.ts';
import type { OwnerId, SandboxId } from '../../../kernel/ids.ts';
import type { Sandbox, SandboxProvider, SandboxSpec } from '../../../pool/ports/sandbox.ts';
import type { Isolation, SandboxTemplate } from '../../../pool/ports/template.ts';
import { checkTemplate } from '../local/template/template-check.ts';
import { ProviderSandboxes } from '../provider-sandboxes.ts';
import { buildWalls, chooseUser } from '../remote/walls.ts';
import { checkAccount, type E2bAccount } from './account.ts';
import type { E2bMachine } from './e2b-machine.ts';
import { E2bSandbox } from './e2b-sandbox.ts';
import { getMachine } from './e2b-template.ts';
import { createLabels, isForgotten, isGone, MANAGED_METADATA, readLabel, selectLabels } from './ownership.ts';
import { RemoteProgram } from './remote-program.ts';
import { E2bService } from './service.ts';
import { uploadMounts } from './upload-mounts.ts';
import { uploadRunner } from './upload-runner.ts';

export interface E2bOptions {
  readonly owner: OwnerId;
  readonly clock: Clock;
  readonly account: E2bAccount;
  /** Holds `runner/`. */
  readonly projectDirectory: string;
  /** Hosts that sandboxes fetch checkpoints from; without any, they reach nothing. */
  readonly origins?: readonly string[];
  /** Reports problems that fail nothing. */
  readonly log: (message: string) => void;
}

/** Creates the provider of sandboxes of E2B's service, or of one with its protocol. */
export function createE2bProvider(options: E2bOptions): SandboxProvider {
  return new E2bProvider(options);
}

const NEVER = new AbortController().signal;
/** Ends hundreds within seconds, far below the service's limit of requests. */
const SWEPT_AT_ONCE = 16;

class E2bProvider implements SandboxProvider {
  readonly name = 'e2b';
  readonly owner: OwnerId;
  readonly #options: E2bOptions;
  readonly #service: E2bService;
  readonly #sandboxes = new ProviderSandboxes();
  /** E2B templates that were found to be there. */
  readonly #known = new Map<string, Promise<void>>();
  #hasCreated = false;
  #closed: Promise<void> | undefined;

  constructor(options: E2bOptions) {
    this.owner = options.owner;
    this.#options = options;
    this.#service = new E2bService(options.account, options.clock);
  }

  async describe(template: SandboxTemplate): Promise<Isolation> {
    const isolation = describeIsolation(template);
    checkAccount(this.#options.account);
    await this.#checkTemplate(getMachine(template).template);
    return isolation;
  }

  async create(spec: SandboxSpec, signal: AbortSignal): Promise<Sandbox> {
    return this.#sandboxes.create(signal, (either) => this.#create(spec, either));
  }

  async sweep(signal: AbortSignal): Promise<readonly SandboxId[]> {
    const orphans = await this.#listOrphans(signal);
    const queue = new PQueue({ concurrency: SWEPT_AT_ONCE });
    await queue.addAll(
      orphans.map(
        ({ sandboxId }) =>
          () =>
            this.#service.kill(sandboxId),
      ),
      { signal },
    );
    return orphans.map(({ id }) => id);
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #listOrphans(signal: AbortSignal): Promise<readonly { readonly id: SandboxId; readonly sandboxId: string }[]> {
    const now = this.#options.clock.date().getTime();
    const gone = new Map<OwnerId, boolean>([[this.owner, false]]);
    const found: { readonly id: SandboxId; readonly sandboxId: string }[] = [];
    for (const info of await this.#service.list(MANAGED_METADATA, signal)) {
      const label = readLabel(info);
      if (!label) continue;
      const isOrphan = gone.get(label.owner) ?? (await isGone(label.process));
      gone.set(label.owner, isOrphan);
      if (isOrphan || (label.owner !== this.owner && isForgotten(info, now))) found.push({ id: label.id, sandboxId: info.sandboxId });
    }
    return found;
  }

  /** Answers are cached; failed requests are repeated. */
  #checkTemplate(name: string): Promise<void> {
    const known = this.#known.get(name);
    if (known) return known;
    const checking = this.#service.checkTemplate(name, this.#sandboxes.closing);
    checking.catch(() => this.#known.delete(name));
    this.#known.set(name, checking);
    return checking;
  }

  async #create(spec: SandboxSpec, signal: AbortSignal): Promise<Sandbox> {
    const isolation = await this.describe(spec.template);
    const machine = getMachine(spec.template);
    signal.throwIfAborted();
    const remote = await this.#createRemote(spec, machine);
    try {
      signal.throwIfAborted();
      return await this.#startProgram(spec, machine, isolation, remote, signal);
    } catch (error) {
      await this.#service.kill(remote.sandboxId);
      if (signal.aborted) throw createAbortError(signal);
      throw error;
    }
  }

  async #createRemote({ id, template }: SandboxSpec, machine: E2bMachine): Promise<RemoteSandbox> {
    this.#hasCreated = true;
    const metadata = await createLabels(this.owner, id, template);
    const { origins = [] } = this.#options;
    const creation = { template: machine.template, metadata, timeoutMs: machine.tenancySeconds * 1000, reaches: origins };
    return this.#service.create(creation, () => this.#endAll(selectLabels(this.owner, id)));
  }

  async #startProgram(
    { id, template }: SandboxSpec,
    machine: E2bMachine,
    isolation: Isolation,
    remote: RemoteSandbox,
    signal: AbortSignal,
  ): Promise<Sandbox> {
    const { clock, projectDirectory, origins = [] } = this.#options;
    if (machine.runner === 'uploaded') await uploadRunner(remote, { projectDirectory, python: machine.python }, clock, signal);
    const program = await startIn(remote, template, machine, clock, signal);
    if (signal.aborted) program.abandon();
    signal.throwIfAborted();
    const { lifetimeSeconds } = template.limits;
    const { tenancySeconds, python } = machine;
    const fetchesWith = origins.length === 0 ? undefined : python;
    const parts = { id, isolation, remote, program, service: this.#service, clock, lifetimeSeconds, tenancySeconds, fetchesWith };
    return this.#sandboxes.hold((onGone) => new E2bSandbox({ ...parts, onGone }));
  }

  /** A creation may have made a sandbox whose answer was lost. When it cannot be found now, it ends with the provider or its tenancy. */
  async #endAll(metadata: Readonly<Record<string, string>>): Promise<void> {
    try {
      for (const { sandboxId } of await this.#service.list(metadata, NEVER)) await this.#service.kill(sandboxId);
    } catch (error) {
      this.#options.log(`E2B: a sandbox may be left until its tenancy ends: ${getMessage(error)}`);
    }
  }

  async #close(): Promise<void> {
    await this.#sandboxes.stopCreating();
    await this.#sandboxes.destroyAll();
    // Creations whose answer was lost may have succeeded since.
    if (this.#hasCreated) await this.#endAll(selectLabels(this.owner));
  }
}

const BY_E2B_TEMPLATE = { scope: 'none', by: 'e2b-template' } as const;

/** A machine of its own for each sandbox, as large as the E2B template was built. Muster's numerical limits do not apply to it. */
const OF_SANDBOXES: Isolation['limits'] = {
  memory: BY_E2B_TEMPLATE,
  processes: BY_E2B_TEMPLATE,
  cpu: BY_E2B_TEMPLATE,
  disk: BY_E2B_TEMPLATE,
  lifetime: { scope: 'tree', by: 'timer' },
};
/** On that machine, their programs are isolated. */
const OF_WORKSPACES: Isolation['limits'] = {
  ...OF_SANDBOXES,
  memory: { scope: 'process', by: 'rlimit' },
  processes: { scope: 'tree', by: 'rlimit' },
  disk: { scope: 'tree', by: 'tmpfs' },
};

/** @throws InputError `template.invalid`, `template.limit-unavailable` for what E2B cannot make of a template. */
function describeIsolation(template: SandboxTemplate): Isolation {
  checkTemplate(template);
  const { name, demands, mounts, network, workspace } = template;
  // Content that a workspace mounts is brought in.
  if (mounts.length > 0 && !workspace)
    throw createInvalidError(
      name,
      "mounts are directories of this machine, which E2B's sandboxes do not see",
      'set mounts: [] and put the files into the E2B template',
    );
  if (network === 'host') throw createInvalidError(name, 'network is "host", and there is no host at E2B', 'set network: none');
  const limits = workspace ? OF_WORKSPACES : OF_SANDBOXES;
  const missing = demands.find((demand) => limits[demand].scope !== 'tree');
  if (missing === undefined) return { mechanism: 'e2b', limits };
  const problem = `template "${name}" demands the limit "${missing}", whose size at E2B is that of the E2B template`;
  throw new InputError('template.limit-unavailable', `${problem}; build the E2B template with the size that you want, and drop the demand`);
}

/** Starts the program of a workspace as root, which isolates it and all that it runs. */
async function startIn(
  remote: RemoteSandbox,
  template: SandboxTemplate,
  machine: E2bMachine,
  clock: Clock,
  signal: AbortSignal,
): Promise<RemoteProgram> {
  const { command, environment, mounts, workspace } = template;
  if (!workspace) return await RemoteProgram.start(remote, { command, environment, clock });
  await uploadMounts(remote, mounts, clock, signal);
  return await RemoteProgram.start(remote, {
    command: buildWalls(template, machine.visible, chooseUser()),
    environment: {},
    clock,
    user: 'root',
  });
}

function createInvalidError(name: string, problem: string, remedy: string): InputError {
  return new InputError('template.invalid', `template "${name}": ${problem}; ${remedy}`);
}
