package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
)

// run does what the arguments say, of which the first is the program's own name.
func run(ctx context.Context, args []string, stdout io.Writer) error {
	name, rest := filepath.Base(args[0]), args[1:]
	if _, ok := find(name); !ok {
		if len(rest) == 0 {
			name, rest = "help", nil
		} else {
			name, rest = rest[0], rest[1:]
		}
	}
	switch name {
	case "help", "--help", "-help", "-h":
		return help(stdout)
	case "version", "--version", "-version":
		return versions(stdout)
	}
	s, ok := find(name)
	if !ok {
		return fmt.Errorf("%q is no sidecar: one of %v is", name, names())
	}
	return s.run(ctx, rest, stdout)
}

// sidecar is one of the programs in this one.
type sidecar struct {
	name, about string
	module      string // whose controllers it runs
	driver      bool   // whether it talks to a driver
	new         func() controllers
}

// sidecars are all there are.
func sidecars() []sidecar {
	return []sidecar{
		{"csi-provisioner", "creates and deletes volumes", "external-provisioner/v6", true, func() controllers { return &provision{} }},
		{"csi-attacher", "attaches volumes to nodes and detaches them", "external-attacher/v4", true, func() controllers { return &attach{} }},
		{"csi-resizer", "expands volumes", "external-resizer/v2", true, func() controllers { return &resize{} }},
		{"csi-snapshotter", "takes and deletes snapshots", "external-snapshotter/v8", true, func() controllers { return &snapshot{} }},
		{"snapshot-controller", "binds VolumeSnapshots to their contents", "external-snapshotter/v8", false, func() controllers { return &snapshotController{} }},
	}
}

func find(name string) (sidecar, bool) {
	all := sidecars()
	i := slices.IndexFunc(all, func(s sidecar) bool { return s.name == name })
	if i < 0 {
		return sidecar{}, false
	}
	return all[i], true
}

func names() []string {
	var all []string
	for _, s := range sidecars() {
		all = append(all, s.name)
	}
	return all
}
