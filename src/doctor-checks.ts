import { probeCapabilities } from './adapters/sandbox/bubblewrap/capabilities.ts';
import { probeGvisor } from './adapters/sandbox/gvisor/capabilities.ts';
import { usablePython } from './adapters/sandbox/local/python-template.ts';
import type { Config } from './config/config.ts';
import type { DoctorCheck } from './doctor/doctor.ts';
import { diskCheck, nodeCheck, openFilesCheck, userCheck } from './doctor/machine-checks.ts';
import { gvisorCheck, pythonCheck, sandboxChecks } from './doctor/sandbox-checks.ts';
import { PROJECT_DIRECTORY } from './providers.ts';

/** What `muster doctor` looks at on this machine. */
export function doctorChecks(config: Config): readonly DoctorCheck[] {
  const pythonTemplates = Object.entries(config.templates).filter(([, { command }]) => command === undefined);
  const gvisorTemplates = Object.keys(config.templates).filter((name) => config.templates[name]?.provider === 'gvisor');
  return [
    nodeCheck(process.versions.node),
    ...sandboxChecks(() => probeCapabilities({ bwrapPath: 'bwrap', cgroups: 'detect' })),
    gvisorCheck(gvisorTemplates, async () => (await probeGvisor({ runscPath: 'runsc', cgroups: 'none' })).gvisor),
    ...pythonTemplates.map(([name, { python, imports }]) =>
      pythonCheck(name, (signal) => usablePython(python, imports, PROJECT_DIRECTORY, signal)),
    ),
    diskCheck(config.stateDir),
    openFilesCheck(config.pool.max),
    userCheck(process.getuid?.()),
  ];
}
