import { InputError } from '../../../kernel/errors.ts';
import type { Isolation, LimitEnforcement, SandboxTemplate } from '../../../pool/ports/template.ts';
import { checkTemplate } from '../local/template/template-check.ts';
import type { DaemonLimits } from './daemon.ts';
import type { DockerPart } from './settings.ts';

/** The daemon takes no less. */
const MEMORY_MIN_BYTES = 6 * 2 ** 20;
const CONTAINER: LimitEnforcement = { scope: 'tree', by: 'container' };
const NONE: LimitEnforcement = { scope: 'none', by: 'none' };

/** @throws InputError `template.invalid` for what no container can be made of. */
export function checkForDocker(template: SandboxTemplate): void {
  checkTemplate(template, true);
  const { name, limits, network } = template;
  if (limits.memoryBytes < MEMORY_MIN_BYTES) {
    const problem = `limits.memoryBytes is ${limits.memoryBytes}; expected at least ${MEMORY_MIN_BYTES}, which is the least that Docker takes`;
    throw new InputError('template.invalid', `template "${name}": ${problem}`);
  }
  if (network !== 'none') throw new InputError('template.invalid', `template "${name}": network is ${network}; expected none`);
}

/** @throws InputError `template.limit-unavailable` for a demand that the daemon cannot meet. */
export function describeDockerIsolation(template: SandboxTemplate, { runtime }: DockerPart, daemon: DaemonLimits): Isolation {
  const isolation: Isolation = {
    mechanism: runtime === undefined ? 'docker' : `docker (${runtime})`,
    limits: {
      memory: daemon.MemoryLimit ? CONTAINER : NONE,
      processes: daemon.PidsLimit ? CONTAINER : NONE,
      cpu: daemon.CpuCfsQuota ? CONTAINER : NONE,
      disk: { scope: 'tree', by: 'tmpfs' },
      lifetime: { scope: 'tree', by: 'timer' },
    },
  };
  const missing = template.demands.find((demand) => isolation.limits[demand].scope !== 'tree');
  if (missing === undefined) return isolation;
  const problem = `template "${template.name}" demands the limit "${missing}", which this Docker daemon cannot enforce ("docker info" says why)`;
  throw new InputError('template.limit-unavailable', `${problem}: give the daemon control groups, or drop the demand`);
}
