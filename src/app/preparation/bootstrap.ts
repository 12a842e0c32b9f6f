import { posix } from 'node:path';
import { z } from 'zod';
import { LayerStore } from '../../adapters/preparation/layer-store.ts';
import { RegistryGate } from '../../adapters/preparation/registry-gate.ts';
import type { StepStore } from '../../adapters/preparation/step-store.ts';
import { LOGS } from '../../agents/grading/grading-template.ts';
import type { GradingSandboxes, GradingTool } from '../../agents/grading/grading-sandboxes.ts';
import type { DependencyPlan } from '../../agents/preparation/languages/language-adapter.ts';
import type { DetectedLanguage } from '../../agents/preparation/languages/language-table.ts';
import { readText, TREE_BOUNDS, type SourceFiles } from '../../agents/preparation/source/source-files.ts';
import { Refused } from '../../agents/preparation/source/steps.ts';
import { digestFiles } from '../../agents/preparation/step-key.ts';
import { InfrastructureError } from '../../kernel/errors.ts';
import { type PreparationPaths, runProgram, withRepository } from './preparation-sandbox.ts';
import type { InstalledDependencies } from './preparation-context.ts';

const NOTHING: InstalledDependencies = { files: new Map(), pinned: [] };
const TARGET = `${LOGS}/dependencies`;
const GATE = '/muster/registries';
/** A package manager has 900 s, and up to 1,800 s more on a busy machine (installing.py). */
const SECONDS = 2800;
const CERTIFICATES = '/etc/ssl/certs';
/** Package managers keep archives and their unpacked content. */
const LIMITS = { cpus: undefined, memoryBytes: 6 * 2 ** 30, storageBytes: 8 * 2 ** 30 };
const answerSchema = z.object({ pinned: z.array(z.string().max(512)).max(2000), problem: z.string().nullable() });
const installedSchema = z.strictObject({ layer: z.string(), pinned: z.array(z.string()) });

/** Installs what tests need, in a sandbox that reaches the named registries and nothing else. The result is kept as a layer, by its digest. */
export class Bootstrap implements AsyncDisposable {
  readonly notices: string[] = [];
  readonly #sandboxes: GradingSandboxes;
  readonly #steps: StepStore;
  readonly #registries: readonly string[];
  readonly #layers: LayerStore;
  #gate: Promise<RegistryGate> | undefined;

  constructor(sandboxes: GradingSandboxes, steps: StepStore, registries: readonly string[], { layers }: PreparationPaths) {
    this.#sandboxes = sandboxes;
    this.#steps = steps;
    this.#registries = registries;
    this.#layers = new LayerStore(layers);
  }

  /** @throws Refused (`bootstrap`) with the installer's message. */
  async install({ language }: DetectedLanguage, files: SourceFiles, signal: AbortSignal): Promise<InstalledDependencies> {
    const plan = language.dependencies;
    if (plan === undefined) return NOTHING;
    const declared: SourceFiles = new Map([...files].filter(([path]) => plan.declares(path)));
    if (declared.size === 0) return NOTHING;
    if (this.#registries.length === 0) {
      if (![...declared.keys()].some((path) => plan.mayName(path, readText(declared, path) ?? ''))) return NOTHING;
      const notice = 'Nothing was installed for the tests: name the registries that the installation may reach with --registry.';
      if (!this.notices.includes(notice)) this.notices.push(notice);
      return NOTHING;
    }
    const inputs = { language: language.name, declared: digestFiles(declared), registries: this.#registries };
    const installed = await this.#steps.remember('bootstrap', inputs, installedSchema, () => this.#install(plan, declared, signal));
    const layer = await this.#layers.find(installed.layer);
    if (layer !== undefined) return { files: layer, pinned: installed.pinned };
    throw new InfrastructureError(
      'preparation.layer',
      `layer ${installed.layer} is gone; remove the directory "steps" beside it, and start again`,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const gate = await this.#gate?.catch(() => undefined);
    await gate?.[Symbol.asyncDispose]();
  }

  async #install(plan: DependencyPlan, declared: SourceFiles, signal: AbortSignal): Promise<z.infer<typeof installedSchema>> {
    this.#gate ??= RegistryGate.open(this.#registries);
    const gate = await this.#gate;
    const tools: GradingTool[] = [
      { source: gate.directory, target: GATE },
      { source: CERTIFICATES, target: CERTIFICATES },
    ];
    const bundle = `${CERTIFICATES}/ca-certificates.crt`;
    const environment = { PIP_CERT: bundle, SSL_CERT_FILE: bundle, NODE_EXTRA_CA_CERTS: bundle, CARGO_HTTP_CAINFO: bundle };
    return await withRepository(
      this.#sandboxes,
      { files: declared, dependencies: new Map(), tests: {}, tools, limits: LIMITS },
      async (session, until) => {
        const asked = { target: posix.join(TARGET, plan.directory), environment };
        const { pinned, problem } = answerSchema.parse(await runProgram(session, plan.program, asked, SECONDS, until));
        // A failed installation may succeed later, so it is not kept.
        if (problem !== null) throw new Refused('bootstrap', `the dependencies cannot be installed: ${problem}`);
        const taken = await session.collect([TARGET], { files: 2 * TREE_BOUNDS.files, bytes: TREE_BOUNDS.bytes }, until);
        if (taken.kind === 'refused') throw new Refused('bootstrap', `${taken.refusal.path}: ${taken.refusal.detail}`);
        const kept = taken.files.filter(({ path }) => !path.includes('/__pycache__/'));
        const files = kept.map(({ path, content, executable }) => [path.slice(TARGET.length + 1), { content, executable }] as const);
        return { layer: await this.#layers.put(new Map(files)), pinned };
      },
      signal,
    );
  }
}
