// Package child keeps one process running: it starts it, watches it, starts
// it again with back-off when it dies, and ends it for good when asked.
//
// The sandbox is a parent process that runs its parts (control plane, one
// kubelet per VM, cloud controller manager) as children, mostly its own
// binary executed again. A [Child] is one of them:
//
//	 Start
//	   │            ┌─────── Restart, Renew ──────┐
//	   ▼            ▼                             │
//	starting ──▶ started ──▶ exited ──▶ restarting┤
//	                │                     │       │
//	                └──── Stop, Kill ─────┴───────┴──▶ stopped
//
// Every arrow into a state is one [Change], told in order to the function
// given to [Start]; stopped is always the last one.
//
// Three things tie the life of a child to that of its parent, so that not even
// kill -9 of the parent leaves one behind: on Linux the parent-death signal; on
// every system a pipe, the lifeline, which a child watches with [Lifeline];
// and a process group of the child's own, which is killed whole, so that what
// the child itself started goes with it. The group also keeps a terminal's
// Ctrl-C from reaching the children: it is the parent that decides the order
// in which they end.
//
// It knows nothing of what the children do, whether they are ready, or why
// they should run. Floor 0: it imports nothing else of this module.
package child
