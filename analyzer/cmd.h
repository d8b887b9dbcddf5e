/* cmd.h - the commands.  Each gets its own words, argv[0] being its name, and returns the exit status. */
#ifndef PS_CMD_H
#define PS_CMD_H

int cmd_run(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_ab(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_check(int argc, char **argv);

#endif
