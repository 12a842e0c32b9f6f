import { createProviderPlugin } from '../../../pool/ports/provider-plugin.ts';
import { createE2bTemplate } from './e2b-template.ts';
import { e2bSchema } from './settings.ts';

export const e2b = createProviderPlugin({
  name: 'e2b',
  summary: 'E2B’s service',
  settings: e2bSchema,
  isOwnMachine: false,
  playsApart: false,
  async open(host) {
    // The service's client would cost every command half a second.
    const { createE2bProvider } = await import('./e2b-provider.ts');
    return createE2bProvider({ ...host, account: { apiKey: process.env['E2B_API_KEY'] ?? '' } });
  },
  template: async (name, settings, own) => createE2bTemplate(name, settings, own),
  allowance: ({ maxSandboxes, creationsPerSecond, pauseSeconds }) => ({
    max: maxSandboxes,
    creationsPerSecond,
    restSeconds: pauseSeconds === 'never' ? undefined : pauseSeconds,
  }),
  refusesFetching: (way) => (way === 'pull' ? undefined : { problem: 'only nodes of a cluster have a cache', remedy: 'set it to pull' }),
});
