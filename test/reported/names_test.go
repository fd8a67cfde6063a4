package reported

import (
	"context"
	"fmt"
)

// nameReports are about hostnames that differ from node names.
func nameReports() []report {
	return []report{
		{
			saw: "one of several nodes has a guest of another hostname and no providerID", issues: []string{"#326"},
			vms: some("same-1", "same-2", "other"),
			run: func(ctx context.Context, w *ground) error {
				return steps(
					func() error { return rename(ctx, w.Machine("other"), "cloned-from-template") },
					func() error { return w.up(ctx, "same-1", "same-2", "other") },
				)
			},
		},
		{
			saw: "the node's name is short, the guest's is full", issues: []string{"#285"}, vms: some("short", "short-noid"),
			run: func(ctx context.Context, w *ground) error {
				return steps(
					func() error { return rename(ctx, w.Machine("short"), "short.example.org") },
					func() error { return rename(ctx, w.Machine("short-noid"), "short-noid.example.org") },
					func() error { return w.joinWithoutUUID(ctx, "short-noid") },
					func() error { return w.up(ctx, "short") },
					func() error { return w.initialized(ctx, "short-noid") },
				)
			},
		},
		{
			saw: "the node's name is full, the guest's is short", issues: []string{"#285"},
			vms: []vm{{name: "full", more: "hostname: full.example.org"}},
			run: func(ctx context.Context, w *ground) error {
				return steps(
					func() error { return rename(ctx, w.Machine("full.example.org"), "full") },
					func() error { return w.up(ctx, "full.example.org") },
				)
			},
		},
		{
			saw: "a Windows guest has its hostname in upper case", issues: []string{"#484"}, vms: some("win-upper", "win-noid"),
			run: func(ctx context.Context, w *ground) error {
				return steps(
					func() error { return rename(ctx, w.Machine("win-upper"), "WIN-UPPER") },
					func() error { return rename(ctx, w.Machine("win-noid"), "WIN-NOID") },
					func() error { return w.joinWithoutUUID(ctx, "win-noid") },
					func() error { return w.up(ctx, "win-upper") },
					func() error { return w.initialized(ctx, "win-noid") },
				)
			},
		},
		{
			saw: "another VM of the same hostname in the same datacenter is chosen", issues: []string{"#661"},
			vms: some("twin", "twin-copy"), run: twins("twin", "twin-copy"),
		},
		{
			saw: "another VM of the same hostname in another datacenter is chosen", issues: []string{"#661"},
			vms: []vm{{name: "far"}, {name: "far-copy", at: east}, {name: "far-away", at: north}}, run: twins("far", "far-copy", "far-away"),
		},
	}
}

// twins has a node join whose hostname other guests have, too.
func twins(name string, copies ...string) func(context.Context, *ground) error {
	return func(ctx context.Context, w *ground) error {
		for _, other := range copies {
			if err := rename(ctx, w.Machine(other), name); err != nil {
				return err
			}
		}
		return steps(
			func() error { return w.up(ctx, name) },
			func() error { return w.silentStay(ctx, name) },
			func() error { return w.destroy(ctx, name) },
			func() error {
				if err := w.gone(ctx, name); err != nil {
					return fmt.Errorf("its VM is destroyed, its name lives on: %w", err)
				}
				return nil
			},
		)
	}
}
