/** One thing that is measured. Each runs in a process of its own, so that none inherits another's heap or compiled code. */
export interface Benchmark {
  readonly name: string;
  /** What is compared with what, in one line. */
  readonly summary: string;
  run(context: BenchmarkContext): Promise<Report>;
}

export interface BenchmarkContext {
  /** Fewer sizes and repetitions: shows that everything works, not how fast it is. */
  readonly quick: boolean;
  /** Tells how far it is. */
  readonly say: (text: string) => void;
}

export interface Report {
  readonly tables: readonly Table[];
  readonly checks: readonly Check[];
  /** What a reader must know to understand the figures. */
  readonly notes: readonly string[];
}

export interface Table {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
}

export type Cell = string | number;

/** A target and whether it was met. A missed one is a finding, not an error. */
export interface Check {
  readonly what: string;
  readonly target: string;
  readonly measured: string;
  readonly met: boolean;
}
