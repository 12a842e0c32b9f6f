import { toOkFinding, type HealthCheck } from '../../kernel/health-check.ts';
import type { Isolation } from '../../pool/ports/template.ts';

/** @param start starts the template's program in a sandbox, as an evaluation does. @returns seconds until it was ready. */
export function createRunnerCheck(template: string, start: (signal: AbortSignal) => Promise<number>): HealthCheck {
  return {
    name: template === 'local' ? 'runner' : `runner (${template})`,
    run: async (signal) => toOkFinding(`ready in a sandbox after ${(await start(signal)).toFixed(1)} s`),
  };
}

/**
 * Makes no remote sandbox, which may cost money and time.
 *
 * @param provider of the template. @param describe finds out what can be known without a sandbox, and throws what is wrong.
 */
export function createRemoteCheck(
  provider: string,
  template: string,
  describe: (signal: AbortSignal) => Promise<Pick<Isolation, 'unverified'>>,
): HealthCheck {
  return {
    name: template === 'local' ? provider : `${provider} (${template})`,
    async run(signal) {
      const { unverified = [] } = await describe(signal);
      const found = 'reached, and allowed what an evaluation needs; no sandbox was made';
      return unverified.length === 0 ? toOkFinding(found) : { status: 'warning', found: `${found}; ${unverified.join('; ')}` };
    },
  };
}

/** Properties of the interpreter that a template names; problems are thrown. */
export interface PythonFacts {
  readonly executable: string;
  readonly version: readonly number[];
  readonly modules: Readonly<Record<string, { readonly state: string; readonly version?: string | null }>>;
}

/** @param template as the configuration names it. */
export function createPythonCheck(template: string, inspect: (signal: AbortSignal) => Promise<PythonFacts>): HealthCheck {
  return {
    name: template === 'local' ? 'Python' : `Python (${template})`,
    async run(signal) {
      const { executable, version, modules } = await inspect(signal);
      const packages = Object.entries(modules).map(([name, module]) => `${name} ${module.version ?? ''}`.trimEnd());
      return toOkFinding(`${version.join('.')} at ${executable} with ${packages.join(', ')}`);
    },
  };
}
