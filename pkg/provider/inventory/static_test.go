package inventory_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// configure sets options of w1 in one reconfiguration; an empty value removes one.
func (w *world) configure(t *testing.T, options ...string) {
	t.Helper()
	spec := types.VirtualMachineConfigSpec{}
	for i := 0; i < len(options); i += 2 {
		spec.ExtraConfig = append(spec.ExtraConfig, &types.OptionValue{Key: options[i], Value: options[i+1]})
	}
	w.do(t, "us", "/americas/west/vm/w1", func(vm *object.VirtualMachine, ctx context.Context) (*object.Task, error) {
		return vm.Reconfigure(ctx, spec)
	})
}

// The addresses in a VM's metadata follow every change, in any order of its parts, although the index keeps only the addresses.
func TestStaticAddresses(t *testing.T) {
	const metadataKey, encodingKey = "guestinfo.metadata", "guestinfo.metadata.encoding"
	w := start(t, nil)
	w.synced(t)
	text := func(ip string) string {
		return "network:\n  version: 2\n  ethernets:\n    id0:\n      addresses: [" + ip + "/24]\n"
	}
	encoded := func(ip string) string { return base64.StdEncoding.EncodeToString([]byte(text(ip))) }
	expect := func(what string, failed bool, want ...string) {
		t.Helper()
		eventually(t, what, func() error {
			vm, err := w.ByUUID(uuid(t, w1UUID)).One()
			if err != nil {
				return err
			}
			var got []string
			for _, ip := range vm.Static {
				got = append(got, ip.String())
			}
			if !slices.Equal(got, want) || failed != (vm.StaticErr != nil) {
				return fmt.Errorf("got %v, %w", got, vm.StaticErr)
			}
			return nil
		})
	}
	expect("none", false)
	w.configure(t, metadataKey, encoded("198.18.5.10"), encodingKey, "base64")
	expect("both at once", false, "198.18.5.10")
	w.configure(t, metadataKey, encoded("198.18.5.11"))
	expect("the text alone", false, "198.18.5.11")
	w.configure(t, encodingKey, "gzip+base64")
	expect("the encoding alone, which is wrong now", true)
	w.configure(t, encodingKey, "base64")
	expect("the encoding alone, which is right now", false, "198.18.5.11")
	w.configure(t, encodingKey, "", metadataKey, text("198.18.5.12"))
	expect("plain", false, "198.18.5.12")
	w.configure(t, metadataKey, "")
	expect("removed", false)
	w.configure(t, metadataKey, encoded("198.18.5.13"))
	w.configure(t, encodingKey, "base64")
	expect("the text first", false, "198.18.5.13")

	// A watch that starts again delivers everything again.
	w.gate(t, "us", gate.Down)
	eventually(t, "doubt", func() error {
		if w.Doubt("us") == nil {
			return errors.New("none")
		}
		return nil
	})
	w.gate(t, "us", gate.Up)
	eventually(t, "in sync again", func() error { return w.Doubt("us") })
	expect("after a restart", false, "198.18.5.13")
	if vm, err := w.ByIP(netip.MustParseAddr("198.18.5.13")).One(); err == nil {
		t.Errorf("%v is found by an address that its guest does not report", vm)
	}
}

// Upstream reads only base64.
func TestStaticAddressesUpstream(t *testing.T) {
	for _, tc := range []struct {
		encoding string
		want     int
	}{{"base64", 1}, {"b64", 0}} {
		w := start(t, func(_ *world, c *inventory.Config) { c.ParityUpstream = true })
		w.synced(t)
		text := "network:\n  version: 2\n  ethernets:\n    id0:\n      addresses: [198.18.5.10/24]\n"
		w.configure(t, "guestinfo.metadata", base64.StdEncoding.EncodeToString([]byte(text)), "guestinfo.metadata.encoding", tc.encoding)
		w.do(t, "us", "/americas/west/vm/w1", (*object.VirtualMachine).PowerOff)
		eventually(t, "static addresses in "+tc.encoding, func() error {
			vm, err := w.ByUUID(uuid(t, w1UUID)).One()
			switch {
			case err != nil:
				return err
			case vm.Power != types.VirtualMachinePowerStatePoweredOff:
				return errors.New("an older state")
			case len(vm.Static) != tc.want || vm.StaticErr != nil:
				return fmt.Errorf("got %v, %w", vm.Static, vm.StaticErr)
			}
			return nil
		})
	}
}
