import { listChildren, listProcesses } from './process-table.ts';
import { eventually } from './eventually.ts';

/** The processes behind the forked sandboxes of one template, as the host sees them. */
export interface ZygoteProcesses {
  /** Muster's own child. */
  readonly bubblewrap: number;
  readonly warden: number;
  /** The base image, from which programs that share nothing else are forked. */
  readonly image: number;
}

/**
 * Those of the only template in use. While processes end, the kernel may leave out some of their siblings when it lists them (proc(5)).
 *
 * @param stateDir of the owner that has it.
 */
export async function zygoteProcesses(stateDir: string): Promise<ZygoteProcesses> {
  let found: ZygoteProcesses | undefined;
  await eventually(`there is a zygote under ${stateDir}`, async () => (found = await listed(stateDir)) !== undefined);
  if (!found) throw new Error('the zygote was found and is gone');
  return found;
}

/** Undefined when there are none, or not all of them. */
async function listed(stateDir: string): Promise<ZygoteProcesses | undefined> {
  const processes = listProcesses();
  const holders = processes.filter(({ argv }) => argv.includes('--die-with-parent') && argv.some((word) => word.startsWith(stateDir)));
  const ids = holders.filter(({ argv }) => argv.some((word) => word.endsWith('/zygote.py'))).map(({ pid }) => pid);
  for (const inner of ids) {
    for (const warden of listChildren(inner)) {
      const [image] = listChildren(warden);
      const bubblewrap = ids.find((pid) => pid !== inner);
      if (!ids.includes(warden) && image !== undefined && bubblewrap !== undefined) return { bubblewrap, warden, image };
    }
  }
  return undefined;
}
