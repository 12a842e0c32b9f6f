import { z } from 'zod';
import type { Clock } from '../../kernel/clock.ts';
import type { HealthCheck } from '../../kernel/health-check.ts';
import type { FetchWay } from '../../kernel/fetching.ts';
import type { OwnerId } from '../../kernel/ids.ts';
import type { SandboxProvider } from './sandbox.ts';
import type { LimitName, Mount, SandboxLimits, SandboxTemplate, WorkspaceFileSystem } from './template.ts';
import type { ConfiguredTemplate, TemplateSettings } from './template-settings.ts';

/** What every provider receives. */
export interface ProviderHost {
  readonly stateDir: string;
  readonly owner: OwnerId;
  readonly clock: Clock;
  /** Directory with `runner/` and, if it was set up, `.venv/`. */
  readonly projectDirectory: string;
  /** Hosts from which remote sandboxes may fetch checkpoints. Empty: they fetch nothing. */
  readonly origins: readonly string[];
  /** Reports problems that make nothing fail. */
  readonly log: (message: string) => void;
}

/** What a provider's service allows at most. */
export interface Allowance {
  readonly max?: number | undefined;
  readonly creationsPerSecond?: number | undefined;
  /** An idle sandbox is paused after this long. */
  readonly restSeconds?: number | undefined;
}

/** Why a template cannot deliver files as configured, and the remedy. */
export interface Refusal {
  readonly problem: string;
  readonly remedy: string;
}

/** The settings of a provider that has none: a template has nothing under its name. */
export const NO_SETTINGS = z.undefined();

interface ProviderFacts {
  /** The value of `provider` in a template. The template has the provider's settings under this name. */
  readonly name: string;
  /** Says how it makes its sandboxes, in a few words, for the configuration's schema. */
  readonly summary: string;
  /** Whether a sandbox costs nothing but this machine's time, so that `muster doctor` may start one. */
  readonly isOwnMachine: boolean;
  /** Whether its sandboxes can have a second program, which plays the policy. */
  readonly playsApart: boolean;
}

/** A provider as its folder declares it. `Settings` are its own part of a template. */
export interface ProviderDefinition<Settings> extends ProviderFacts {
  /** The settings without defaults, which are in defaults.yaml of the provider's folder. */
  readonly settings: z.ZodType<Settings>;
  /** Loads the client of a service only when called. @param own settings of all templates that use the provider. */
  open(host: ProviderHost, own: readonly Settings[]): Promise<SandboxProvider>;
  /** @throws InputError, InfrastructureError when no sandbox can be made of the settings. */
  template(name: string, settings: TemplateSettings, own: Settings, context: TemplateContext): Promise<SandboxTemplate>;
  getAllowance?(own: Settings): Allowance;
  /**
   * Makes templates of workspaces, in which commands are run. Left out by providers that have none.
   *
   * @throws InputError, InfrastructureError as `template` does.
   */
  readonly workspace?: (name: string, settings: WorkspaceSettings, own: Settings, context: TemplateContext) => Promise<SandboxTemplate>;
  /** Returns why sandboxes cannot fetch in this way; undefined when they can. Left out by providers whose sandboxes fetch nothing. */
  refusesFetching?(way: FetchWay, own: Settings): Refusal | undefined;
  /** Makes the checks of `muster doctor`. @param templates names of those that use the provider. @param own their settings. */
  checks?(templates: readonly string[], own: readonly Settings[]): readonly HealthCheck[];
}

/** What a workspace is made of. */
export interface WorkspaceSettings extends WorkspaceFileSystem {
  readonly limits: SandboxLimits;
  readonly demands: readonly LimitName[];
  /** Mounts in addition to the root file system. */
  readonly mounts: readonly Mount[];
  /** Whether workspaces are forked from an existing process, or each is started by itself. */
  readonly start: TemplateSettings['start'];
}

export interface TemplateContext {
  readonly projectDirectory: string;
  readonly signal: AbortSignal;
}

/** A provider as the rest of Muster uses it: the provider's own part of a template is opaque. */
export interface ProviderPlugin extends ProviderFacts {
  readonly settings: z.ZodType;
  open(host: ProviderHost, templates: readonly ConfiguredTemplate[]): Promise<SandboxProvider>;
  template(name: string, template: ConfiguredTemplate, context: TemplateContext): Promise<SandboxTemplate>;
  workspace?(name: string, settings: WorkspaceSettings, template: ConfiguredTemplate, context: TemplateContext): Promise<SandboxTemplate>;
  allowance(template: ConfiguredTemplate): Allowance;
  /** Whether sandboxes can fetch files at all. */
  readonly fetches: boolean;
  refusesFetching(way: FetchWay, template: ConfiguredTemplate): Refusal | undefined;
  /** @param templates those that use the provider, by their names. */
  checks(templates: ReadonlyMap<string, ConfiguredTemplate>): readonly HealthCheck[];
}

export function createProviderPlugin<Settings>(definition: ProviderDefinition<Settings>): ProviderPlugin {
  const own = (template: ConfiguredTemplate): Settings => definition.settings.parse(template[definition.name]);
  const { workspace, ...rest } = definition;
  return {
    ...rest,
    ...(workspace && {
      workspace: (name: string, settings: WorkspaceSettings, template: ConfiguredTemplate, context: TemplateContext) =>
        workspace(name, settings, own(template), context),
    }),
    open: (host, templates) => definition.open(host, templates.map(own)),
    template: (name, template, context) => definition.template(name, template, own(template), context),
    allowance: (template) => definition.getAllowance?.(own(template)) ?? {},
    fetches: definition.refusesFetching !== undefined,
    refusesFetching: (way, template) => definition.refusesFetching?.(way, own(template)),
    checks: (templates) => definition.checks?.([...templates.keys()], Array.from(templates.values(), own)) ?? [],
  };
}
