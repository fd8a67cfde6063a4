// Package child keeps one process running: it starts it, restarts it with back-off when it dies, and stops it on request.
//
// The sandbox is a parent process that runs its parts (control plane, one kubelet per VM, cloud controller manager) as
// children, mostly its own binary executed again. A [Child] is one of them:
//
//	 Start
//	   │            ┌─────── Restart, Renew ──────┐
//	   ▼            ▼                             │
//	starting ──▶ started ──▶ exited ──▶ restarting┤
//	                │                     │       │
//	                └──── Stop, Kill ─────┴───────┴──▶ stopped
//
// Every arrow into a state is one [Change], passed in order to the function given to [Start]; stopped is always the last
// one.
//
// Three mechanisms end a child with its parent, even after kill -9: on Linux the parent-death signal; on every system a
// pipe, the lifeline, which a child watches with [Lifeline]; and the child's process group, which is killed as a whole,
// so that the child's own children end too. The group also keeps a terminal's Ctrl-C from the children: the parent
// decides the order in which they end.
//
// It does not know what the children do, whether they are ready, or why they run. Floor 0: it imports nothing else of
// this module.
package child
