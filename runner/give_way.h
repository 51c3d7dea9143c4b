/* Work beside somebody else's. */
#ifndef PROBE_RUNNER_GIVE_WAY_H
#define PROBE_RUNNER_GIVE_WAY_H

/* Let everybody else on the machine go first, at the processors and at the disks, from now on: this thread, and the
 * threads and processes that it starts. Call before there are others, and before anything is open that two
 * processes must not share.
 *
 * Linux may divide the processors between sessions first and between their processes afterwards (sched(7), "The
 * autogroup feature"), so that a priority counts for nothing beside a program of another terminal. There the caller
 * returns in a child with a session of its own, whose share is the least as well. The process that was started
 * never returns: it stays where the terminal and the shell know it, passes on their signals, stops
 * and continues with the child, and ends as it ends; if it is killed, so is the child. */
void give_way(void);

#endif
