import { loadConfig } from '../../../src/app/configuration.ts';
import { createPythonTemplate } from '../../../src/adapters/sandbox/local/template/python-template.ts';
import type { Mount } from '../../../src/pool/ports/template.ts';
import { PROJECT } from './e2b-context.ts';

/** What the E2B template of deploy/e2b has baked in: Muster's runner, and a Python with what it needs. */
export interface BakedRunner {
  readonly python: string;
  readonly mounts: readonly Mount[];
}

export async function bakedRunner(): Promise<BakedRunner> {
  const { templates } = loadConfig({ environment: { HOME: '/' } });
  if (!templates['local']) throw new Error('the defaults have a template "local"');
  const { command, mounts } = await createPythonTemplate('local', templates['local'], PROJECT, new AbortController().signal);
  return { python: command[0] ?? '', mounts };
}
