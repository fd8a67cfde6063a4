// Package journal records writes to existing vCenters, so that they can be reverted after an error, an interrupt, or a kill -9 at
// any time.
//
//	j, err := journal.Open("writes.jsonl")
//	err = j.Write(ctx, journal.Entry{VCenter: "west", Ref: vm.Ref, VM: vm.Path, Do: off, Undo: on}, func(ctx context.Context) error { … })
//	…
//	err = j.Revert(ctx, func(ctx context.Context, e journal.Entry) error { return apply(ctx, e.Undo) })
//
// A line with the undo is on disk before the vCenter is called. The file only grows, except for a truncated last line after a
// crash.
//
// The package makes no calls, and does not interpret actions.
//
// Floor 2, inside pkg/vcenter: it imports nothing of this module.
package journal
