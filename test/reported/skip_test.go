package reported

import (
	"context"

	"github.com/vsphere-sandbox/vsphere-sandbox/test/lab"
)

// startSkipping has an environment in which nothing is deleted.
func startSkipping(w *ground) {
	w.start(lab.CCMOptions{Name: "skip", Config: w.config(nil, "us"), Env: []string{"SKIP_NODE_DELETION=true"}})
}

func skipReports() []report {
	return []report{{
		saw: "SKIP_NODE_DELETION skips nothing", issues: []string{"#476", "#393"}, vms: some("skipped"),
		run: func(ctx context.Context, w *ground) error {
			return steps(
				func() error { return w.up(ctx, "skipped") },
				func() error { return w.destroy(ctx, "skipped") },
				func() error { return w.stay(ctx, "skipped") },
			)
		},
	}}
}
