import { InputError } from '../../../kernel/errors.ts';
import type { Isolation, SandboxTemplate } from '../../../pool/ports/template.ts';
import { checkTemplate } from '../local/template/template-check.ts';

const BY_E2B_TEMPLATE = { scope: 'none', by: 'e2b-template' } as const;

/** A machine of its own for each sandbox, as large as the E2B template was built. What limits say in numbers it does not know. */
export const E2B_ISOLATION: Isolation = {
  mechanism: 'e2b',
  limits: {
    memory: BY_E2B_TEMPLATE,
    processes: BY_E2B_TEMPLATE,
    cpu: BY_E2B_TEMPLATE,
    disk: BY_E2B_TEMPLATE,
    lifetime: { scope: 'tree', by: 'timer' },
  },
};

/** @throws InputError `template.invalid`, `template.limit-unavailable` for what E2B cannot make of a template. */
export function checkForE2b(template: SandboxTemplate): void {
  checkTemplate(template);
  const { name, demands, mounts, network } = template;
  if (mounts.length > 0)
    throw createInvalidError(
      name,
      "mounts are directories of this machine, which E2B's sandboxes do not see",
      'set mounts: [] and put the files into the E2B template',
    );
  if (network === 'host') throw createInvalidError(name, 'network is "host", and there is no host at E2B', 'set network: none');
  const missing = demands.find((demand) => E2B_ISOLATION.limits[demand].scope !== 'tree');
  if (missing === undefined) return;
  const problem = `template "${name}" demands the limit "${missing}", whose size at E2B is that of the E2B template`;
  throw new InputError('template.limit-unavailable', `${problem}; build the E2B template with the size that you want, and drop the demand`);
}

function createInvalidError(name: string, problem: string, remedy: string): InputError {
  return new InputError('template.invalid', `template "${name}": ${problem}; ${remedy}`);
}
