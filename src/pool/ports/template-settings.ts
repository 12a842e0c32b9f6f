import type { PolicyPlacement } from './policy-apart.ts';
import type { SandboxTemplate } from './template.ts';

/** What every template can say, whatever its provider: the interpreter instead of mounts and a command. */
export interface TemplateSettings extends Omit<SandboxTemplate, 'name' | 'command' | 'zygote' | 'policy' | 'providerPart'> {
  /** `auto`: the project's own environment. Otherwise the absolute path of an interpreter. */
  readonly python: string;
  /** Modules that the runner imports before it is ready. */
  readonly imports: readonly string[];
  /** A runner in another language; no Python is looked for then. */
  readonly command?: readonly string[] | undefined;
  /** Whether a second program plays the policy, apart from the environment. Where it depends on the checkpoint, `auto`, none does. */
  readonly policy?: 'auto' | PolicyPlacement;
  /** Whether sandboxes are forked from one process that has imported everything, or started each by itself. */
  readonly start: 'auto' | 'forked' | 'plain';
}

/** A template as it is configured. What stands under a provider's name is that provider's, and opaque to everything else. */
export type ConfiguredTemplate = TemplateSettings & Readonly<Record<string, unknown>>;
