// Package explain says why a node, a VM or a volume is as it is: it puts the questions that a person would ask of it now, and
// answers each with the evidence that the answer rests on.
//
// A case ([Node], [VM], [Volume]) holds what was gathered, each part with the reason why it could not be had where it
// could not; Explain reasons over the result and makes no calls. It reports what is unknown as unknown, and bases no answer on it.
// [GatherNode] and [GatherVM] fill cases from a few small interfaces, every source within [Patience].
//
//	c := explain.GatherNode(ctx, sources, "worker-1")
//	e := c.Explain() // "not ready: its VM us/worker-1 is powered off"
//
// It makes no connection itself, knows no simulator, and changes nothing.
//
// Floor 3, below pkg/sandbox.
package explain
