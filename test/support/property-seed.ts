import * as fc from 'fast-check';

/**
 * Properties are tried with the same examples each time: whether a change is taken must not hang on luck. Other ones are looked for with
 * `MUSTER_PROPERTY_SEED=random`; what that finds names its seed, which then goes here.
 */
const { MUSTER_PROPERTY_SEED: seed = '20261122' } = process.env;

if (seed !== 'random') fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(seed) });
