package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
	"time"
)

// The figures, which are named with the number of VMs.
const (
	build    = "build"
	heap     = "heap"
	rss      = "rss"
	sync     = "sync"
	change   = "change"
	burst    = "burst"
	search   = "search"
	crowd50  = "crowd50"
	crowd99  = "crowd99"
	gateCall = "gate"
)

// patience is the limit for one figure; a slower one is reported as such.
const patience = 2 * time.Minute

// measure is the life of a child: it builds one inventory, measures it, and prints the figures.
func measure(side string, vms int, profiles string) error {
	ctx := context.Background()
	var found figures
	note := func(name string, value float64) {
		found = append(found, figure{fmt.Sprintf("%s %d", name, vms), value})
	}
	stop, err := profile(profiles, fmt.Sprintf("%s-%d-build.pprof", side, vms))
	if err != nil {
		return err
	}
	before := memory()
	begin := time.Now()
	v, err := start(ctx, side, vms)
	if err != nil {
		return err
	}
	note(build, time.Since(begin).Seconds())
	stop()
	after := memory()
	note(heap, (after.heap-before.heap)/float64(vms))
	note(rss, (after.rss-before.rss)/float64(vms))

	if stop, err = profile(profiles, fmt.Sprintf("%s-%d-use.pprof", side, vms)); err != nil {
		return err
	}
	defer stop()
	for _, f := range []func(context.Context, *vcenter, func(string, float64)) error{searches, watches} {
		if err := f(ctx, v, note); err != nil {
			return err
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(found); err != nil {
		return err
	}
	return v.close()
}

// profile records what the CPU does until stop.
func profile(dir, name string) (stop func(), err error) {
	if dir == "" {
		return func() {}, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	f, err := os.Create(filepath.Join(dir, name))
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, err
	}
	return func() {
		pprof.StopCPUProfile()
		_ = f.Close() // a profile that is cut short says so itself
	}, nil
}
