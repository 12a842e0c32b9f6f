import { InputError } from '../../../kernel/errors.ts';
import type { WorkspaceSettings } from '../../../pool/ports/provider-plugin.ts';
import type { SandboxTemplate } from '../../../pool/ports/template.ts';
import type { TemplateSettings } from '../../../pool/ports/template-settings.ts';
import { RUNNER_INSIDE } from '../local/template/python-template.ts';
import { createRemoteTemplate } from '../remote/remote-template.ts';
import { BuildPart, type CloudBuildSettings } from './settings.ts';

/** @throws InputError `template.incomplete`; `template.not-local` as `createRemoteTemplate` does. */
export function createCloudBuildTemplate(name: string, settings: TemplateSettings, own: CloudBuildSettings): SandboxTemplate {
  return { ...createRemoteTemplate(name, settings, own.python), providerPart: createPart(name, own) };
}

/**
 * A build in which commands are run. Its root file system is the image's. What is mounted comes from this machine, and is brought into the build.
 *
 * @throws InputError `template.incomplete`, `template.not-local`.
 */
export function createCloudBuildWorkspace(
  name: string,
  { root, writable, limits, demands, mounts, start }: WorkspaceSettings,
  own: CloudBuildSettings,
): SandboxTemplate {
  if (root !== undefined) {
    const remedy = 'build an image of cloud-build.image that has the files, and leave docker_image and the Dockerfile out of the task';
    throw new InputError('template.not-local', `the task has an image of its own, which builds do not have; ${remedy}`);
  }
  if (start === 'forked') {
    throw new InputError('template.not-local', `templates.local.start is forked, but a build is a machine of its own; set it to auto`);
  }
  const places = ['/tmp', '/dev/shm', ...writable];
  return {
    name,
    command: [own.python, '-I', '-S', '-B', `${RUNNER_INSIDE}/workspace.py`, ...places.flatMap((each) => ['--writable', each])],
    environment: {},
    mounts,
    network: 'none',
    limits,
    demands,
    workspace: { root, writable },
    providerPart: createPart(name, own),
  };
}

function createPart(name: string, { project, image, serviceAccount, dialBack, ...rest }: CloudBuildSettings): BuildPart {
  if (project === undefined || image === undefined || serviceAccount === undefined) {
    const missing = Object.entries({ project, image, serviceAccount }).filter(([, value]) => value === undefined);
    const names = missing.map(([setting]) => `cloud-build.${setting}`).join(', ');
    throw new InputError('template.incomplete', `template "${name}": with provider: cloud-build it also has to name ${names}`);
  }
  const line = { kind: 'dial-back', provider: 'cloud-build', python: rest.python, ...dialBack } as const;
  return new BuildPart({ ...rest, project, image, serviceAccount, dialBack: line });
}
