import { join } from 'node:path';
import { InfrastructureError, InputError } from '../../../kernel/errors.ts';
import type { SandboxTemplate } from '../../../pool/ports/template.ts';
import type { TemplateSettings } from '../../../pool/ports/template-settings.ts';
import { RUNNER_INSIDE } from '../local/template/python-template.ts';
import { createRemoteTemplate } from '../remote/remote-template.ts';
import { DockerPart, type DockerSettings } from './settings.ts';

/**
 * A container has the image's Python, and this Muster's own runner.
 *
 * @param projectDirectory holds `runner/`.
 * @throws InputError `template.no-image`; `template.not-local` as `createRemoteTemplate` does, but for mounts, which are of this machine here, too.
 */
export function createDockerTemplate(
  name: string,
  settings: TemplateSettings,
  own: DockerSettings,
  projectDirectory: string,
): SandboxTemplate {
  const { image, python } = own;
  if (image === undefined) {
    throw new InputError('template.no-image', `template "${name}": with provider: docker it must name an image; set docker.image`);
  }
  const runner = { source: join(projectDirectory, 'runner'), target: RUNNER_INSIDE };
  return {
    ...createRemoteTemplate(name, { ...settings, mounts: [] }, python),
    mounts: [runner, ...settings.mounts],
    providerPart: new DockerPart(own, image),
  };
}

/** @throws InfrastructureError when the template has no settings for containers: it was made for another provider. */
export function getDockerPart({ name, providerPart }: SandboxTemplate): DockerPart {
  if (providerPart instanceof DockerPart) return providerPart;
  throw new InfrastructureError('template.no-container', `template "${name}" has no settings for containers`);
}
