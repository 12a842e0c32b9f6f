import { providerPlugin } from '../../../pool/ports/provider-plugin.ts';
import { providerCheck } from '../capability-checks.ts';
import { dockerTemplate } from './docker-template.ts';
import { dockerSchema, socketPath, type DockerSettings } from './settings.ts';

export const docker = providerPlugin({
  name: 'docker',
  summary: 'the containers of a Docker daemon',
  settings: dockerSchema,
  isOwnMachine: true,
  playsApart: false,
  async open(host, own) {
    // The daemon's client would cost every command a tenth of a second.
    const { createDockerProvider } = await import('./docker-provider.ts');
    return createDockerProvider({ ...host, sockets: own.map(socketOf) });
  },
  template: async (name, settings, own, { projectDirectory }) => dockerTemplate(name, settings, own, projectDirectory),
  checks: (templates, own) =>
    templates.length === 0
      ? []
      : [providerCheck('Docker', templates, async () => (await import('./probe.ts')).probeDocker(own.map(socketOf)))],
});

function socketOf({ socket }: DockerSettings): string {
  return socketPath(socket, process.env['DOCKER_HOST']);
}
