import { NO_SETTINGS, createProviderPlugin } from '../../../pool/ports/provider-plugin.ts';
import { createProviderCheck } from '../capability-checks.ts';
import { createPythonTemplate } from '../local/template/python-template.ts';
import { createWorkspaceTemplate } from '../local/template/workspace-template.ts';
import { probeGvisor } from './capabilities.ts';

export const gvisor = createProviderPlugin({
  name: 'gvisor',
  summary: 'a kernel of their own',
  settings: NO_SETTINGS,
  isOwnMachine: true,
  playsApart: false,
  async open(host) {
    const { createGvisorProvider } = await import('./gvisor-provider.ts');
    return createGvisorProvider(host);
  },
  template: (name, settings, _, { projectDirectory, signal }) => createPythonTemplate(name, settings, projectDirectory, signal),
  workspace: (name, settings, _, context) => createWorkspaceTemplate(name, settings, context),
  checks: (templates) => [
    createProviderCheck('gVisor', templates, async () => (await probeGvisor({ runscPath: 'runsc', cgroups: 'none' })).gvisor),
  ],
});
