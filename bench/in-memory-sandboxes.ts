import { createInMemoryProvider } from '../test/support/in-memory-sandbox/in-memory-provider.ts';
import type { Program } from '../test/support/in-memory-sandbox/program.ts';
import { loadConfig } from '../src/app/configuration.ts';
import { digestBytes } from '../src/kernel/canonical-json.ts';
import { sleep, systemClock } from '../src/kernel/clock.ts';
import { parseOwnerId, parseSandboxId } from '../src/kernel/ids.ts';
import { silentLog } from '../src/kernel/log.ts';
import type { EvaluateContext } from '../src/orchestrator/run/evaluate-context.ts';
import { evaluate } from '../src/orchestrator/evaluate.ts';
import type { PlayDeclaration } from '../src/orchestrator/suite/play.ts';
import { RunnerPlayers } from '../src/orchestrator/run/runner-players.ts';
import { defineSuite, createInlineLayer, parseSuite, replacePlay } from '../src/orchestrator/suite/suite-definition.ts';
import type { Summary } from '../src/orchestrator/results/summary.ts';
import { Distributor } from '../src/policy-distribution/delivery/distributor.ts';
import { Pool } from '../src/pool/pool.ts';
import type { SandboxProvider } from '../src/pool/ports/sandbox.ts';
import { RunnerSession } from '../src/runner/session.ts';

const LIMITS = { memoryBytes: 1e9, processes: 10, cpus: 1, diskBytes: 1e6, lifetimeSeconds: 86_400 };
const TEMPLATE = { name: 'local', command: ['runner'], environment: {}, mounts: [], network: 'none', limits: LIMITS, demands: [] } as const;

/** Idle sandboxes that are functions of this process: what they cost is what Muster itself costs. */
export class InMemorySandboxes implements AsyncDisposable {
  readonly #provider: SandboxProvider;
  readonly #pool: Pool<RunnerSession>;
  readonly #context: EvaluateContext;

  private constructor(provider: SandboxProvider, pool: Pool<RunnerSession>, context: EvaluateContext) {
    this.#provider = provider;
    this.#pool = pool;
    this.#context = context;
  }

  static async warm(count: number, program: Program): Promise<InMemorySandboxes> {
    const settings = loadConfig({ environment: { HOME: '/' } });
    const provider = createInMemoryProvider({ owner: parseOwnerId('bench'), clock: systemClock, programs: { runner: program } });
    let made = 0;
    const rates = { creationConcurrency: 1000, creationsPerSecond: 1e6 };
    const pool = new Pool({
      provider,
      template: TEMPLATE,
      config: { ...settings.pool, ...rates, min: count, max: count, episodesPerSandbox: 1e12, leaseSeconds: 3600 },
      clock: systemClock,
      warmUp: (sandbox, signal) => RunnerSession.open(sandbox, systemClock, signal),
      newSandboxId: () => parseSandboxId(`s${(made += 1)}`),
    });
    await pool.waitUntilStarted();
    while (pool.state().sandboxes.idle < count) await sleep(systemClock, 5);
    const config = { ...settings.evaluation, renewMilliseconds: 600_000 };
    const rest = { clock: systemClock, log: silentLog, config };
    const players = new RunnerPlayers({ principal: 'bench', pool, distributor: new Distributor(), ...rest });
    return new InMemorySandboxes(provider, pool, { players, provider: provider.name, maxSandboxes: count, ...rest });
  }

  /** @param onProgress among other times called when the last episode has been recorded, before the summary is drawn up. */
  async evaluate(episodes: number, onProgress?: () => void, play: PlayDeclaration = { mode: 'single' }): Promise<Summary> {
    const written = { name: 'bench', environment: 'module:factory', reward: { bounds: [0, 1] }, stop: { rule: 'fixed', episodes } };
    const suite = replacePlay(defineSuite(parseSuite(createInlineLayer(written)), undefined), play);
    const checkpoint = { digest: digestBytes('paper'), kind: 'file', files: [], labels: {} } as const;
    const request = { suite, suiteFiles: undefined, checkpoint, checkpointUri: 'paper' };
    return evaluate(this.#context, request, onProgress ? { onProgress } : {});
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool[Symbol.asyncDispose]();
    await this.#provider[Symbol.asyncDispose]();
  }
}
