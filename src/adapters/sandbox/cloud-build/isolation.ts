import { InputError } from '../../../kernel/errors.ts';
import type { Isolation, SandboxTemplate } from '../../../pool/ports/template.ts';
import { checkTemplate } from '../local/template/template-check.ts';

/** @throws InputError `template.invalid`, `template.limit-unavailable` for what no build can be made of. */
export function describeBuildIsolation(template: SandboxTemplate): Isolation {
  checkTemplate(template, true);
  if (template.network !== 'none')
    throw new InputError('template.invalid', `template "${template.name}": network is ${template.network}; expected none`);
  const isolation: Isolation = {
    mechanism: 'cloud-build',
    limits: {
      memory: { scope: 'process', by: 'rlimit' },
      processes: { scope: 'tree', by: 'rlimit' },
      // Its machine has as many processors as cloud-build.machineType says.
      cpu: { scope: 'none', by: 'none' },
      disk: { scope: 'tree', by: 'tmpfs' },
      lifetime: { scope: 'tree', by: 'timer' },
    },
  };
  const missing = template.demands.find((demand) => isolation.limits[demand].scope !== 'tree');
  if (missing === undefined) return isolation;
  const problem = `template "${template.name}" demands the limit "${missing}" for the whole process tree, which a build cannot be given`;
  throw new InputError('template.limit-unavailable', `${problem}: choose cloud-build.machineType, and drop the demand`);
}
