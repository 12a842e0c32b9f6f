import { InfrastructureError } from '../../../kernel/errors.ts';
import type { E2bMachine } from '../../../pool/ports/e2b-machine.ts';
import type { SandboxTemplate } from '../../../pool/ports/template.ts';
import type { PythonTemplateSettings } from '../local/template/python-template.ts';
import { remoteTemplate } from '../remote/remote-template.ts';

/** @throws InputError `template.not-local` as `remoteTemplate` does. */
export function e2bTemplate(name: string, settings: PythonTemplateSettings, e2b: E2bMachine): SandboxTemplate {
  const { template, runner, python, tenancySeconds } = e2b;
  return { ...remoteTemplate(name, settings, python), e2b: { template, runner, python, tenancySeconds } };
}

/** @throws InfrastructureError when the template says nothing of E2B: it was made for another provider. */
export function machineOf({ name, e2b }: SandboxTemplate): E2bMachine {
  if (e2b) return e2b;
  throw new InfrastructureError('template.no-machine', `template "${name}" does not say what its sandboxes are at E2B`);
}
