import { InputError } from '../../../kernel/errors.ts';
import { createCannotPlayApartError } from '../../../pool/ports/policy-apart.ts';
import type { SandboxTemplate } from '../../../pool/ports/template.ts';
import type { TemplateSettings } from '../../../pool/ports/template-settings.ts';
import { RUNNER_INSIDE } from '../local/template/python-template.ts';

/**
 * Creates a template for remote sandboxes. Settings about this machine (its interpreter, its directories, its network, forking) have no meaning
 * there: all of them must keep their defaults.
 *
 * @param python the interpreter inside. @throws InputError `template.not-local`, with the setting and the remedy.
 */
export function createRemoteTemplate(name: string, settings: TemplateSettings, python: string): SandboxTemplate {
  checkNotLocal(name, settings);
  if (settings.policy === 'apart') {
    throw createCannotPlayApartError(name, 'sandboxes on other machines have only one program');
  }
  const { imports, command, environment, network, limits, demands } = settings;
  const runner = [python, '-I', RUNNER_INSIDE, ...imports.flatMap((module) => ['--import', module])];
  return { name, command: command ?? runner, environment, mounts: [], network, limits, demands };
}

function checkNotLocal(name: string, { python, start, mounts, network }: TemplateSettings): void {
  if (python !== 'auto')
    throw createNotLocalError(name, 'python', 'auto', 'the interpreter inside is named by the settings of the provider');
  if (start === 'forked') throw createNotLocalError(name, 'start', 'auto', 'only sandboxes of this machine are forked');
  if (mounts.length > 0) throw createNotLocalError(name, 'mounts', '[]', "put the files into the provider's image or template");
  if (network !== 'none') throw createNotLocalError(name, 'network', 'none', 'there is no host network to share');
}

function createNotLocalError(name: string, setting: string, neutral: string, why: string): InputError {
  const text = `templates.${name}.${setting} speaks of this machine, where its sandboxes are not`;
  return new InputError('template.not-local', `${text}; set it to ${neutral} (a template takes missing settings from "local"): ${why}`);
}
