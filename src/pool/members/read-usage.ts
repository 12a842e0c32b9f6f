import type { SandboxId } from '../../kernel/ids.ts';
import type { SandboxUsage } from '../../kernel/sandbox-usage.ts';
import type { Member } from './members.ts';
import type { Occupant } from './occupant.ts';

/** Returns the resources that each sandbox has used, as far as the provider measures them. Leaves out sandboxes that end meanwhile. */
export async function readUsage<Resident extends Occupant>(
  members: Iterable<Member<Resident>>,
): Promise<ReadonlyMap<SandboxId, SandboxUsage>> {
  const read = Array.from(members, async ({ id, warm }) => [id, await warm?.sandbox.capabilities?.usage?.()] as const);
  const usages = new Map<SandboxId, SandboxUsage>();
  for (const one of await Promise.allSettled(read)) {
    if (one.status === 'rejected') continue;
    const [id, usage] = one.value;
    if (usage && Object.keys(usage).length > 0) usages.set(id, usage);
  }
  return usages;
}
