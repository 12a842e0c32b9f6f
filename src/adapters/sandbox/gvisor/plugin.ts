import { NO_SETTINGS, providerPlugin } from '../../../pool/ports/provider-plugin.ts';
import { providerCheck } from '../capability-checks.ts';
import { pythonTemplate } from '../local/template/python-template.ts';
import { probeGvisor } from './capabilities.ts';
import { createGvisorProvider } from './gvisor-provider.ts';

export const gvisor = providerPlugin({
  name: 'gvisor',
  summary: 'a kernel of their own',
  settings: NO_SETTINGS,
  isOwnMachine: true,
  playsApart: false,
  open: async (host) => createGvisorProvider(host),
  template: (name, settings, _, { projectDirectory, signal }) => pythonTemplate(name, settings, projectDirectory, signal),
  checks: (templates) => [
    providerCheck('gVisor', templates, async () => (await probeGvisor({ runscPath: 'runsc', cgroups: 'none' })).gvisor),
  ],
});
