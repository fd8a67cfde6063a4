package sandbox

import (
	"context"
	"errors"
	"testing"
)

// What fails first ends the wait: nobody sits through kubeadm to be told that there is no image.
func TestKindFinished(t *testing.T) {
	broken := errors.New("no image")
	for name, tc := range map[string]struct {
		made, packed []error
		want         error
	}{
		"both":            {[]error{nil}, []error{nil}, nil},
		"not made":        {[]error{broken}, nil, broken},
		"not packed":      {nil, []error{broken}, broken},
		"made, no images": {[]error{nil}, []error{broken}, broken},
		"never":           {nil, nil, context.Canceled},
	} {
		k := &kindCluster{made: make(chan error, 1), packed: make(chan error, 1), containers: make(chan struct{})}
		for _, err := range tc.made {
			k.made <- err
		}
		for _, err := range tc.packed {
			k.packed <- err
		}
		ctx, cancel := context.WithCancel(t.Context())
		if tc.want == context.Canceled {
			cancel()
		}
		if err := k.finished(ctx); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
	}
}

// A node offers what its VM has.
func TestKindNodes(t *testing.T) {
	s := idle(t)
	vms := s.opts.Topology.Nodes()
	for i, n := range kindNodes(s.opts.Topology) {
		if vm := vms[i].VM; n.UUID != vm.UUID || n.CPUs != int(vm.CPUs) || n.MemoryBytes != uint64(vm.Memory) || n.CPUs == 0 || n.MemoryBytes == 0 {
			t.Errorf("%+v of %+v", n, vm)
		}
	}
}
