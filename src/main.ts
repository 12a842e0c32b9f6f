import { randomBytes } from 'node:crypto';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { filesystemSource } from './adapters/checkpoints/filesystem.ts';
import { ResultsDirectory } from './adapters/results/results-directory.ts';
import { createBubblewrapProvider } from './adapters/sandbox/bubblewrap/bubblewrap-provider.ts';
import { probeCapabilities } from './adapters/sandbox/bubblewrap/capabilities.ts';
import { pythonTemplate, usablePython } from './adapters/sandbox/bubblewrap/python-template.ts';
import { readSuiteFile } from './adapters/suites/suite-file.ts';
import type { DoctorCheck } from './doctor/doctor.ts';
import { diskCheck, nodeCheck, openFilesCheck, userCheck } from './doctor/machine-checks.ts';
import { pythonCheck, sandboxChecks } from './doctor/sandbox-checks.ts';
import type { Config } from './config/config.ts';
import { keptConfig } from './config/kept-config.ts';
import { loadConfig } from './config/load-config.ts';
import type { TemplateConfig } from './config/schema.ts';
import { untilAborted } from './kernel/abort.ts';
import { systemClock, type Clock } from './kernel/clock.ts';
import { InfrastructureError, InputError } from './kernel/errors.ts';
import { parseOwnerId, parseSandboxId, type OwnerId } from './kernel/ids.ts';
import type { Log } from './kernel/log.ts';
import type { EvaluateContext } from './orchestrator/evaluate-context.ts';
import { evaluate as evaluateOn, EvaluationFailedError } from './orchestrator/evaluate.ts';
import type { Progress } from './orchestrator/progress.ts';
import {
  defineSuite,
  inlineSuite,
  parseSuite,
  withStop,
  type StopOverride,
  type SuiteDefinition,
} from './orchestrator/suite-definition.ts';
import type { Summary } from './orchestrator/summary.ts';
import { CheckpointStore, type StoredCheckpoint } from './policy-distribution/checkpoint-store.ts';
import { Distributor } from './policy-distribution/distributor.ts';
import { createPool, type Pool } from './pool/pool.ts';
import type { SandboxProvider } from './pool/sandbox.ts';
import type { SandboxTemplate } from './pool/template.ts';
import { RunnerSession } from './runner/session.ts';

/**
 * The composition root: the only place where the domain meets its adapters. Everything that is opened here is closed with
 * the Muster that it belongs to.
 */
export const PROJECT_DIRECTORY = join(dirname(fileURLToPath(import.meta.url)), '..');

/** How a provider comes to be, and what it makes of a template as configured. */
interface ProviderKind {
  open(ground: { readonly stateDir: string; readonly owner: OwnerId; readonly clock: Clock }): SandboxProvider;
  template(name: string, settings: TemplateConfig, projectDirectory: string, signal: AbortSignal): Promise<SandboxTemplate>;
}

const PROVIDERS: Readonly<Record<TemplateConfig['provider'], ProviderKind>> = {
  bubblewrap: { open: createBubblewrapProvider, template: pythonTemplate },
};

export interface SuiteInput {
  /** Path of a suite file, or a suite as its file would have it. */
  readonly suite: string | object;
  /** In place of the suite's own. */
  readonly stop?: StopOverride;
}

export interface CheckpointInput {
  /** Path of a checkpoint file or directory. */
  readonly checkpoint: string;
  readonly labels?: { readonly run?: string; readonly version?: number };
}

export interface EvaluationInput extends SuiteInput, CheckpointInput {}

/** A suite with its files as they were when it was read: what happens to them afterwards changes nothing. */
export interface LoadedSuite {
  readonly definition: SuiteDefinition;
  readonly files: StoredCheckpoint | undefined;
}

export interface EvaluationOptions {
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
  /** New directory to keep summary, episodes and configuration in. */
  readonly out?: string;
}

export class Muster implements AsyncDisposable {
  readonly #config: Config;
  readonly #log: Log;
  readonly #store: CheckpointStore;
  readonly #owner: OwnerId;
  readonly #providers = new Map<TemplateConfig['provider'], SandboxProvider>();
  readonly #pools = new Map<string, Promise<Pool<RunnerSession>>>();
  readonly #distributor = new Distributor();
  readonly #closing = new AbortController();
  #sandboxes = 0;

  private constructor(config: Config, log: Log, store: CheckpointStore, owner: OwnerId) {
    this.#config = config;
    this.#log = log;
    this.#store = store;
    this.#owner = owner;
  }

  /** @throws InfrastructureError when the state directory cannot be used. */
  static async open(config: Config): Promise<Muster> {
    const log = pino({ level: config.log.level, base: null }, pino.destination({ fd: 2, sync: true }));
    const store = await CheckpointStore.open({ directory: join(config.stateDir, 'store'), limits: config.checkpoints, clock: systemClock });
    const owner = parseOwnerId(`muster-${process.pid}-${randomBytes(4).toString('hex')}`);
    return new Muster(config, log, store, owner);
  }

  /**
   * @throws InputError when suite or checkpoint are wrong or do not fit together; InfrastructureError when the machine fails,
   * as `EvaluationFailedError` with the partial summary once episodes have been played.
   */
  async evaluate(input: EvaluationInput, options: EvaluationOptions = {}): Promise<Summary> {
    return this.evaluateLoaded(await this.loadSuite(input, options.signal), input, options);
  }

  /** For several checkpoints on the same suite. @throws as `evaluate` does. */
  async evaluateLoaded(suite: LoadedSuite, input: CheckpointInput, options: EvaluationOptions = {}): Promise<Summary> {
    const signal = this.#either(options.signal);
    const checkpoint = await this.#store.add(filesystemSource, resolve(input.checkpoint), signal, input.labels);
    await using results = await this.#results(options.out, suite.definition, checkpoint);
    try {
      const context = await this.#context(suite.definition.template, signal);
      const request = { suite: suite.definition, suiteFiles: suite.files, checkpoint, checkpointUri: input.checkpoint };
      const { onProgress } = options;
      const playing = evaluateOn(context, request, {
        signal,
        ...(onProgress ? { onProgress } : {}),
        ...(results ? { episodes: results } : {}),
      });
      return results ? await concluded(results, playing) : await playing;
    } catch (error) {
      if (error instanceof InputError) await results?.withdraw();
      throw error;
    }
  }

  /** Reads and checks a suite, with its files. @throws InputError when it is wrong. */
  async loadSuite(input: SuiteInput, outer?: AbortSignal): Promise<LoadedSuite> {
    const written = typeof input.suite === 'string' ? await readSuiteFile(input.suite) : inlineSuite(input.suite);
    const parsed = parseSuite(input.stop ? withStop(written, input.stop) : written);
    if (parsed.files === undefined) return { definition: defineSuite(parsed, undefined), files: undefined };
    const base = typeof input.suite === 'string' ? dirname(resolve(input.suite)) : process.cwd();
    const directory = resolve(base, parsed.files);
    const files = await this.#store.addDirectory(filesystemSource, directory, this.#either(outer));
    return { definition: defineSuite(parsed, files.digest), files };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new DOMException('Muster is closing', 'AbortError'));
    const pools = await Promise.allSettled(this.#pools.values());
    for (const pool of pools) if (pool.status === 'fulfilled') await pool.value[Symbol.asyncDispose]();
    for (const provider of this.#providers.values()) await provider[Symbol.asyncDispose]();
  }

  #either(signal: AbortSignal | undefined): AbortSignal {
    return signal ? AbortSignal.any([signal, this.#closing.signal]) : this.#closing.signal;
  }

  async #results(out: string | undefined, suite: SuiteDefinition, checkpoint: StoredCheckpoint): Promise<ResultsDirectory | undefined> {
    if (out === undefined) return undefined;
    const { digest, kind, labels, files } = checkpoint;
    const fileFacts = files.map(({ path, size, digest: fileDigest }) => ({ path, size, digest: fileDigest }));
    return ResultsDirectory.create(out, {
      config: keptConfig(this.#config),
      suite,
      checkpoint: { digest, kind, labels, files: fileFacts },
    });
  }

  /** @throws InputError `template.unknown` when the configuration has none of the name. */
  #settings(template: string): TemplateConfig {
    const { templates } = this.#config;
    const settings = Object.hasOwn(templates, template) ? templates[template] : undefined;
    if (settings) return settings;
    const known = Object.keys(templates).join(', ');
    throw new InputError('template.unknown', `the suite's template "${template}" is not in the configuration; it has ${known}`);
  }

  #provider(name: TemplateConfig['provider']): SandboxProvider {
    const open = (): SandboxProvider => PROVIDERS[name].open({ stateDir: this.#config.stateDir, owner: this.#owner, clock: systemClock });
    const provider = this.#providers.get(name) ?? open();
    this.#providers.set(name, provider);
    return provider;
  }

  async #context(template: string, signal: AbortSignal): Promise<EvaluateContext> {
    return {
      pool: await this.#poolOf(template, signal),
      provider: this.#settings(template).provider,
      maxSandboxes: this.#config.pool.max,
      costPerSandboxHour: this.#settings(template).costPerSandboxHour,
      distributor: this.#distributor,
      clock: systemClock,
      log: this.#log,
      config: { ...this.#config.evaluation, renewMilliseconds: (this.#config.pool.leaseSeconds * 1000) / 3 },
    };
  }

  /** One pool a template; one that could not be opened is tried again by the next evaluation. */
  async #poolOf(template: string, signal: AbortSignal): Promise<Pool<RunnerSession>> {
    let opening = this.#pools.get(template);
    if (!opening) {
      opening = this.#openPool(template, this.#closing.signal);
      opening.catch(() => this.#pools.delete(template));
      this.#pools.set(template, opening);
    }
    return await untilAborted(opening, signal);
  }

  async #openPool(name: string, signal: AbortSignal): Promise<Pool<RunnerSession>> {
    const settings = this.#settings(name);
    const pool = createPool({
      provider: this.#provider(settings.provider),
      template: await PROVIDERS[settings.provider].template(name, settings, PROJECT_DIRECTORY, signal),
      config: this.#config.pool,
      clock: systemClock,
      warmUp: (sandbox, abandoned) => RunnerSession.open(sandbox, systemClock, abandoned),
      newSandboxId: () => parseSandboxId(`s${(this.#sandboxes += 1)}`),
    });
    try {
      await pool.started();
      return pool;
    } catch (error) {
      await pool[Symbol.asyncDispose]();
      throw error;
    }
  }
}

export interface OneEvaluationOptions extends EvaluationOptions {
  /** Path of a configuration file; the defaults alone when left out. */
  readonly configFile?: string;
  /** Most sandboxes at a time, in place of the configuration's. */
  readonly sandboxes?: number;
}

/** Keeps the summary, also a partial one. An answer that cannot be kept is told all the same, with the error. */
async function concluded(results: ResultsDirectory, playing: Promise<Summary>): Promise<Summary> {
  const summary = await playing.catch(async (error: unknown) => {
    if (error instanceof EvaluationFailedError && !results.failed) await results.conclude(error.partial);
    throw error;
  });
  try {
    await results.conclude(summary);
    return summary;
  } catch (error) {
    throw error instanceof InfrastructureError ? new EvaluationFailedError(summary, error) : error;
  }
}

/**
 * Opens Muster, evaluates one checkpoint, closes it: for a script. A program that evaluates often keeps a `Muster` open, and
 * with it its warm sandboxes.
 *
 * @throws as `Muster.evaluate` does, and InputError when the configuration is wrong.
 */
export async function evaluate(input: EvaluationInput, options: OneEvaluationOptions = {}): Promise<Summary> {
  await using muster = await Muster.open(configuration(options.configFile, options.sandboxes));
  return await muster.evaluate(input, options);
}

/** The configuration of a command or a script: the file, the environment's variables, and `--sandboxes` over both. */
export function configuration(file?: string, sandboxes?: number): Config {
  const flags = sandboxes === undefined ? [] : [{ name: '--sandboxes', path: ['pool', 'max'], value: sandboxes }];
  return loadConfig({ file, environment: process.env, flags });
}

/** What `muster doctor` looks at on this machine. */
export function doctorChecks(config: Config): readonly DoctorCheck[] {
  const pythonTemplates = Object.entries(config.templates).filter(([, { command }]) => command === undefined);
  return [
    nodeCheck(process.versions.node),
    ...sandboxChecks(() => probeCapabilities({ bwrapPath: 'bwrap', cgroups: 'detect' })),
    ...pythonTemplates.map(([name, { python, imports }]) =>
      pythonCheck(name, (signal) => usablePython(python, imports, PROJECT_DIRECTORY, signal)),
    ),
    diskCheck(config.stateDir),
    openFilesCheck(config.pool.max),
    userCheck(process.getuid?.()),
  ];
}
