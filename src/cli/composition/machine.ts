import type { Command } from 'commander';
import { openCheckpoints } from '../../app/checkpoints/checkpoint-access.ts';
import { inspectWritten } from '../../app/checkpoints/checkpoint-inspection.ts';
import { readConfiguration } from '../../app/configuration.ts';
import { createDoctorChecks } from '../../app/doctor/doctor-checks.ts';
import { setUpPython } from '../../app/python-setup.ts';
import { readResultDocument } from '../../app/recorded-results.ts';
import { createCheckpointsCommand } from '../commands/checkpoints-command.ts';
import { createDoctorCommand } from '../commands/doctor-command.ts';
import { createReportCommand } from '../commands/report-command.ts';
import { createSetupCommand } from '../commands/setup-command.ts';

/** The commands that check this machine and show results that are stored on it. */
export const COMMANDS = {
  report: (): Command => createReportCommand(readResultDocument),
  setup: (): Command => createSetupCommand(setUpPython),
  doctor: (): Command => createDoctorCommand((file) => createDoctorChecks(readConfiguration(file))),
  checkpoints: (): Command =>
    createCheckpointsCommand(
      (checkpoint, { config, digest }, signal) => inspectWritten(checkpoint, readConfiguration(config), digest, signal),
      (file) => openCheckpoints(readConfiguration(file)),
    ),
};
