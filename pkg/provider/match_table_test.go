package provider

import (
	"errors"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match/matchtest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// The provider and its other users match the same table.
func TestTable(t *testing.T) {
	rows, err := matchtest.Rows()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		t.Run(row.Name, func(t *testing.T) {
			x := &listIndex{}
			if row.Out != "" {
				x.doubt = vcenter.ErrNotConnected
			}
			for _, v := range row.VMs {
				vm := vmOf(t, v.Name, v.UUID, v.HostName, "", inVCenter(v.VCenter), inState(types.VirtualMachineConnectionState(v.Connection)))
				vm.Template = v.Template
				if len(v.Addresses) > 0 {
					vm.Adapters = vmOf(t, "", "", "", v.Addresses[0]).Adapters
				}
				x.vms = append(x.vms, vm)
			}
			want := map[string]any{
				"found": row.VM, "not found": match.ErrNotFound, "ambiguous": match.ErrAmbiguous, "unsure": vcenter.ErrNotConnected,
				"foreign providerID": match.ErrForeignProviderID, "invalid providerID": match.ErrInvalidProviderID,
			}[row.Reason]
			n := row.Node.Kube()
			expectVM(t, "provider", x.over(""), n, want)
			i := x.over("")
			i.cfg.VCenters[0].Tenant, i.cfg.VCenters[1].Tenant = "us", "eu"
			_, err := i.metadata(n)
			stale, is := errors.AsType[*match.StaleError](err)
			if is != (row.Stale != "") || is && !strings.HasPrefix(stale.RunsOn, row.Stale+" ") {
				t.Errorf("got %v, want the system UUID to be that of VM %q", err, row.Stale)
			}
		})
	}
}
