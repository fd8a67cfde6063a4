package vm_test

import (
	"context"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/faulttest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/vm"
)

const leisurely = `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: test}
spec:
  vcenters:
    - name: us
      reactions: {guest: {shutdown: 2s}}
      datacenters: [{name: dc, hosts: [{name: esx-1}], vms: [{name: node-1}]}]
`

// TestShutdownThatIsGivenUp: a guest whose shutdown was canceled does not power off after the lease is healed.
func TestShutdownThatIsGivenUp(t *testing.T) {
	w := faulttest.Start(t, leisurely)
	items, err := w.Ground.Items(t.Context(), fault.VM)
	if err != nil || len(items) != 1 {
		t.Fatal(items, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for after := uint64(0); ; {
			events, _, err := w.Events.Wait(ctx, after, 0)
			if err != nil {
				return
			}
			for _, e := range events {
				if after = e.Seq; e.Kind == "fault.injected" {
					time.Sleep(100 * time.Millisecond) // the guest is at it
					cancel()
				}
			}
		}
	}()
	lease, err := w.Engine(t, vm.Kinds()).Inject(ctx, fault.Request{Kind: "vm.guest-shutdown", On: faulttest.On("node-1")})
	if err == nil || lease.State != fault.Healed {
		t.Fatalf("lease %+v, %v", lease, err)
	}
	time.Sleep(2500 * time.Millisecond) // longer than a shutdown takes
	var m mo.VirtualMachine
	client := w.Client("us")
	if err := client.RetrieveOne(t.Context(), items[0].Ref, []string{"runtime.powerState"}, &m); err != nil {
		t.Fatal(err)
	}
	if m.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn {
		t.Errorf("VM is %s", m.Runtime.PowerState)
	}
}
