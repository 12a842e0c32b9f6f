import { toOkFinding, type HealthCheck } from '../../../kernel/health-check.ts';
import { LIMIT_NAMES, type LimitEnforcement, type LimitName } from '../../../pool/ports/template.ts';
import { createNeededCheck, createUsefulCheck } from '../capability-checks.ts';
import type { Finding } from '../finding.ts';

/** The report of this machine's probe. */
export interface SandboxCapabilities {
  readonly bubblewrap: Finding;
  readonly namespaces: Finding;
  readonly forking: Finding;
  readonly cgroups: Finding;
  readonly limits: Readonly<Record<LimitName, LimitEnforcement>>;
}

/** @param probe is called once for all checks together. */
export function createSandboxChecks(probe: () => Promise<SandboxCapabilities>): readonly HealthCheck[] {
  let probing: Promise<SandboxCapabilities> | undefined;
  const probeOnce = (): Promise<SandboxCapabilities> => (probing ??= probe());
  return [
    createNeededCheck('bubblewrap', async () => (await probeOnce()).bubblewrap),
    createNeededCheck('user namespaces', async () => (await probeOnce()).namespaces),
    createUsefulCheck('forked sandboxes', async () => (await probeOnce()).forking),
    createLimitsCheck(probeOnce),
  ];
}

/** Limits that hold for less than the whole sandbox are no obstacle: results state it, and templates can demand more. */
function createLimitsCheck(capabilities: () => Promise<SandboxCapabilities>): HealthCheck {
  return {
    name: 'limits',
    async run() {
      const { limits, cgroups } = await capabilities();
      const found = LIMIT_NAMES.map((name) => `${name}: ${describeEnforcement(limits[name])}`).join(', ');
      if (LIMIT_NAMES.every((name) => limits[name].scope === 'tree')) return toOkFinding(found);
      const remedy = cgroups.state === 'missing' ? `${cgroups.remedy} (${cgroups.detail})` : `control groups: ${cgroups.detail}`;
      return { status: 'warning', found, remedy };
    },
  };
}

function describeEnforcement({ scope, by }: LimitEnforcement): string {
  switch (scope) {
    case 'tree':
      return by;
    case 'process':
      return `${by}, for each process only`;
    case 'none':
      return 'not enforced';
  }
}
