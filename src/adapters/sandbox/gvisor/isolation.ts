import { InfrastructureError, InputError } from '../../../kernel/errors.ts';
import type { Isolation, SandboxTemplate } from '../../../pool/ports/template.ts';
import { createCannotPlayApartError } from '../../../pool/ports/policy-apart.ts';
import { requireDemands } from '../local/cgroups/enforced-limits.ts';
import { checkTemplate } from '../local/template/template-check.ts';
import type { GvisorCapabilities } from './capabilities.ts';

/** gVisor itself takes some 20 MiB of a sandbox's memory; with less than this no program starts. */
const MEMORY_MIN_BYTES = 32 * 2 ** 20;

/** See `SandboxProvider.describe`. */
export function describeIsolation(template: SandboxTemplate, { gvisor, limits, cgroups }: GvisorCapabilities): Isolation {
  checkTemplate(template);
  if (template.policy) throw createCannotPlayApartError(template.name, 'gVisor runs one program in a sandbox');
  if (template.limits.memoryBytes < MEMORY_MIN_BYTES) {
    const problem = `limits.memoryBytes is ${template.limits.memoryBytes}; expected at least ${MEMORY_MIN_BYTES} for gVisor and a program`;
    throw new InputError('template.invalid', `template "${template.name}": ${problem}`);
  }
  if (template.zygote?.isRequired === true) {
    const problem = 'is to be forked, which gVisor cannot; set its start to auto or plain, or its provider to bubblewrap';
    throw new InputError('template.invalid', `template "${template.name}" ${problem}`);
  }
  if (gvisor.state === 'missing') {
    const wanted = `template "${template.name}" wants gVisor, and no sandbox can be made with it: ${gvisor.detail}`;
    throw new InfrastructureError('sandbox.unavailable', `${wanted}; ${gvisor.remedy}`);
  }
  requireDemands(template, limits, cgroups);
  return { mechanism: 'gvisor', limits };
}
