// Package explain explains the state of a Node, a VM or a volume: it has the questions that a user would ask, and answers each with
// its evidence.
//
// A case ([Node], [VM], [Volume]) holds what was gathered, and for each part that could not be read the reason. Explain derives the
// answers from the case and reads nothing itself. What is unknown is reported as unknown, and no answer depends on it.
// [GatherNode] and [GatherVM] fill cases from a few small interfaces, every source within [Patience].
//
//	c := explain.GatherNode(ctx, sources, "worker-1")
//	e := c.Explain() // "not ready: its VM us/worker-1 is powered off"
//
// The package makes no connection, imports no simulator, and changes nothing.
//
// Floor 3, below pkg/sandbox.
package explain
