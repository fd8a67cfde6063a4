package kube

import (
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

// A target is a process of the driver, of any replica.
func TestDriver(t *testing.T) {
	for name, want := range map[string]bool{
		"csi-attacher": true, "csi-attacher-2": true, "csi-syncer": true, "snapshot-controller-3": true, "csi-syncers-2": false, "ccm-2": false, "2": false,
	} {
		got, err := driver(&fault.Call{Target: fault.Item{Name: name}})
		if (err == nil) != want || want && got.Component != name {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}
