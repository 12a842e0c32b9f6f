import { NO_SETTINGS, providerPlugin } from '../../../pool/ports/provider-plugin.ts';
import { pythonTemplate } from '../local/template/python-template.ts';
import { workspaceTemplate } from '../local/template/workspace-template.ts';
import { createBubblewrapProvider } from './bubblewrap-provider.ts';
import { probeCapabilities } from './capabilities.ts';
import { sandboxChecks } from './checks.ts';

export const bubblewrap = providerPlugin({
  name: 'bubblewrap',
  summary: 'namespaces of the host’s kernel',
  settings: NO_SETTINGS,
  isOwnMachine: true,
  playsApart: true,
  open: async (host) => createBubblewrapProvider(host),
  template: (name, settings, _, { projectDirectory, signal }) => pythonTemplate(name, settings, projectDirectory, signal),
  workspace: workspaceTemplate,
  checks: () => sandboxChecks(() => probeCapabilities({ bwrapPath: 'bwrap', cgroups: 'detect' })),
});
