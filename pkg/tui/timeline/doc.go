// Package timeline is the screen of the event log: what happened, in which lane, what caused it, and the latency.
//
// Its rows are the events of the log and the bursts of calls to vCenters between them, in the lanes of the sandbox, of
// vSphere, of the CCM and the CSI driver, and of Kubernetes. It follows new rows unless the user has scrolled back. Of
// an event, the chain can be shown: from its first cause to the last effect, with the latency of each hop.
//
// It reads a [fold.State] and changes nothing. It takes in only what is new, and makes only visible rows,
// so that a log of 65,536 events costs what a screenful does.
//
//	s := timeline.New()
//	s.SetFilter("object:worker-1 level:warning")
//	s.ShowChain(120)
//
// Floor 4, in the tree of pkg/tui.
package timeline
