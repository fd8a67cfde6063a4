package world

import (
	"testing"

	"github.com/vmware/govmomi/vim25/types"
)

// disk.EnableUUID hides the UUIDs of disks if it is false, in any case; a VM without it shows them.
func TestHidesUUIDs(t *testing.T) {
	for _, c := range []struct {
		list []string
		want bool
	}{
		{nil, false},
		{[]string{"guestinfo.x", "FALSE"}, false},
		{[]string{"disk.EnableUUID", "TRUE"}, false},
		{[]string{"disk.EnableUUID", "FALSE"}, true},
		{[]string{"disk.enableuuid", "0"}, true},
		{[]string{"disk.EnableUUID", "TRUE", "disk.enableUUID", "false"}, true},
	} {
		var list []types.BaseOptionValue
		for i := 0; i < len(c.list); i += 2 {
			list = append(list, &types.OptionValue{Key: c.list[i], Value: c.list[i+1]})
		}
		if got := compact(settings, types.ArrayOfOptionValue{OptionValue: list}); got != c.want {
			t.Errorf("%q: %v", c.list, got)
		}
	}
}
