import { endOnClosedOutput } from './terminal/output.ts';
import { runMuster } from './program.ts';

/** The `muster` command. */
endOnClosedOutput(process);
await runMuster(process.argv.slice(2));
