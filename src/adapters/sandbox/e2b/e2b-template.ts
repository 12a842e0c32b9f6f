import { InfrastructureError } from '../../../kernel/errors.ts';
import { E2bPart, type E2bMachine } from './e2b-machine.ts';
import type { SandboxTemplate } from '../../../pool/ports/template.ts';
import type { WorkspaceSettings } from '../../../pool/ports/provider-plugin.ts';
import type { TemplateSettings } from '../../../pool/ports/template-settings.ts';
import { createRemoteTemplate } from '../remote/remote-template.ts';
import { createRemoteWorkspace } from '../remote/remote-workspace.ts';

/** @throws InputError `template.not-local` as `createRemoteTemplate` does. */
export function createE2bTemplate(name: string, settings: TemplateSettings, e2b: E2bMachine): SandboxTemplate {
  return { ...createRemoteTemplate(name, settings, e2b.python), providerPart: createPart(e2b) };
}

/** @throws InputError `template.not-local` as `createRemoteWorkspace` does. */
export function createE2bWorkspace(name: string, settings: WorkspaceSettings, e2b: E2bMachine): SandboxTemplate {
  const place = { python: e2b.python, sandboxes: 'sandboxes of E2B', image: 'e2b.template' };
  return { ...createRemoteWorkspace(name, settings, place), providerPart: createPart(e2b) };
}

function createPart({ template, runner, python, visible, tenancySeconds }: E2bMachine): E2bPart {
  return new E2bPart({ template, runner, python, visible, tenancySeconds });
}

/** @throws InfrastructureError when the template has no part for E2B, because it was made for another provider. */
export function getMachine({ name, providerPart }: SandboxTemplate): E2bMachine {
  if (providerPart instanceof E2bPart) return providerPart.machine;
  throw new InfrastructureError('template.no-machine', `template "${name}" has no settings for E2B`);
}
