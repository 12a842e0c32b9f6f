import { InputError } from '../../../kernel/errors.ts';
import type { WorkspaceSettings } from '../../../pool/ports/provider-plugin.ts';
import type { SandboxTemplate } from '../../../pool/ports/template.ts';
import type { TemplateSettings } from '../../../pool/ports/template-settings.ts';
import { createRemoteTemplate } from '../remote/remote-template.ts';
import { createRemoteWorkspace } from '../remote/remote-workspace.ts';
import { BuildPart, type CloudBuildSettings } from './settings.ts';

/** @throws InputError `template.incomplete`; `template.not-local` as `createRemoteTemplate` does. */
export function createCloudBuildTemplate(name: string, settings: TemplateSettings, own: CloudBuildSettings): SandboxTemplate {
  return { ...createRemoteTemplate(name, settings, own.python), providerPart: createPart(name, own) };
}

/** @throws InputError `template.incomplete`; `template.not-local` as `createRemoteWorkspace` does. */
export function createCloudBuildWorkspace(name: string, settings: WorkspaceSettings, own: CloudBuildSettings): SandboxTemplate {
  const place = { python: own.python, sandboxes: 'builds', image: 'cloud-build.image' };
  return { ...createRemoteWorkspace(name, settings, place), providerPart: createPart(name, own) };
}

function createPart(name: string, { project, image, serviceAccount, dialBack, ...rest }: CloudBuildSettings): BuildPart {
  if (project === undefined || image === undefined || serviceAccount === undefined) {
    const missing = Object.entries({ project, image, serviceAccount }).filter(([, value]) => value === undefined);
    const names = missing.map(([setting]) => `cloud-build.${setting}`).join(', ');
    throw new InputError('template.incomplete', `template "${name}": with provider: cloud-build it must also have ${names}`);
  }
  const line = { kind: 'dial-back', provider: 'cloud-build', python: rest.python, ...dialBack } as const;
  return new BuildPart({ ...rest, project, image, serviceAccount, dialBack: line });
}
