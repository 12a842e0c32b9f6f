import { pino, type Logger } from 'pino';
import { filesystemSource } from '../adapters/checkpoints/filesystem.ts';
import { suggestNearest } from '../adapters/files/nearest-path.ts';
import { openCheckpoints } from './checkpoints/checkpoint-access.ts';
import type { Config } from '../config/config.ts';
import { NOTHING_SERVED, type Served } from '../adapters/delivery/origin-server.ts';
import { openOrigin, type OpenOrigin } from './checkpoints/content-origin.ts';
import { listContentToShare, type Played } from './checkpoints/content-to-share.ts';
import { FiguresThread } from './threads/figures-thread.ts';
import { systemClock } from '../kernel/clock.ts';
import { InfrastructureError } from '../kernel/errors.ts';
import type { Log } from '../kernel/log.ts';
import type { EvaluateContext } from '../orchestrator/run/evaluate-context.ts';
import { AgentPlayers } from '../orchestrator/run/agent-players.ts';
import { RunnerPlayers } from '../orchestrator/run/runner-players.ts';
import { isPlayedByAgents } from '../orchestrator/suite/agent-tasks.ts';
import { defineSuite, type SuiteDefinition } from '../orchestrator/suite/suite-definition.ts';
import { toCheckpointUri, isUri, createSourceForOwner } from './checkpoints/own-checkpoints.ts';
import type { CheckpointSource } from '../policy-distribution/checkpoint-source.ts';
import { type Checkpoint, type CheckpointLabels, mayBringCode } from '../policy-distribution/checkpoint.ts';
import { addPinned, parsePinnedUri } from '../policy-distribution/store/pinned-uri.ts';
import type { CheckpointStore } from '../policy-distribution/store/checkpoint-store.ts';
import type { StoredCheckpoint } from '../policy-distribution/stored-checkpoint.ts';
import { Distributor } from '../policy-distribution/delivery/distributor.ts';
import { assertPlaysApart, choosePolicyPlacement, type PolicyPlacement } from '../pool/ports/policy-apart.ts';
import type { AgentEpisodes } from './grading/agent-episodes.ts';
import type { GradingPools } from './grading/grading-pools.ts';
import { OfferServers } from './grading/offer-servers.ts';
import { ModelServers } from './grading/model-servers.ts';
import { Pools } from './pools.ts';
import { getPlugin } from './sandboxes/providers.ts';
import { openStateDirectory } from '../adapters/files/state-directory.ts';
import { assertOnePolicy } from '../orchestrator/run/refused-checkpoint-error.ts';
import { blameFiles, readOwnSuite, type ReadSuite, type SuiteInput } from './suites/suite-input.ts';
import { planTemplateDelivery } from './checkpoints/template-delivery.ts';

/** `server` serves many callers, who are promised that uploads survive a power cut. */
type Use = 'server' | 'own';

/** A suite with its files as they were when it was read; later changes of the files have no effect. */
export interface LoadedSuite {
  readonly definition: SuiteDefinition;
  readonly files: StoredCheckpoint | undefined;
  /** The agent that plays when no other is named: a URI or a path. */
  readonly agent: string | undefined;
}

/**
 * The base on which the library and the server play evaluations: the checkpoint store, the pools and their closing. Part of the composition root.
 */
export class Runtime implements AsyncDisposable {
  readonly log: Log;
  readonly checkpoints: CheckpointStore;
  readonly pools: Pools;
  readonly #distributor = new Distributor();
  readonly #origin: OpenOrigin | undefined;
  readonly #figures = new FiguresThread(systemClock);
  /** Whether callers who need not trust one another use it. */
  readonly #hasTokens: boolean;
  readonly #closing = new AbortController();
  readonly #logger: Logger;
  #config: Config;
  #ownSource: CheckpointSource | undefined;
  #grading: GradingPools | undefined;
  readonly models: ModelServers;
  /** Agents outside of Muster take episodes here. */
  readonly #offerServers: OfferServers;

  private constructor(config: Config, logger: Logger, checkpoints: CheckpointStore, use: Use) {
    this.#hasTokens = use === 'server' && config.server.access === 'tokens';
    this.#config = config;
    this.#logger = logger;
    this.log = logger;
    this.checkpoints = checkpoints;
    this.#origin = openOrigin(config, checkpoints, systemClock, logger);
    this.pools = new Pools(config, systemClock, logger);
    this.models = new ModelServers(config.models, use === 'own', systemClock, Math.random);
    this.#offerServers = new OfferServers(use === 'own', systemClock);
  }

  /**
   * @throws InputError when the state directory cannot be used by this user; InfrastructureError when its disk fails.
   */
  static async open(config: Config, use: Use): Promise<Runtime> {
    const log = pino({ level: config.log.level, base: null }, pino.destination({ fd: 2, sync: true }));
    await openStateDirectory(config.stateDir);
    return new Runtime(config, log, await openCheckpoints(config, use === 'server' ? 'before' : 'behind'), use);
  }

  get config(): Config {
    return this.#config;
  }

  /** The counts of what remote sandboxes have fetched from this process. The returned object keeps counting. */
  get delivered(): Readonly<Served> {
    return this.#origin?.served ?? NOTHING_SERVED;
  }

  /** Applies another configuration. Pools have their own sizes. */
  configure(config: Config): void {
    this.#config = config;
    this.#ownSource = undefined;
    this.#logger.level = config.log.level;
  }

  /** Returns a signal that is aborted with the caller's, and when the runtime is closed. */
  joinSignals(signal: AbortSignal | undefined): AbortSignal {
    return signal ? AbortSignal.any([signal, this.#closing.signal]) : this.#closing.signal;
  }

  /** @param written a path from the working directory, or a URI. @throws as `CheckpointStore.add` does. */
  async addCheckpoint(written: string, signal: AbortSignal, labels?: CheckpointLabels): Promise<StoredCheckpoint> {
    this.#ownSource ??= createSourceForOwner(this.config, systemClock);
    const { uri, expected } = parsePinnedUri(written);
    const source = this.#ownSource;
    const add = (): Promise<StoredCheckpoint> =>
      addPinned(this.checkpoints, source, { uri: toCheckpointUri(uri), expected }, signal, labels);
    return isUri(uri) ? add() : suggestNearest(uri, add);
  }

  /** Protects them from being removed to make room, until disposed. @throws InfrastructureError `store.removed` when one is gone already. */
  async hold(checkpoints: readonly (StoredCheckpoint | undefined)[]): Promise<AsyncDisposable> {
    await using stack = new AsyncDisposableStack();
    for (const checkpoint of checkpoints) {
      if (!checkpoint) continue;
      const held = await this.checkpoints.hold(checkpoint.digest);
      if (!held)
        throw new InfrastructureError('store.removed', `store: ${checkpoint.digest} was removed before it was played; start again`);
      stack.use(held);
    }
    return stack.move();
  }

  /** Reads and checks a suite, with its files. @throws InputError when it is wrong. */
  async loadSuite(input: SuiteInput, outer?: AbortSignal): Promise<LoadedSuite> {
    return this.keepSuite(await readOwnSuite(input), outer);
  }

  /** Adds a directory of Python modules or of tasks to the store. @param ignores as in `ReadSuite`. */
  addModules(directory: string, outer?: AbortSignal, ignores?: (path: string) => boolean): Promise<StoredCheckpoint> {
    return this.checkpoints.addDirectory(filesystemSource, directory, this.joinSignals(outer), ignores);
  }

  /** Adds the files of a suite that was read to the store. */
  async keepSuite({ parsed, directory, ignores }: ReadSuite, outer?: AbortSignal): Promise<LoadedSuite> {
    if (directory === undefined) return { definition: defineSuite(parsed, undefined), files: undefined, agent: parsed.agent };
    const files = await blameFiles(parsed, () => this.addModules(directory, outer, ignores));
    return { definition: defineSuite(parsed, files.digest), files, agent: parsed.agent };
  }

  /**
   * Decides where the policies of an evaluation are played. They share sandboxes, so code of one of them affects all.
   *
   * @throws InputError `template.policy-together` when they have to be apart, and the template's sandboxes cannot do it.
   */
  choosePolicyPlacement(template: string, checkpoints: readonly Pick<Checkpoint, 'digest' | 'files'>[]): PolicyPlacement {
    const settings = this.pools.getSettings(template);
    // A template's own runner may accept any checkpoint.
    if (settings.command === undefined) for (const checkpoint of checkpoints) assertOnePolicy(checkpoint);
    const place = choosePolicyPlacement({
      wished: settings.policy,
      hasTokens: this.#hasTokens,
      bringsCode: checkpoints.some(mayBringCode),
    });
    if (place === 'apart') assertPlaysApart(template, { provider: getPlugin(settings), command: settings.command });
    return place;
  }

  /**
   * Builds everything that playing needs; the caller disposes `players`.
   *
   * @param principal the owner of the evaluation. @throws InputError as `choosePolicyPlacement` does.
   */
  async buildContext(played: Played, principal: string, signal: AbortSignal): Promise<EvaluateContext> {
    const { template } = played.suite;
    const settings = this.pools.getSettings(template);
    const config = { ...this.#config.evaluation, renewMilliseconds: (this.#config.pool.leaseSeconds * 1000) / 3 };
    const players = isPlayedByAgents(played.suite)
      ? new AgentPlayers(await this.openAgentEpisodes(played), systemClock)
      : await this.#buildRunnerPlayers(played, config, principal, signal);
    return {
      players,
      provider: settings.provider,
      maxSandboxes: this.pools.getSize(template).max,
      costPerSandboxHour: settings.costPerSandboxHour,
      workOut: this.#figures.workOut,
      workOutImprovement: this.#figures.workOutImprovement,
      clock: systemClock,
      log: this.log,
      config,
    };
  }

  async #buildRunnerPlayers(
    played: Played,
    config: EvaluateContext['config'],
    principal: string,
    signal: AbortSignal,
  ): Promise<RunnerPlayers> {
    const { template } = played.suite;
    const settings = this.pools.getSettings(template);
    const pool = { template, policy: this.choosePolicyPlacement(template, played.checkpoints) };
    const delivery = planTemplateDelivery(template, settings, getPlugin(settings), this.#config);
    const { episodesPerSandbox } = this.#config.pool;
    const content = listContentToShare(played, { ...settings, policy: pool.policy, episodesPerSandbox }, this.#distributor);
    return new RunnerPlayers({
      principal,
      sharing: await this.pools.share(pool, content, principal, signal),
      pool: await this.pools.open(pool, signal),
      distributor: this.#distributor.createForRun({ delivery, origin: this.#origin, log: this.log, isConfidential: this.#hasTokens }),
      clock: systemClock,
      log: this.log,
      config,
    });
  }

  /**
   * Opens grading when a suite first has tasks for agents: a fifth of Muster's modules are loaded only for that. @throws as `AgentEpisodes.open`
   * does.
   */
  async openAgentEpisodes(played: Played): Promise<AgentEpisodes> {
    const [{ AgentEpisodes }, { GradingPools }] = await Promise.all([
      import('./grading/agent-episodes.ts'),
      import('./grading/grading-pools.ts'),
    ]);
    this.#closing.signal.throwIfAborted();
    this.#grading ??= new GradingPools(this.#config, systemClock, this.log);
    return await AgentEpisodes.open(played, this.#grading, this.models, this.#offerServers);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new DOMException('Muster is closing', 'AbortError'));
    await this.pools[Symbol.asyncDispose]();
    await this.#grading?.[Symbol.asyncDispose]();
    this.models[Symbol.dispose]();
    await this.#offerServers[Symbol.asyncDispose]();
    await this.#origin?.[Symbol.asyncDispose]();
    await this.#figures[Symbol.asyncDispose]();
    await this.checkpoints.waitUntilSynced();
  }
}
