import { InfrastructureError } from '../../../kernel/errors.ts';
import { E2bPart, type E2bMachine } from './e2b-machine.ts';
import type { SandboxTemplate } from '../../../pool/ports/template.ts';
import type { TemplateSettings } from '../../../pool/ports/template-settings.ts';
import { createRemoteTemplate } from '../remote/remote-template.ts';

/** @throws InputError `template.not-local` as `createRemoteTemplate` does. */
export function createE2bTemplate(name: string, settings: TemplateSettings, e2b: E2bMachine): SandboxTemplate {
  const { template, runner, python, tenancySeconds } = e2b;
  return { ...createRemoteTemplate(name, settings, python), providerPart: new E2bPart({ template, runner, python, tenancySeconds }) };
}

/** @throws InfrastructureError when the template has no part for E2B, because it was made for another provider. */
export function getMachine({ name, providerPart }: SandboxTemplate): E2bMachine {
  if (providerPart instanceof E2bPart) return providerPart.machine;
  throw new InfrastructureError('template.no-machine', `template "${name}" does not say what its sandboxes are at E2B`);
}
