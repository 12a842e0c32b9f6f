import { InfrastructureError, InputError } from '../../../kernel/errors.ts';
import type { Isolation, SandboxTemplate } from '../../../pool/template.ts';
import { checkTemplate } from '../bubblewrap/isolation.ts';
import type { GvisorCapabilities } from './capabilities.ts';

/** gVisor itself takes some 20 MiB of a sandbox's memory; with less than this no program starts. */
const MEMORY_MIN_BYTES = 32 * 2 ** 20;

/** See `SandboxProvider.describe`. */
export function isolationFor(template: SandboxTemplate, { gvisor, limits, obstacles }: GvisorCapabilities): Isolation {
  checkTemplate(template);
  if (template.limits.memoryBytes < MEMORY_MIN_BYTES) {
    const problem = `limits.memoryBytes is ${template.limits.memoryBytes}; expected at least ${MEMORY_MIN_BYTES} for gVisor and a program`;
    throw new InputError('template.invalid', `template "${template.name}": ${problem}`);
  }
  if (gvisor.state === 'missing') {
    const wanted = `template "${template.name}" wants gVisor, and no sandbox can be made with it: ${gvisor.detail}`;
    throw new InfrastructureError('sandbox.unavailable', `${wanted}; ${gvisor.remedy}`);
  }
  for (const demand of template.demands) {
    const { scope, by } = limits[demand];
    if (scope === 'tree') continue;
    const state = scope === 'none' ? 'not enforced at all' : `enforced by ${by} for each process only`;
    throw new InputError(
      'template.limit-unavailable',
      `template "${template.name}" demands the limit "${demand}" for the whole process tree, but here it is ${state}: ` +
        `control groups: ${obstacles.slice(0, 3).join('; ')}; let Muster make control groups (muster doctor says how), or drop the demand`,
    );
  }
  return { mechanism: 'gvisor', limits };
}
