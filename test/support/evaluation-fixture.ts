import { createInMemoryProvider } from './in-memory-sandbox/in-memory-provider.ts';
import type { Program } from './in-memory-sandbox/program.ts';
import { digestBytes } from '../../src/kernel/canonical-json.ts';
import type { Clock } from '../../src/kernel/clock.ts';
import { parseOwnerId, parseSandboxId, type SandboxId } from '../../src/kernel/ids.ts';
import { silentLog } from '../../src/kernel/log.ts';
import type { EvaluateContext, EvaluationRunConfig } from '../../src/orchestrator/run/evaluate-context.ts';
import { evaluate, type EvaluateOptions } from '../../src/orchestrator/evaluate.ts';
import { RunnerPlayers } from '../../src/orchestrator/run/runner-players.ts';
import { defineSuite, createInlineLayer, parseSuite, type SuiteDefinition } from '../../src/orchestrator/suite/suite-definition.ts';
import type { Summary } from '../../src/orchestrator/results/summary.ts';
import type { StoredCheckpoint } from '../../src/policy-distribution/stored-checkpoint.ts';
import { Distributor } from '../../src/policy-distribution/delivery/distributor.ts';
import type { PoolConfig } from '../../src/pool/planning/pool-config.ts';
import { Pool } from '../../src/pool/pool.ts';
import type { PoolState } from '../../src/pool/members/pool-state.ts';
import type { Sandbox, SandboxProvider } from '../../src/pool/ports/sandbox.ts';
import type { Sharing } from '../../src/pool/ports/shared-content.ts';
import type { SandboxTemplate } from '../../src/pool/ports/template.ts';
import { RunnerSession } from '../../src/runner/session.ts';

/** A checkpoint that scripted runners take for loaded: they look at nothing but its digest. */
export const PAPER_CHECKPOINT: StoredCheckpoint = { digest: digestBytes('paper'), kind: 'file', files: [], labels: {} };

export const TEMPLATE: SandboxTemplate = {
  name: 'local',
  command: ['runner'],
  environment: {},
  mounts: [],
  network: 'none',
  limits: { memoryBytes: 1e9, processes: 10, cpus: 1, diskBytes: 1e6, lifetimeSeconds: 86_400 },
  demands: [],
};

export function suiteWith(changes: object = {}): SuiteDefinition {
  const suite = {
    name: 'fixture',
    environment: 'module:factory',
    reward: { bounds: [0, 1] },
    stop: { rule: 'fixed', episodes: 200 },
    ...changes,
  };
  return defineSuite(parseSuite(createInlineLayer(suite)), undefined);
}

export interface FixtureOptions {
  /** What in-memory sandboxes run. */
  readonly program?: Program;
  /** Other sandboxes than those. */
  readonly provider?: SandboxProvider;
  readonly template?: SandboxTemplate;
  readonly clock: Clock;
  readonly sandboxes?: number;
  readonly pool?: Partial<PoolConfig>;
  readonly evaluation?: Partial<EvaluationRunConfig>;
  /** What evaluations wish to have shared. */
  readonly sharing?: Sharing;
  /** What each sandbox has in memory from its beginning, by how many there were before. */
  readonly shares?: (before: number) => ReadonlySet<string>;
}

/** A pool of in-memory sandboxes and all that `evaluate` needs, closed together. */
export class EvaluationFixture implements AsyncDisposable {
  readonly context: EvaluateContext;
  readonly #provider: SandboxProvider;
  readonly #pool: Pool<RunnerSession>;
  readonly #sandboxes = new Map<SandboxId, Sandbox>();
  /** Sees each sandbox before its runner is heard. */
  onSandbox: ((sandbox: Sandbox) => void) | undefined;

  constructor(options: FixtureOptions) {
    const { program, provider, template = TEMPLATE, clock, sandboxes = 4, pool = {}, evaluation = {}, sharing, shares } = options;
    const programs = program === undefined ? {} : { runner: program };
    this.#provider = provider ?? createInMemoryProvider({ owner: parseOwnerId('fixture'), clock, programs });
    let made = 0;
    this.#pool = new Pool({
      provider: this.#provider,
      template,
      config: { ...POOL_CONFIG, max: sandboxes, ...pool },
      clock,
      warmUp: (sandbox, signal) => {
        if (shares) Object.assign(sandbox, { shares: shares(this.#sandboxes.size) });
        this.onSandbox?.(sandbox);
        this.#sandboxes.set(sandbox.id, sandbox);
        return RunnerSession.open(sandbox, clock, signal);
      },
      newSandboxId: () => parseSandboxId(`s${(made += 1)}`),
    });
    const config = { ...EVALUATION_CONFIG, ...evaluation };
    const distributor = new Distributor();
    this.context = {
      players: new RunnerPlayers({ principal: 'somebody', pool: this.#pool, distributor, sharing, clock, log: silentLog, config }),
      provider: this.#provider.name,
      maxSandboxes: sandboxes,
      clock,
      log: silentLog,
      config,
    };
  }

  evaluate(suite: SuiteDefinition, options: EvaluateOptions = {}, checkpoint = PAPER_CHECKPOINT): Promise<Summary> {
    const request = { suite, suiteFiles: undefined, checkpoint, checkpointUri: 'paper' };
    return evaluate(this.context, request, options);
  }

  poolState(): PoolState {
    return this.#pool.state();
  }

  /** Resolves when sandboxes can be made, as they can in memory at once. */
  started(): Promise<void> {
    return this.#pool.waitUntilStarted();
  }

  /** Every sandbox that was made so far and has a live runner or had one. */
  get sandboxes(): readonly Sandbox[] {
    return [...this.#sandboxes.values()];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool[Symbol.asyncDispose]();
    await this.#provider[Symbol.asyncDispose]();
  }
}

const POOL_CONFIG: PoolConfig = {
  min: 0,
  max: 4,
  warm: 0,
  creationConcurrency: 1000,
  creationsPerSecond: 1e6,
  readySeconds: 60,
  maxCreationFailures: 3,
  idleSeconds: 60,
  heartbeatSeconds: 60,
  leaseSeconds: 60,
  episodesPerSandbox: 1e9,
};

export const EVALUATION_CONFIG: EvaluationRunConfig = {
  window: 4096,
  rangeMilliseconds: 20,
  stragglerFactor: 3,
  stragglerMilliseconds: 1000,
  maxAttempts: 3,
  infrastructureRetries: 5,
  retryMilliseconds: 0,
  beginMilliseconds: 60_000,
  loadMilliseconds: 60_000,
  renewMilliseconds: 10_000,
};
