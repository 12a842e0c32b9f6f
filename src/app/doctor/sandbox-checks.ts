import { LIMIT_NAMES, type LimitEnforcement, type LimitName } from '../../pool/ports/template.ts';
import { ok } from './machine-checks.ts';
import type { DoctorCheck } from './doctor.ts';

/** What a local provider's probe reports; adapters bring it, the composition root hands it in. */
export interface SandboxCapabilities {
  readonly bubblewrap: Capability;
  readonly namespaces: Capability;
  readonly forking: Capability;
  readonly cgroups: Capability;
  readonly limits: Readonly<Record<LimitName, LimitEnforcement>>;
}

export type Capability =
  | { readonly state: 'available'; readonly detail: string }
  | { readonly state: 'missing'; readonly detail: string; readonly remedy: string };

/** @param probe is called once for all checks together. */
export function sandboxChecks(probe: () => Promise<SandboxCapabilities>): readonly DoctorCheck[] {
  let probing: Promise<SandboxCapabilities> | undefined;
  const capabilities = (): Promise<SandboxCapabilities> => (probing ??= probe());
  return [
    neededCheck('bubblewrap', async () => (await capabilities()).bubblewrap),
    neededCheck('user namespaces', async () => (await capabilities()).namespaces),
    usefulCheck('forked sandboxes', async () => (await capabilities()).forking),
    limitsCheck(capabilities),
  ];
}

const neededCheck = (name: string, find: () => Promise<Capability>): DoctorCheck => capabilityCheck(name, find, 'problem');
/** Muster does without, at a cost that the remedy states. */
const usefulCheck = (name: string, find: () => Promise<Capability>): DoctorCheck => capabilityCheck(name, find, 'warning');

function capabilityCheck(name: string, find: () => Promise<Capability>, status: 'problem' | 'warning'): DoctorCheck {
  return {
    name,
    async run() {
      const found = await find();
      switch (found.state) {
        case 'available':
          return ok(found.detail);
        case 'missing':
          return { status, found: found.detail, remedy: found.remedy };
      }
    },
  };
}

/** Only templates that name gVisor need it. @param templates their names. */
export function gvisorCheck(templates: readonly string[], find: () => Promise<Capability>): DoctorCheck {
  return {
    name: 'gVisor',
    async run() {
      const found = await find();
      if (found.state === 'available') return ok(found.detail);
      if (templates.length === 0) return ok(`not usable, and no template names it: ${found.detail}`);
      return { status: 'problem', found: `${found.detail}; templates that name it: ${templates.join(', ')}`, remedy: found.remedy };
    },
  };
}

/** Limits that hold for less than the whole sandbox are no obstacle: results state it, and templates can demand more. */
function limitsCheck(capabilities: () => Promise<SandboxCapabilities>): DoctorCheck {
  return {
    name: 'limits',
    async run() {
      const { limits, cgroups } = await capabilities();
      const found = LIMIT_NAMES.map((name) => `${name}: ${enforcement(limits[name])}`).join(', ');
      if (LIMIT_NAMES.every((name) => limits[name].scope === 'tree')) return ok(found);
      const remedy = cgroups.state === 'missing' ? `${cgroups.remedy} (${cgroups.detail})` : `control groups: ${cgroups.detail}`;
      return { status: 'warning', found, remedy };
    },
  };
}

function enforcement({ scope, by }: LimitEnforcement): string {
  switch (scope) {
    case 'tree':
      return by;
    case 'process':
      return `${by}, for each process only`;
    case 'none':
      return 'not enforced';
  }
}

/** @param start has the template's program started in a sandbox, as an evaluation does. @returns seconds until it was ready. */
export function runnerCheck(template: string, start: (signal: AbortSignal) => Promise<number>): DoctorCheck {
  return {
    name: template === 'local' ? 'runner' : `runner (${template})`,
    run: async (signal) => ok(`ready in a sandbox after ${(await start(signal)).toFixed(1)} s`),
  };
}

/** What the interpreter that a template names was found to be; anything that is wrong is thrown. */
export interface PythonFacts {
  readonly executable: string;
  readonly version: readonly number[];
  readonly modules: Readonly<Record<string, { readonly state: string; readonly version?: string | null }>>;
}

/** @param template as the configuration names it. */
export function pythonCheck(template: string, inspect: (signal: AbortSignal) => Promise<PythonFacts>): DoctorCheck {
  return {
    name: template === 'local' ? 'Python' : `Python (${template})`,
    async run(signal) {
      const { executable, version, modules } = await inspect(signal);
      const packages = Object.entries(modules).map(([name, module]) => `${name} ${module.version ?? ''}`.trimEnd());
      return ok(`${version.join('.')} at ${executable} with ${packages.join(', ')}`);
    },
  };
}
