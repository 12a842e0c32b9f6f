import { pino } from 'pino';
import { LOCAL_CALLER } from '../../service/access/caller.ts';
import { probeCapabilities } from '../../adapters/sandbox/bubblewrap/capabilities.ts';
import { probeGvisor } from '../../adapters/sandbox/gvisor/capabilities.ts';
import { usablePython } from '../../adapters/sandbox/local/template/python-template.ts';
import type { Config } from '../../config/config.ts';
import type { DoctorCheck } from './doctor.ts';
import { diskCheck, nodeCheck, openFilesCheck, userCheck } from './machine-checks.ts';
import { gvisorCheck, pythonCheck, runnerCheck, sandboxChecks } from './sandbox-checks.ts';
import { systemClock } from '../../kernel/clock.ts';
import { Pools } from '../pools.ts';
import { PROJECT_DIRECTORY } from '../providers.ts';

/** Elsewhere a sandbox costs money, or belongs to a shared cluster. */
const LOCAL_PROVIDERS: ReadonlySet<string | undefined> = new Set(['bubblewrap', 'gvisor']);

/** What `muster doctor` looks at on this machine. */
export function doctorChecks(config: Config): readonly DoctorCheck[] {
  const pythonTemplates = Object.entries(config.templates).filter(([, { command }]) => command === undefined);
  const localTemplates = Object.keys(config.templates).filter((name) => LOCAL_PROVIDERS.has(config.templates[name]?.provider));
  const gvisorTemplates = Object.keys(config.templates).filter((name) => config.templates[name]?.provider === 'gvisor');
  return [
    nodeCheck(process.versions.node),
    ...sandboxChecks(() => probeCapabilities({ bwrapPath: 'bwrap', cgroups: 'detect' })),
    gvisorCheck(gvisorTemplates, async () => (await probeGvisor({ runscPath: 'runsc', cgroups: 'none' })).gvisor),
    ...pythonTemplates.map(([name, { python, imports }]) =>
      pythonCheck(name, (signal) => usablePython(python, imports, PROJECT_DIRECTORY, signal)),
    ),
    ...localTemplates.map((name) => runnerCheck(name, (signal) => secondsToStart(config, name, signal))),
    diskCheck(config.stateDir),
    openFilesCheck(config.pool.max),
    userCheck(process.getuid?.()),
  ];
}

async function secondsToStart(config: Config, template: string, signal: AbortSignal): Promise<number> {
  const began = systemClock.now();
  await using pools = new Pools(config, systemClock, pino({ level: 'silent' }));
  const { policy } = pools.settings(template);
  const pool = await pools.of({ template, policy: policy === 'apart' ? 'apart' : 'together' }, signal);
  await using _lease = await pool.acquire({ kind: 'data', principal: LOCAL_CALLER.principal }, signal);
  return (systemClock.now() - began) / 1000;
}
