import type { PolicyPlacement } from './policy-apart.ts';
import type { SandboxTemplate } from './template.ts';

/** Settings of every template, whatever its provider: they name an interpreter instead of mounts and a command. */
export interface TemplateSettings extends Omit<SandboxTemplate, 'name' | 'command' | 'zygote' | 'policy' | 'providerPart'> {
  /** `auto`: the project's own environment. Otherwise the absolute path of an interpreter. */
  readonly python: string;
  /** Modules that the runner imports before it is ready. */
  readonly imports: readonly string[];
  /** A runner in another language; Muster then looks for no Python. */
  readonly command?: readonly string[] | undefined;
  /** Whether a second program plays the policy, apart from the environment. `auto`: none does where this depends on the checkpoint. */
  readonly policy?: 'auto' | PolicyPlacement;
  /** Whether sandboxes are forked from one process that has imported everything, or each is started by itself. */
  readonly start: 'auto' | 'forked' | 'plain';
}

/** A template as it is configured. Only the provider reads the part under its own name. */
export type ConfiguredTemplate = TemplateSettings & Readonly<Record<string, unknown>>;
