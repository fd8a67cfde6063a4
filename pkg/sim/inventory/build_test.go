package inventory

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/simulator/esx"
	"github.com/vmware/govmomi/vim25/types"
)

// TestDuplicate changes everything in a copy of vcsim's default devices, which all vCenters of the process share.
func TestDuplicate(t *testing.T) {
	before, copied := duplicate(esx.VirtualDevice), duplicate(esx.VirtualDevice)
	if diff := cmp.Diff(esx.VirtualDevice, copied); diff != "" {
		t.Fatalf("copy (-original +copy):\n%s", diff)
	}
	for _, d := range copied {
		v := d.GetVirtualDevice()
		v.Key = -1
		v.DeviceInfo.GetDescription().Label = "x"
		if c, ok := d.(types.BaseVirtualController); ok {
			for i := range c.GetVirtualController().Device {
				c.GetVirtualController().Device[i] = -1
			}
		}
	}
	if diff := cmp.Diff(before, esx.VirtualDevice); diff != "" {
		t.Errorf("the original (-before +after):\n%s", diff)
	}
	now := time.Now()
	if got := duplicate(&now); got == &now || !got.Equal(now) {
		t.Errorf("copy of a time is %v", got)
	}
}
