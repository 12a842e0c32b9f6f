import { z } from 'zod';

/** Messages of Muster to the warden: one JSON object a line. The first is `open`. */
export type WardenOrder =
  | ({ readonly type: 'open' } & WardenSettings)
  | ({ readonly type: 'fork'; /** Joined to the first by a socket pair. */ readonly beside?: ForkedProgramOrder } & ForkedProgramOrder)
  | { readonly type: 'kill'; readonly sandbox: string }
  | ({ readonly type: 'image'; readonly image: string; readonly parent: string } & ImageContent)
  | { readonly type: 'retire'; readonly image: string };

/** A program behind walls of its own. The token lets its streams connect to Muster. */
export interface ForkedProgramOrder {
  readonly sandbox: string;
  readonly token: string;
  readonly image: string;
  readonly command: readonly string[];
}

/** Explained in runner/muster_zygote/settings.py. */
export interface WardenSettings {
  readonly imports: readonly string[];
  readonly limits: {
    readonly tmp_bytes: number;
    readonly shm_bytes: number;
    readonly data_bytes: number;
    readonly memory_bytes: number | null;
    readonly processes: number | null;
    readonly open_files: number;
  };
  /** Targets of mounts in /tmp or /dev/shm; an outer one comes before those in it. */
  readonly mounts_within: readonly string[];
  readonly uid: number;
  readonly own_user: boolean;
  readonly host_network: boolean;
  readonly filter: string;
  /** Workspaces have writable directories besides /tmp and /dev/shm, each with `tmp_bytes`. It is null for other sandboxes. */
  readonly writable: readonly string[] | null;
  /** Whether the root file system is not this machine's. */
  readonly own_root: boolean;
  /** The directory of a sandbox's control group in each hierarchy, and what is written in it. */
  readonly cgroups: readonly {
    /** Number of an open descriptor. */
    readonly directory: number;
    readonly files: readonly { readonly file: string; readonly value: string; readonly optional: boolean }[];
  }[];
}

/** What an image loads, by paths as the warden sees them. */
export interface ImageContent {
  readonly policies: readonly { readonly path: string; readonly digest: string; readonly trusted: boolean }[];
  readonly code: readonly { readonly path: string; readonly modules: readonly string[] }[];
}

/** The image that has what the template imports, and nothing else. */
export const BASE_IMAGE = '';

const usage = { cpu_seconds: z.number().min(0).optional(), peak_memory_bytes: z.number().min(0).optional() };
const sandbox = z.string();
/**
 * The cost of loading a policy into an image, and for each process that loads it for itself: bytes of memory that no file backs, and processor
 * seconds, without the verification.
 */
const preloadedSchema = z.object({ digest: z.string(), bytes: z.number().min(0), seconds: z.number().min(0) });

export type PreloadedPolicy = z.infer<typeof preloadedSchema>;

/** The warden's reports to Muster. */
export const wardenReportSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('image-ready'), image: z.string(), policies: z.array(preloadedSchema) }),
  /** `lasting`: another attempt would fail again. */
  z.object({ type: z.literal('image-lost'), image: z.string(), message: z.string(), lasting: z.boolean().optional() }),
  z.object({ type: z.literal('started'), sandbox }),
  /** The program did not start. */
  z.object({ type: z.literal('failed'), sandbox, message: z.string(), ...usage }),
  z.object({ type: z.literal('unforked'), sandbox, message: z.string(), ...usage }),
  /** `groups_removed`: its control groups are gone, too. */
  z.object({
    type: z.literal('ended'),
    sandbox,
    code: z.int().optional(),
    signal: z.int().optional(),
    groups_removed: z.boolean().optional(),
    ...usage,
  }),
  /** Its first process or its image was killed. */
  z.object({ type: z.literal('lost'), sandbox, message: z.string(), ...usage }),
]);
export type WardenReport = z.infer<typeof wardenReportSchema>;
export type SandboxReport = Exclude<WardenReport, { readonly type: 'image-ready' | 'image-lost' }>;
