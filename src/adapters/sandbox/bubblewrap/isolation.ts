import { InfrastructureError } from '../../../kernel/errors.ts';
import type { Isolation, SandboxTemplate } from '../../../pool/ports/template.ts';
import { requireDemands } from '../local/cgroups/enforced-limits.ts';
import { checkTemplate } from '../local/template/template-check.ts';
import type { ForkableTemplate } from '../zygote/wardens.ts';
import type { Capabilities } from './capabilities.ts';

/** See `SandboxProvider.describe`. */
export function isolationFor(template: SandboxTemplate, capabilities: Capabilities): Isolation {
  requireSandboxes(capabilities);
  checkTemplate(template, true);
  requireForking(template, capabilities);
  requireDemands(template, capabilities.limits, capabilities.cgroups);
  const way = isForked(template, capabilities) ? 'bubblewrap, forked' : 'bubblewrap';
  return { mechanism: template.policy ? `${way}, policy apart` : way, limits: capabilities.limits };
}

/** Whether sandboxes of this template are forked from a zygote here. */
export function isForked(template: SandboxTemplate, { forking }: Capabilities): template is ForkableTemplate {
  return template.zygote !== undefined && forking.state === 'available';
}

function requireSandboxes({ bubblewrap, namespaces }: Capabilities): void {
  for (const finding of [bubblewrap, namespaces]) {
    if (finding.state === 'available') continue;
    throw new InfrastructureError('sandbox.unavailable', `no local sandbox can be made: ${finding.detail}; ${finding.remedy}`);
  }
}

function requireForking({ name, zygote }: SandboxTemplate, { forking }: Capabilities): void {
  if (!zygote?.isRequired || forking.state === 'available') return;
  throw new InfrastructureError('sandbox.unavailable', `template "${name}" is to be forked, but ${forking.detail}; ${forking.remedy}`);
}
