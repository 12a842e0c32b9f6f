/** The program's user inside. Outside it is the user that runs Muster. */
export const INSIDE_UID = 1000;

/** Files that are made for the sandboxes, in a directory of the owner's. */
export const SYNTHESISED_FILES: Readonly<Record<string, string>> = {
  passwd: `sandbox:x:${INSIDE_UID}:${INSIDE_UID}:sandbox:/tmp:/bin/sh\n`,
  group: `sandbox:x:${INSIDE_UID}:\n`,
  hosts: '127.0.0.1 localhost sandbox\n::1 localhost sandbox\n',
  'nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files dns\n',
};

/** Variables of its environment. Those of the template override them. */
export const ENVIRONMENT = { PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin', HOME: '/tmp', TMPDIR: '/tmp', LANG: 'C.UTF-8' };
