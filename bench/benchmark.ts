/** One thing that is measured. Each runs in a process of its own, so that none inherits another's heap or compiled code. */
export interface Benchmark {
  readonly name: string;
  /** What is compared with what, in one line. */
  readonly summary: string;
  /** The measurements that it makes, by their names, in their order. */
  readonly measurements: (quick: boolean) => readonly string[];
  run(context: BenchmarkContext): Promise<Report>;
}

export interface BenchmarkContext {
  /** Fewer sizes and repetitions: shows that everything works, not how fast it is. */
  readonly quick: boolean;
  /** Tells how far it is. */
  readonly say: (text: string) => void;
  /**
   * Makes one of the benchmark's measurements, which is shown and kept at once; or gives what an interrupted run has kept of it.
   *
   * @param measure what it gives is kept as JSON: finite numbers, texts, lists and plain objects.
   */
  readonly measured: <Value>(name: string, measure: () => Value | Promise<Value>) => Promise<Value>;
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
