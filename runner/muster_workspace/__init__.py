"""The program in workspaces and grading sandboxes: runs commands, takes files in and gives files out.

It is the first process of its sandbox and speaks frames with Muster over its standard streams. It uses the standard library alone, and
nothing of the file system that it runs in.
"""
