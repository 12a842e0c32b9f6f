import { createProviderPlugin } from '../../../pool/ports/provider-plugin.ts';
import { createProviderCheck } from '../capability-checks.ts';
import { createDockerTemplate } from './docker-template.ts';
import { createDockerWorkspace } from './docker-workspace.ts';
import { dockerSchema, resolveSocketPath, type DockerSettings } from './settings.ts';

export const docker = createProviderPlugin({
  name: 'docker',
  summary: 'the containers of a Docker daemon',
  settings: dockerSchema,
  isOwnMachine: true,
  playsApart: false,
  async open(host, own) {
    // The daemon's client would cost every command a tenth of a second.
    const { createDockerProvider } = await import('./docker-provider.ts');
    return createDockerProvider({ ...host, sockets: own.map(resolveSocket) });
  },
  template: async (name, settings, own, { projectDirectory }) => createDockerTemplate(name, settings, own, projectDirectory),
  workspace: createDockerWorkspace,
  checks: (templates, own) =>
    templates.length === 0
      ? []
      : [createProviderCheck('Docker', templates, async () => (await import('./probe.ts')).probeDocker(own.map(resolveSocket)))],
});

function resolveSocket({ socket }: DockerSettings): string {
  return resolveSocketPath(socket, process.env['DOCKER_HOST']);
}
