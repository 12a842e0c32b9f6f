import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { type BuildContext, RootFileSystems } from '../../adapters/images/root-file-systems.ts';
import { listFilesBelow } from '../../adapters/images/workdir-files.ts';
import { assertSourcesExist } from '../../adapters/sandbox/local/template/mount-sources.ts';
import { BASE_ENVIRONMENT } from '../../agents/grading/clean-environment.ts';
import type { Grading } from '../../agents/grading/grading-context.ts';
import type { GradingTemplate, GradingSandbox, GradingSandboxes } from '../../agents/grading/grading-sandboxes.ts';
import { WorkspaceSession } from '../../agents/workspace/workspace-session.ts';
import type { Config } from '../../config/config.ts';
import type { TemplateConfig } from '../../config/schema.ts';
import { formatCanonicalJson } from '../../kernel/canonical-json.ts';
import type { Clock } from '../../kernel/clock.ts';
import { InputError, getMessage } from '../../kernel/errors.ts';
import { parseDigest, parseOwnerId, parseSandboxId } from '../../kernel/ids.ts';
import type { Log } from '../../kernel/log.ts';
import type { CodeExposure } from '../../pool/ports/exposure.ts';
import type { SandboxProvider } from '../../pool/ports/sandbox.ts';
import type { SandboxLimits } from '../../pool/ports/template.ts';
import { mergeStates, NOTHING_MADE, type PoolState } from '../../pool/members/pool-state.ts';
import { Pool } from '../../pool/pool.ts';
import { PACKAGE_ROOT } from '../../kernel/package-root.ts';
import { getPlugin } from '../sandboxes/providers.ts';
import { Permits } from '../../pool/permits.ts';
import { openPermitted } from './permitted.ts';
import { findToolMount } from './tool-mount.ts';
import { TrustedSandboxes } from './trusted-sandboxes.ts';

/** Nothing of a sandbox is left for another holder: each serves one holder. Only the pool uses the name. */
const ONE_HOLDER: CodeExposure = {
  kind: 'code',
  principal: 'grading',
  suite: parseDigest(`sha256:${'0'.repeat(64)}`),
  checkpoint: undefined,
};
type OpenTask = { readonly task: Pick<Grading['task'], 'digest' | 'files'>; readonly content: Grading['content'] };
const ENVIRONMENT = 'environment/';
/** Longer than any verdict may take. */
const LIFETIME_SECONDS = 86_400;

/**
 * Grading sandboxes of this process: a pool for each template, so that its next sandbox can be made while one is in use, and `pool.max` sandboxes in
 * use at a time in total. Part of the composition root.
 */
export class GradingPools implements AsyncDisposable {
  readonly #config: Config;
  readonly #roots: RootFileSystems;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #owner = parseOwnerId(`grading-${process.pid}-${randomBytes(4).toString('hex')}`);
  readonly #pools = new Map<string, Promise<Pool<WorkspaceSession>>>();
  readonly #open = new Set<Pool<WorkspaceSession>>();
  readonly #permits: Permits;
  readonly #trusted: TrustedSandboxes;
  readonly #closing = new AbortController();
  #provider: Promise<SandboxProvider> | undefined;
  #sandboxes = 0;

  constructor(config: Config, clock: Clock, log: Log) {
    this.#config = config;
    this.#roots = new RootFileSystems(join(config.stateDir, 'images'));
    this.#clock = clock;
    this.#permits = new Permits(config.pool.max);
    this.#trusted = new TrustedSandboxes(clock, config.pool.max);
    this.#log = log;
  }

  /** Returns the sandboxes for the grading of one task. */
  getSandboxes(open: OpenTask): GradingSandboxes {
    return {
      open: (template, signal) => this.#openOne(open, template, signal),
      openBoth: (one, other, signal) => this.#openBoth(open, one, other, signal),
      openTrusted: (template, signal, next) => this.#openTrusted(open, template, signal, next),
      rootFiles: async (root, directory, signal) => {
        const found = await this.#roots.openDirectory(root, buildContext(open), signal);
        return found === undefined ? [] : listFilesBelow(found, directory);
      },
    };
  }

  async #openOne(task: OpenTask, template: GradingTemplate, signal: AbortSignal): Promise<GradingSandbox> {
    const [permit] = await this.#permits.acquire(1, signal);
    return await openPermitted(permit, () => this.#lease(task, template, signal));
  }

  /** A kept sandbox takes a permit only while it is used. */
  async #openTrusted(task: OpenTask, template: GradingTemplate, signal: AbortSignal, next?: GradingTemplate): Promise<GradingSandbox> {
    const held = new DisposableStack();
    for (const permit of await this.#permits.acquire(1, signal)) held.use(permit);
    if (next) held.use(this.#keepReady(task, next));
    const key = `${task.task.digest} ${formatTemplateKey(template)}`;
    return await openPermitted(held, () => this.#trusted.open(key, () => this.#lease(task, template, signal)));
  }

  /** Keeps one more sandbox warm than the pool otherwise would, until the result is disposed. */
  #keepReady(task: OpenTask, template: GradingTemplate): Disposable {
    const opening = Promise.allSettled([this.#openPool(task, template)]);
    const change = async (by: number): Promise<void> => {
      const [opened] = await opening;
      // If the pool cannot be started, opening a sandbox reports the reason.
      if (opened.status === 'rejected') return;
      const { min, max, warm } = opened.value.size;
      opened.value.resize({ min, max, warm: warm + by });
    };
    void change(1);
    return { [Symbol.dispose]: () => void change(-1) };
  }

  async #openBoth(
    task: OpenTask,
    one: GradingTemplate,
    other: GradingTemplate,
    signal: AbortSignal,
  ): Promise<readonly [GradingSandbox, GradingSandbox]> {
    const [first, second] = await this.#permits.acquire(2, signal);
    const [opened, beside] = await Promise.allSettled([
      openPermitted(first, () => this.#lease(task, one, signal)),
      openPermitted(second, () => this.#lease(task, other, signal)),
    ]);
    if (opened.status === 'fulfilled' && beside.status === 'fulfilled') return [opened.value, beside.value];
    if (opened.status === 'fulfilled') await opened.value[Symbol.asyncDispose]();
    if (beside.status === 'fulfilled') await beside.value[Symbol.asyncDispose]();
    throw opened.status === 'rejected' ? opened.reason : beside.status === 'rejected' ? beside.reason : new RangeError('both were opened');
  }

  async #lease(task: OpenTask, template: GradingTemplate, signal: AbortSignal): Promise<GradingSandbox> {
    const pool = await this.#openPool(task, template);
    const lease = await pool.acquire(ONE_HOLDER, signal);
    lease.occupant.expose(ONE_HOLDER);
    return { session: lease.occupant, signal: lease.signal, [Symbol.asyncDispose]: () => lease[Symbol.asyncDispose]() };
  }

  /** Returns the state of all pools together. A sandbox that is kept for a next verdict counts as idle, although its lease continues. */
  state(): PoolState {
    const state = [...this.#open].map((pool) => pool.state()).reduce(mergeStates, NOTHING_MADE);
    const unused = Math.min(this.#trusted.unused, state.sandboxes.leased);
    const { leased, idle } = state.sandboxes;
    return { ...state, sandboxes: { ...state.sandboxes, leased: leased - unused, idle: idle + unused } };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new DOMException('Muster is closing', 'AbortError'));
    await this.#trusted[Symbol.asyncDispose]();
    for (const opened of await Promise.allSettled(this.#pools.values()))
      if (opened.status === 'fulfilled') await opened.value[Symbol.asyncDispose]();
    const provider = await this.#provider?.catch(() => undefined);
    await provider?.[Symbol.asyncDispose]();
  }

  #openPool(open: OpenTask, template: GradingTemplate): Promise<Pool<WorkspaceSession>> {
    const key = template.root.kind === 'dockerfile' ? `${open.task.digest} ${formatTemplateKey(template)}` : formatTemplateKey(template);
    let opening = this.#pools.get(key);
    if (!opening) {
      opening = this.#startPool(open, template);
      opening.catch(() => this.#pools.delete(key));
      this.#pools.set(key, opening);
    }
    return opening;
  }

  async #startPool(open: OpenTask, { root, writable, limits, tools }: GradingTemplate): Promise<Pool<WorkspaceSession>> {
    const settings = this.#config.templates['local'];
    const plugin = getPlugin({ provider: settings?.provider ?? 'bubblewrap' });
    if (!plugin.workspace || !settings) {
      const remedy = 'set templates.local.provider to bubblewrap, gvisor, docker, kubernetes, cloud-build or e2b';
      throw new InputError('provider.no-workspaces', `provider ${plugin.name} makes no sandboxes in which commands can run; ${remedy}`);
    }
    await assertSourcesExist('local', settings.mounts);
    const signal = this.#closing.signal;
    const context = { projectDirectory: PACKAGE_ROOT, signal };
    const directory = await this.#roots.openDirectory(root, buildContext(open), signal);
    const environment = { ...BASE_ENVIRONMENT, ...(await this.#roots.readEnvironment(directory)) };
    const mounts = [...settings.mounts, ...(await Promise.all(tools.map(findToolMount)))];
    const { demands, start } = settings;
    const workspace = { root: directory, writable, limits: computeLimits(limits, settings.limits), demands, mounts, start };
    const template = await plugin.workspace('grading', workspace, settings, context);
    const provider = (this.#provider ??= this.#openProvider(plugin, settings));
    // The next pool tries again.
    provider.catch(() => (this.#provider = undefined));
    const allowed = plugin.allowance(settings);
    const { pool: configured } = this.#config;
    const pool = new Pool({
      provider: await provider,
      template,
      config: {
        ...configured,
        // The same number may be kept for later.
        max: Math.min(2 * configured.max, allowed.max ?? Infinity),
        creationsPerSecond: Math.min(configured.creationsPerSecond, allowed.creationsPerSecond ?? Infinity),
        restSeconds: undefined,
        episodesPerSandbox: 1,
        oneHolder: true,
        // Its holder is in this process, and ends it: a time would take sandboxes away only while a busy machine keeps this process waiting.
        leaseSeconds: Infinity,
        min: 0,
      },
      clock: this.#clock,
      warmUp: (sandbox, abandoned) => WorkspaceSession.open(sandbox, this.#clock, abandoned, environment),
      onFailing: (error) => this.#log.warn({ error: getMessage(error) }, 'a workspace could not be made; Muster tries again'),
      newSandboxId: () => parseSandboxId(`g${(this.#sandboxes += 1)}`),
    });
    try {
      await pool.waitUntilStarted();
      this.#open.add(pool);
      return pool;
    } catch (error) {
      await pool[Symbol.asyncDispose]();
      throw error;
    }
  }

  #openProvider(plugin: ReturnType<typeof getPlugin>, settings: TemplateConfig): Promise<SandboxProvider> {
    const { stateDir } = this.#config;
    const log = (message: string): void => this.#log.warn({}, message);
    return plugin.open({ stateDir, owner: this.#owner, clock: this.#clock, projectDirectory: PACKAGE_ROOT, origins: [], log }, [settings]);
  }
}

/** Computes a task's limits: those that it sets replace those of the configuration. */
function computeLimits({ memoryBytes, storageBytes, cpus }: GradingTemplate['limits'], configured: SandboxLimits): SandboxLimits {
  return {
    ...configured,
    lifetimeSeconds: LIFETIME_SECONDS,
    ...(memoryBytes === undefined ? {} : { memoryBytes }),
    ...(storageBytes === undefined ? {} : { diskBytes: storageBytes }),
    ...(cpus === undefined ? {} : { cpus }),
  };
}

/** Templates with the same key are equal, except for the build context of their tasks' Dockerfiles. */
function formatTemplateKey(template: GradingTemplate): string {
  return formatCanonicalJson({ ...template, limits: { ...template.limits } });
}

/** Builds the build context of the task's Dockerfile. */
function buildContext({ task: { files }, content }: OpenTask): BuildContext {
  const brought = files.filter(({ path }) => path.startsWith(ENVIRONMENT));
  return {
    files: brought.map(({ path, digest, isExecutable }) => ({ path: path.slice(ENVIRONMENT.length), digest, isExecutable })),
    read: (path) => content.read(`${ENVIRONMENT}${path}`),
  };
}
