import { NO_SETTINGS, createProviderPlugin } from '../../../pool/ports/provider-plugin.ts';
import { createPythonTemplate } from '../local/template/python-template.ts';
import { createWorkspaceTemplate } from '../local/template/workspace-template.ts';
import { probeCapabilities } from './capabilities.ts';
import { createSandboxChecks } from './checks.ts';

export const bubblewrap = createProviderPlugin({
  name: 'bubblewrap',
  summary: 'namespaces of the host’s kernel',
  settings: NO_SETTINGS,
  isOwnMachine: true,
  playsApart: true,
  async open(host) {
    // Clients of a server read this plug-in for its settings.
    const { createBubblewrapProvider } = await import('./bubblewrap-provider.ts');
    return createBubblewrapProvider(host);
  },
  template: (name, settings, _, { projectDirectory, signal }) => createPythonTemplate(name, settings, projectDirectory, signal),
  workspace: (name, settings, _, context) => createWorkspaceTemplate(name, settings, context),
  checks: () => createSandboxChecks(() => probeCapabilities({ bwrapPath: 'bwrap', cgroups: 'detect' })),
});
