package world

import (
	"errors"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

func TestFindVM(t *testing.T) {
	vm := func(vc, name, path, hostname string) VM {
		return VM{VM: api.VM{VCenter: vc, Name: name, Path: path, Hostname: hostname}}
	}
	vms := []VM{
		vm("us", "w1", "/dc/vm/w1", "W1.example"),
		vm("us", "w2", "/dc/vm/w2", ""),
		vm("us", "w2", "/dc/vm/folder/w2", ""),
		vm("eu", "w1", "/dc/vm/w1", "w1.eu.example"),
		vm("eu", "w3", "/dc/vm/w3", "w2"),
	}
	for _, tc := range []struct {
		name, vcenter string
		want          string // path with vCenter, or the code of an error
	}{
		{name: "us/w1", want: "us/dc/vm/w1"},
		{name: "w3", want: "eu/dc/vm/w3"},
		{name: "w1", want: "ambiguous"},
		{name: "w1", vcenter: "eu", want: "eu/dc/vm/w1"},
		{name: "w1.example", want: "us/dc/vm/w1"},
		{name: "W1.EU.EXAMPLE", want: "eu/dc/vm/w1"},
		{name: "us/w2", want: "ambiguous"},
		{name: "/dc/vm/folder/w2", want: "us/dc/vm/folder/w2"},
		{name: "us/dc/vm/w1", want: "us/dc/vm/w1"},
		{name: "/dc/vm/w1", want: "ambiguous"},
		{name: "w2", vcenter: "eu", want: "eu/dc/vm/w3"},
		{name: "w9", want: "not-found"},
		{name: "W3", want: "not-found"}, // names of VMs have their case
		{name: "w3", vcenter: "us", want: "not-found"},
		{name: "w1", vcenter: "asia", want: "not-found"},
		{name: "", want: "not-found"}, // an empty hostname matches no node
	} {
		found, err := Find(vms, api.VMRequest{VM: tc.name, VCenter: tc.vcenter})
		got := found.VCenter + found.Path
		if e, ok := errors.AsType[*api.Error](err); ok {
			got = e.Code
			if e.Try == "" || !strings.HasPrefix(e.Message, "vm ") {
				t.Errorf("%q: error %+v", tc.name, e)
			}
		}
		if got != tc.want {
			t.Errorf("%q of %q: %s, want %s", tc.name, tc.vcenter, got, tc.want)
		}
	}
	_, err := Find(vms, api.VMRequest{VM: "us/w2"})
	if want := `vm "us/w2": there are 2: us/dc/vm/w2, us/dc/vm/folder/w2`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
