import { watchEarlyInterruption } from './terminal/interruption.ts';
import { endOnClosedOutput } from './terminal/output.ts';
import { runMuster } from './program.ts';

/** The `muster` command. */
endOnClosedOutput(process);
watchEarlyInterruption();
await runMuster(process.argv.slice(2));
