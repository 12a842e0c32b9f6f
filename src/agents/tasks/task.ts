import type { Digest } from '../../kernel/ids.ts';
import type { ArenaRules } from './arena-rules.ts';
import type { CasesStage, CompareMode, CompileStage, Constraint, GoldenModel, ScoreTerms, SuiteStage } from './muster-schema.ts';
import type { TaskDigest, TaskId } from './task-ids.ts';

/**
 * A task as a contract: what an agent gets, what it must leave behind, and how that is judged. Every default is filled in, every reference between
 * its files is checked, and nothing depends on where its directory is.
 */
export interface Task {
  readonly id: TaskId;
  readonly digest: TaskDigest;
  readonly description: string;
  readonly keywords: readonly string[];
  /** Every file of its directory, by path; paths in the rest of the task are among these. */
  readonly files: readonly TaskFile[];
  readonly workspace: Workspace;
  readonly limits: Limits;
  /** Steps in order. A task without steps in Harbor has one, whose directory is the task's own. */
  readonly steps: readonly [TaskStep, ...TaskStep[]];
  readonly arena: ArenaRules;
  /** How the steps' rewards are combined. */
  readonly strategy: 'mean' | 'final';
  /** The task's own solution; undefined where it has none, and then it cannot be checked. */
  readonly oracle: KnownSubmission | undefined;
  /** Submissions that have to score 0. */
  readonly cheats: readonly KnownSubmission[];
  /** Submissions that have to pass: each does for a good reason what a cheat does for a bad one. */
  readonly twins: readonly KnownSubmission[];
  /** Accepted settings without effect, or with another one than the author may expect: one sentence each, for people. */
  readonly notices: readonly string[];
}

export interface TaskFile {
  /** Relative to the task's directory, with "/". */
  readonly path: string;
  readonly digest: Digest;
  readonly bytes: number;
  readonly isExecutable: boolean;
}

/** The sandbox in which the agent works. */
export interface Workspace {
  readonly root: RootFileSystem;
  /** The agent's working directory and the base of relative artifacts: absolute. */
  readonly workdir: string;
  /** Variables as they are written: `${VARIABLE:-default}` refers to a variable of the host. */
  readonly environment: Readonly<Record<string, string>>;
  readonly network: Network;
}

export type RootFileSystem =
  /** The machine's /usr, read-only; the files of environment/ are in the workdir. */
  | { readonly kind: 'host' }
  /** An OCI layout, a docker-archive, or a reference; the files of environment/ are in the workdir. */
  | ({ readonly kind: 'image'; readonly image: string } & OwnRoot)
  /** Built from environment/Dockerfile. @param buildSeconds at most. */
  | ({ readonly kind: 'dockerfile'; readonly path: string; readonly buildSeconds: number } & OwnRoot);

interface OwnRoot {
  /** The workdir, where the task's declaration does not name it: the image must not have another. */
  readonly assumedWorkdir: string | undefined;
}

export type Network =
  | { readonly mode: 'none' }
  | { readonly mode: 'public' }
  /** Host names, `*.name`, addresses and CIDR ranges; none of them denies everything. */
  | { readonly mode: 'allowlist'; readonly hosts: readonly string[] };

/** A limit is undefined where the task leaves it to the player. */
export interface Limits {
  readonly cpus: number | undefined;
  readonly memoryBytes: number | undefined;
  readonly storageBytes: number | undefined;
}

export interface TaskStep {
  readonly name: string;
  /** Relative to the task's directory: '' or `steps/NAME/`. */
  readonly directory: string;
  /** The text that the agent reads, without the lines that mark the task for filters of training data. */
  readonly instruction: string;
  readonly agent: {
    /** When it is undefined, the task sets no limit. */
    readonly timeoutSeconds: number | undefined;
    readonly user: string | undefined;
    readonly network: Network;
  };
  /** The artifacts of the submission; at least one. */
  readonly artifacts: readonly Artifact[];
  readonly verifier: Verifier;
  /** The task ends behind this step when its reward is below; −∞ where the author gives none. */
  readonly leastReward: number;
  /** Files of the task that are in /tests when this step is graded: the path there, and the file. */
  readonly tests: readonly { readonly path: string; readonly file: string }[];
}

/** A file or directory of the workspace that the host exports. */
export interface Artifact {
  /** An absolute path in the workspace. */
  readonly source: string;
  /** A relative path in the submission's directory, or `.` for all of it. */
  readonly destination: string;
  /** Patterns of paths below the source that stay out. */
  readonly exclude: readonly string[];
  /** Whether a submission without it fails. */
  readonly isRequired: boolean;
}

/** One of the task's own submissions. */
export interface KnownSubmission {
  readonly name: string;
  /** Relative to the task's directory: `solution`, `cheats/NAME`, `twins/NAME`. */
  readonly directory: string;
  /** script: its solve.sh runs in the workspace, the directory at /solution. files: its files are laid over the workdir. */
  readonly kind: 'script' | 'files';
  readonly environment: Readonly<Record<string, string>>;
}

/** How a step is judged. */
export type Verifier = ScriptVerifier | StagedVerifier;

/** `tests/test.sh`, in a grading sandbox of its own, which writes a reward file. */
export interface ScriptVerifier {
  readonly kind: 'script';
  readonly timeoutSeconds: number;
  readonly environment: Readonly<Record<string, string>>;
  readonly user: string | undefined;
  readonly network: Network;
  /** Run in the workspace before the artifacts are exported. */
  readonly collect: readonly { readonly command: string; readonly timeoutSeconds: number; readonly user: string | undefined }[];
}

/** Stages as `muster.toml` has them. */
export interface StagedVerifier {
  readonly kind: 'staged';
  /** The time limit of the whole verdict. */
  readonly timeoutSeconds: number;
  readonly environment: Readonly<Record<string, string>>;
  readonly compile: CompileStage | undefined;
  readonly execute: CasesStage | SuiteStage;
  readonly golden: GoldenModel | undefined;
  readonly compare: CompareMode;
  readonly constraints: readonly Constraint[];
  readonly score: ScoreTerms;
}
