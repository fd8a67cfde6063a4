package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/objects"
)

// attach is what the driver calls once for each ControllerPublishVolume.
const attach = "CnsAttachVolume"

// calls counts what the driver asks a vCenter for while volumes that are there already are attached.
func (l *lab) calls(ctx context.Context) error {
	if err := l.all(ctx, "calls", func(ctx context.Context, id string) error { return l.claim(ctx, id, objects.ImmediateClass) }); err != nil {
		return err
	}
	if err := l.bound(ctx, l.volumes); err != nil {
		return err
	}
	before, err := l.asked(ctx)
	if err != nil {
		return err
	}
	if err := l.all(ctx, "calls", l.pod); err != nil {
		return err
	}
	if err := l.running(ctx, l.volumes, nil); err != nil {
		return err
	}
	after, err := l.asked(ctx)
	if err != nil {
		return err
	}
	total := 0.0
	for method, n := range after {
		if n -= before[method]; n > 0 {
			total += n
			fmt.Fprintf(os.Stderr, "  %4.0f %s\n", n, method)
		}
	}
	// The attacher often asks twice for a volume, before it sees what it has written itself; the second time costs the driver
	// a refusal and a look at the VM.
	asked := after[attach] - before[attach]
	l.table.note("calls of the driver to vCenter for each ControllerPublishVolume", "calls", 3, total/asked)
	l.table.note("ControllerPublishVolume calls of the attacher for each volume", "calls", 0, asked/float64(l.volumes))
	return nil
}

// asked are the driver's calls so far, by method.
func (l *lab) asked(ctx context.Context) (map[string]float64, error) {
	all, err := l.sandbox.Calls(ctx)
	by := map[string]float64{}
	for _, c := range all {
		if strings.HasPrefix(c.Client, csi.UserAgent) {
			by[c.Method] += float64(c.Calls)
		}
	}
	return by, err
}
