import { Option, type Command } from 'commander';

/**
 * Adds a required option. Commander checks its own mandatory options before unknown ones, and would answer `--chekpoint FILE` with "--checkpoint is
 * missing"; this check comes after both.
 */
export function addNeededOption(command: Command, option: Option): Command {
  return command.addOption(option).hook('preAction', (_, action) => {
    if (action.getOptionValue(option.attributeName()) !== undefined) return;
    action.error(`error: required option '${option.flags}' not specified`, { code: 'commander.missingMandatoryOptionValue' });
  });
}
