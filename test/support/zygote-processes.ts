import { childrenOf, listProcesses } from '../../src/adapters/sandbox/local/process-table.ts';

/** The processes behind the forked sandboxes of one template, as the host sees them. */
export interface ZygoteProcesses {
  /** Muster's own child. */
  readonly bubblewrap: number;
  readonly warden: number;
  /** The base image: what programs are forked from that share nothing else. */
  readonly image: number;
}

/**
 * Those of the only template in use.
 *
 * @param stateDir of the owner that has it.
 * @throws Error while there are none, or not all of them.
 */
export async function zygoteProcesses(stateDir: string): Promise<ZygoteProcesses> {
  const processes = await listProcesses();
  const holders = processes.filter(({ argv }) => argv.includes('--die-with-parent') && argv.some((word) => word.startsWith(stateDir)));
  const ids = holders.filter(({ argv }) => argv.some((word) => word.endsWith('/zygote.py'))).map(({ pid }) => pid);
  for (const inner of ids) {
    for (const warden of (await childrenOf(inner)) ?? []) {
      const [image] = (await childrenOf(warden)) ?? [];
      const bubblewrap = ids.find((pid) => pid !== inner);
      if (!ids.includes(warden) && image !== undefined && bubblewrap !== undefined) return { bubblewrap, warden, image };
    }
  }
  throw new Error(`there is no zygote under ${stateDir}`);
}
