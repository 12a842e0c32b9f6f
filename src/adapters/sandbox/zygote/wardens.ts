import { open } from 'node:fs/promises';
import type { SandboxTemplate } from '../../../pool/template.ts';
import { wardenArguments, environmentArguments, writableSizes } from '../bubblewrap/command-line.ts';
import { launchHolder, OPEN_FILES } from '../bubblewrap/launcher.ts';
import { INSIDE_UID } from '../local/inside-identity.ts';
import type { DescriptorCover } from '../local/inherited-descriptors.ts';
import { filterOfThisMachine } from '../local/system-call-filter.ts';
import { StreamGate } from './stream-gate.ts';
import { Warden } from './warden.ts';
import type { WardenSettings } from './warden-messages.ts';

/** What every warden of one provider stands on. */
export interface WardenGround {
  readonly bwrap: string;
  readonly system: readonly string[];
  /** Host directory that holds the synthesised files. */
  readonly etc: string;
  /** Of the owner: has a directory for each sandbox. */
  readonly directory: string;
  /** Of the owner, in each hierarchy: have a group for each sandbox. */
  readonly cgroups: readonly string[];
  /** Limits to set for each process, for want of a control group. */
  readonly rlimits: { readonly memory: boolean; readonly processes: boolean };
  readonly covered: DescriptorCover;
}

/** A template that brings what sandboxes can be forked from. */
export type ForkableTemplate = SandboxTemplate & { readonly zygote: NonNullable<SandboxTemplate['zygote']> };

/** launchHolder hands descriptors on from here. */
const FIRST_GROUP_DESCRIPTOR = 5;
/** As the runner starts itself over: with hashes that are the same in every sandbox, and nothing of the user's or the environment's. */
const INTERPRETER_FLAGS = ['-s', '-P'];

interface Entry {
  readonly starting: Promise<Warden>;
  warden: Warden | undefined;
}

/** The wardens of one provider: one for each template, started when it is first needed, and again after it has died. */
export class Wardens implements AsyncDisposable {
  readonly #ground: WardenGround;
  readonly #gate: Promise<StreamGate>;
  readonly #wardens = new Map<string, Entry>();

  constructor(ground: WardenGround) {
    this.#ground = ground;
    this.#gate = StreamGate.open(ground.directory);
    this.#gate.catch(() => {});
  }

  /** @throws InfrastructureError `sandbox.spawn` */
  of(template: ForkableTemplate): Promise<Warden> {
    // What is run is told with each sandbox.
    const key = JSON.stringify({ ...template, name: undefined, command: undefined });
    const known = this.#wardens.get(key);
    if (known && known.warden?.hasEnded !== true) return known.starting;
    const entry: Entry = { starting: this.#start(template), warden: undefined };
    this.#wardens.set(key, entry);
    entry.starting.then(
      (warden) => (entry.warden = warden),
      () => this.#wardens.delete(key),
    );
    return entry.starting;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const started = await Promise.allSettled([...this.#wardens.values()].map(({ starting }) => starting));
    const wardens = started.flatMap((warden) => (warden.status === 'fulfilled' ? [warden.value] : []));
    await Promise.all(wardens.map(async (warden) => warden[Symbol.asyncDispose]()));
    const gate = await this.#gate.catch(() => undefined);
    await gate?.[Symbol.asyncDispose]();
  }

  async #start(template: ForkableTemplate): Promise<Warden> {
    const { bwrap, system, etc, directory, covered } = this.#ground;
    const gate = await this.#gate;
    const groups = await Promise.all(this.#ground.cgroups.map((group) => open(group, 'r')));
    try {
      const { python, program } = template.zygote;
      const process = await launchHolder(
        {
          bubblewrap: [bwrap, ...wardenArguments(template, { system, etc, inbox: directory })],
          unlisted: environmentArguments(interpreterEnvironment(template.environment)),
          program: [python, ...INTERPRETER_FLAGS, program],
          limits: template.limits,
          covered,
        },
        groups.map(({ fd }) => fd),
      );
      process.stdin.write(`${JSON.stringify({ type: 'open', ...this.#settings(template, groups.length) })}\n`);
      return new Warden(process, gate);
    } finally {
      for (const group of groups) await group.close();
    }
  }

  #settings({ zygote, limits, network }: ForkableTemplate, groups: number): WardenSettings {
    const { tmpBytes, sharedBytes } = writableSizes(limits);
    const { rlimits } = this.#ground;
    return {
      imports: zygote.imports,
      limits: {
        tmp_bytes: tmpBytes,
        shm_bytes: sharedBytes,
        memory_bytes: rlimits.memory ? limits.memoryBytes : null,
        // The process that holds the walls counts.
        processes: rlimits.processes ? limits.processes + 1 : null,
        open_files: OPEN_FILES,
      },
      uid: INSIDE_UID,
      host_network: network === 'host',
      filter: Buffer.from(filterOfThisMachine()).toString('base64'),
      cgroups: Array.from({ length: groups }, (_, i) => FIRST_GROUP_DESCRIPTOR + i),
    };
  }
}

function interpreterEnvironment(environment: SandboxTemplate['environment']): Readonly<Record<string, string>> {
  const others = Object.entries(environment).filter(([name]) => !name.startsWith('PYTHON'));
  return { ...Object.fromEntries(others), PYTHONHASHSEED: '0' };
}
