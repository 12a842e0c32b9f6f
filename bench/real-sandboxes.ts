import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { filesystemSource } from '../src/adapters/checkpoints/filesystem.ts';
import { createBubblewrapProvider } from '../src/adapters/sandbox/bubblewrap/bubblewrap-provider.ts';
import { createPythonTemplate } from '../src/adapters/sandbox/local/template/python-template.ts';
import { loadConfig } from '../src/app/configuration.ts';
import { sleep, systemClock } from '../src/kernel/clock.ts';
import { type OwnerId, parseOwnerId, parseSandboxId } from '../src/kernel/ids.ts';
import { silentLog } from '../src/kernel/log.ts';
import type { EvaluateContext } from '../src/orchestrator/run/evaluate-context.ts';
import { evaluate, type EvaluateOptions, type EvaluationRequest } from '../src/orchestrator/evaluate.ts';
import { RunnerPlayers, type RunnerPlayersOptions } from '../src/orchestrator/run/runner-players.ts';
import { defineSuite, createInlineLayer, parseSuite } from '../src/orchestrator/suite/suite-definition.ts';
import type { PlayDeclaration } from '../src/orchestrator/suite/play.ts';
import type { Summary } from '../src/orchestrator/results/summary.ts';
import { PACKAGE_ROOT } from '../src/kernel/package-root.ts';
import { CheckpointStore } from '../src/policy-distribution/store/checkpoint-store.ts';
import { Distributor } from '../src/policy-distribution/delivery/distributor.ts';
import { Pool } from '../src/pool/pool.ts';
import type { Sandbox, SandboxProvider } from '../src/pool/ports/sandbox.ts';
import { RunnerSession } from '../src/runner/session.ts';

export const LATE_CHECKPOINT = join(PACKAGE_ROOT, 'examples/game/checkpoints/late.safetensors');

/** A suite that plays a fixed number of episodes, so that both sides of a comparison play the same ones. */
export interface Workload {
  readonly environment: string | { readonly entry: string; readonly kwargs: Readonly<Record<string, string>> };
  /** Directory of the suite's own modules, relative to the project. */
  readonly files?: string;
  readonly bounds: readonly [number, number];
  /** As a suite has it; one episode after the other when left out. */
  readonly play?: PlayDeclaration;
  /** In place of the late checkpoint of CartPole. */
  readonly checkpoint?: string;
}

export const NOOP: Workload = { environment: 'noop:make', files: 'bench/environments', bounds: [0, 1] };
export const CARTPOLE: Workload = { environment: 'gymnasium:CartPole-v1', bounds: [0, 500] };

/** How local sandboxes come to be, as a template names it. */
export type Start = 'forked' | 'plain';

/** Where policies are played: in the environment's process, or in a sandbox of their own beside it. */
export type Way = 'together' | 'apart';

/** Idle local sandboxes with Gymnasium imported, and all that `evaluate` needs to use them. */
export class RealSandboxes implements AsyncDisposable {
  readonly count: number;
  /** Where they keep their files, and who they belong to. */
  readonly directory: string;
  readonly owner: OwnerId;
  readonly pool: Pool<RunnerSession>;
  /** With the runners of all sandboxes that were made. */
  readonly sessions: readonly RunnerSession[];
  readonly #made: readonly Sandbox[];
  readonly #provider: SandboxProvider;
  readonly #store: CheckpointStore;
  readonly #context: Omit<EvaluateContext, 'players'>;
  readonly #playing: RunnerPlayersOptions;

  private constructor(
    count: number,
    playing: RunnerPlayersOptions,
    parts: {
      readonly context: Omit<EvaluateContext, 'players'>;
      readonly provider: SandboxProvider;
      readonly store: CheckpointStore;
      readonly directory: string;
      readonly sessions: readonly RunnerSession[];
      readonly made: readonly Sandbox[];
    },
  ) {
    this.count = count;
    this.pool = playing.pool;
    this.#playing = playing;
    this.#context = parts.context;
    this.sessions = parts.sessions;
    this.#made = parts.made;
    this.#provider = parts.provider;
    this.#store = parts.store;
    this.directory = parts.directory;
    this.owner = parts.provider.owner;
  }

  /**
   * Begins to create `count` sandboxes, and does not wait for them. The settings are the defaults, but no sandbox wears out or ages.
   *
   * @param start whatever the machine allows when left out.
   */
  static async open(count: number, start?: Start, policy: Way = 'together'): Promise<RealSandboxes> {
    const directory = await mkdtemp(join(tmpdir(), 'muster-bench-'));
    const settings = loadConfig({ environment: { HOME: directory } });
    const local = settings.templates['local'];
    if (!local) throw new Error('config/default.yaml has no template "local"');
    const owner = parseOwnerId(`bench-${process.pid}-${randomBytes(4).toString('hex')}`);
    const provider = createBubblewrapProvider({ stateDir: directory, owner, clock: systemClock });
    const store = await CheckpointStore.open({ directory: join(directory, 'store'), limits: settings.checkpoints, clock: systemClock });
    let made = 0;
    const sessions: RunnerSession[] = [];
    const sandboxes: Sandbox[] = [];
    const pool = new Pool({
      provider,
      template: await createPythonTemplate(
        'local',
        { ...local, start: start ?? local.start, policy },
        PACKAGE_ROOT,
        new AbortController().signal,
      ),
      config: { ...settings.pool, min: count, max: count, episodesPerSandbox: 1e9, leaseSeconds: 3600 },
      clock: systemClock,
      warmUp: async (sandbox, abandoned) => {
        const session = await RunnerSession.open(sandbox, systemClock, abandoned);
        sessions.push(session);
        sandboxes.push(sandbox);
        return session;
      },
      newSandboxId: () => parseSandboxId(`s${(made += 1)}`),
    });
    const playing: RunnerPlayersOptions = {
      principal: 'bench',
      pool,
      distributor: new Distributor(),
      clock: systemClock,
      log: silentLog,
      config: { ...settings.evaluation, renewMilliseconds: 600_000 },
    };
    await pool.waitUntilStarted();
    const context = {
      provider: provider.name,
      maxSandboxes: count,
      clock: systemClock,
      log: silentLog,
      config: { ...settings.evaluation, ...playing.config },
    };
    return new RealSandboxes(count, playing, { context, provider, store, directory, sessions, made: sandboxes });
  }

  /** Sandboxes that all are ready. */
  static async warm(count: number, start?: Start, policy?: Way): Promise<RealSandboxes> {
    const sandboxes = await RealSandboxes.open(count, start, policy);
    await sandboxes.untilWarm();
    return sandboxes;
  }

  async untilWarm(count: number = this.count): Promise<void> {
    while (this.pool.state().sandboxes.idle < count) {
      const { creation } = this.pool.state().lastErrors;
      if (creation !== undefined) throw new Error(`a sandbox could not be created: ${creation}`);
      await sleep(systemClock, 20);
    }
  }

  /** Of a processor, by all sandboxes so far; NaN where they are not counted. */
  async processorSeconds(): Promise<number> {
    const used = await Promise.all(this.#made.map(async (sandbox) => (await sandbox.capabilities?.usage?.())?.cpuSeconds ?? Number.NaN));
    return used.reduce((sum, seconds) => sum + seconds, 0);
  }

  get distributor(): Distributor {
    return this.#playing.distributor;
  }

  async request(workload: Workload, episodes: number): Promise<EvaluationRequest> {
    const { signal } = new AbortController();
    const written = {
      name: 'bench',
      environment: workload.environment,
      ...(workload.files === undefined ? {} : { files: workload.files }),
      reward: { bounds: [...workload.bounds] },
      play: workload.play ?? 'single',
      stop: { rule: 'fixed', episodes },
    };
    const parsed = parseSuite(createInlineLayer(written));
    const checkpointUri = workload.checkpoint ?? LATE_CHECKPOINT;
    const checkpoint = await this.#store.add(filesystemSource, checkpointUri, signal);
    const rest = { checkpoint, checkpointUri };
    if (workload.files === undefined) return { suite: defineSuite(parsed, undefined), suiteFiles: undefined, ...rest };
    const directory = join(PACKAGE_ROOT, workload.files);
    const files = await this.#store.addDirectory(filesystemSource, directory, signal);
    return { suite: defineSuite(parsed, files.digest), suiteFiles: files, ...rest };
  }

  /** @param principal who asks for it. */
  evaluate(request: EvaluationRequest, options: EvaluateOptions = {}, principal = this.#playing.principal): Promise<Summary> {
    return evaluate({ ...this.#context, players: new RunnerPlayers({ ...this.#playing, principal }) }, request, options);
  }

  /** Ends all sandboxes. The directory stays, with what they may have left in it, until this is disposed of. */
  async close(): Promise<void> {
    await this.pool[Symbol.asyncDispose]();
    await this.#provider[Symbol.asyncDispose]();
  }

  /** As `close`, but the provider is closed under the pool: no sandbox is ended by itself. */
  async closeProvider(): Promise<void> {
    await this.#provider[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
    await rm(this.directory, { recursive: true, force: true });
  }
}
