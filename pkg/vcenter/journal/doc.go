// Package journal keeps what was written to vCenters that are not ours, so that it can be taken back: after an error, after
// Ctrl-C in the middle, after kill -9 at any moment.
//
//	j, err := journal.Open("writes.jsonl")
//	err = j.Write(ctx, journal.Entry{VCenter: "west", Ref: vm.Ref, VM: vm.Path, Do: off, Undo: on}, func(ctx context.Context) error { … })
//	…
//	err = j.Revert(ctx, func(ctx context.Context, e journal.Entry) error { return apply(ctx, e.Undo) })
//
// A line is on the disk, the way back in it, before the vCenter is called. The file is only ever appended to, but for a
// last line that a crash has cut.
//
// It makes no call, and knows no action by its name.
//
// Floor 2, inside pkg/vcenter: it imports nothing of this module.
package journal
